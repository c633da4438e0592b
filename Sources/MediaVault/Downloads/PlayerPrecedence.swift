import Synchronization
import VaultModel

/// Lets downloads stand back while a player waits for bytes from an origin: one for a vault.
final class PlayerPrecedence: Sendable {
    private let players = Locked(WaitingPlayers())
    private let delays = Atomic(0)

    /// How often a download has stood back so far.
    var delayCount: Int { delays.load(ordering: .relaxed) }

    /// Whether players have the origin's bytes, and the disk, before others now.
    var isPlayerWaiting: Bool { players.withLock { $0.goFirst(now: .now) } }

    /// Waits for bytes on behalf of a player.
    func waiting(_ wait: () async throws -> Void) async throws {
        let id = players.withLock { $0.begin(now: .now) }
        defer { players.withLock { $0.end(id, now: .now) } }
        try await wait()
    }

    /// Returns when no player waits.
    ///
    /// - Throws: `CancellationError` where the task was cancelled.
    func standBack() async throws {
        while players.withLock({ $0.goFirst(now: .now) }) {
            delays.add(1, ordering: .relaxed)
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}

/// Who waits for bytes, and since when: a value.
struct WaitingPlayers {
    private var waiting: [Int: ContinuousClock.Instant] = [:]
    private var lastID = 0
    private var lastEnd: ContinuousClock.Instant?

    /// A player that reads as fast as bytes come waits again at once.
    static let pause: Duration = .milliseconds(150)
    /// An origin that gives a player nothing for so long does not keep downloads from others.
    static let patience: Duration = .seconds(5)

    mutating func begin(now: ContinuousClock.Instant) -> Int {
        lastID += 1
        waiting[lastID] = now
        return lastID
    }

    mutating func end(_ id: Int, now: ContinuousClock.Instant) {
        guard let since = waiting.removeValue(forKey: id), now - since < Self.patience else { return }
        lastEnd = now
    }

    /// Whether players have the origin's bytes before downloads now.
    func goFirst(now: ContinuousClock.Instant) -> Bool {
        waiting.values.contains { now - $0 < Self.patience } || lastEnd.map { now - $0 < Self.pause } ?? false
    }
}
