import Synchronization
import VaultModel

/// Makes downloads yield while a player waits for bytes from an origin. Each vault has one.
package final class PlaybackPriority: Sendable {
    private let players = Locked(WaitingPlayers())
    private let delays = Atomic(0)

    package init() {}

    /// The number of times that downloads have yielded so far.
    var delayCount: Int { delays.load(ordering: .relaxed) }

    /// Whether players currently take precedence over all other work, both for bytes and for the disk.
    var isPlayerWaiting: Bool { players.withLock { $0.havePriority(now: .now) } }

    /// Waits for bytes on behalf of a player.
    ///
    /// - Parameter origin: the origin that should send the bytes.
    func waiting(at origin: String, _ wait: () async throws -> Void) async throws {
        let id = players.withLock { $0.begin(at: origin, now: .now) }
        defer { players.withLock { $0.end(id, now: .now) } }
        try await wait()
    }

    /// Waits until a download from an origin may continue.
    ///
    /// - Throws: `CancellationError` if the task was cancelled.
    package func yieldToPlayers(at origin: String) async throws {
        while players.withLock({ $0.havePriority(before: origin, now: .now) }) {
            delays.add(1, ordering: .relaxed)
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}

/// The players that are waiting for bytes, grouped by origin, with the start of each wait. A pure value.
///
/// Downloads yield only for a limited time, because a player of a slow origin waits all the time, and gains nothing
/// from the bandwidth that downloads give up.
struct WaitingPlayers {
    /// The players of one origin.
    private struct Group {
        var waiting: [Int: ContinuousClock.Instant] = [:]
        /// When a wait shorter than ``patience`` last ended.
        var lastEnd: ContinuousClock.Instant?
        /// When these players began to wait, disregarding breaks of up to ``pause``.
        var busySince: ContinuousClock.Instant

        /// Returns whether a player is waiting for an origin that is not silent, or received bytes a moment ago.
        func isBusy(now: ContinuousClock.Instant) -> Bool {
            waiting.values.contains { now - $0 < WaitingPlayers.patience }
                || lastEnd.map { now - $0 < WaitingPlayers.pause } ?? false
        }
    }

    private var groups: [String: Group] = [:]
    private var origins: [Int: String] = [:]
    private var lastID = 0
    /// When players of any origin began to wait, disregarding breaks of up to ``pause``.
    private var busySince: ContinuousClock.Instant?

    /// The time within which a player that reads as fast as bytes arrive waits again.
    static let pause: Duration = .milliseconds(150)
    /// How long an origin may send a player nothing before downloads no longer yield to that player.
    static let patience: Duration = .seconds(5)
    /// How long a download from the same origin yields (`stand`), and how long it then runs (`turn`).
    static let stand: Duration = .seconds(5)
    static let turn: Duration = .seconds(1)
    /// How long a download from another origin yields before it runs. It may share the player's line, but gets its turn
    /// however many players there are.
    static let otherOriginYield: Duration = .seconds(1)

    mutating func begin(at origin: String, now: ContinuousClock.Instant) -> Int {
        if !groups.values.contains(where: { $0.isBusy(now: now) }) { busySince = now }
        lastID += 1
        origins[lastID] = origin
        var group = groups[origin] ?? Group(busySince: now)
        if !group.isBusy(now: now) { group.busySince = now }
        group.waiting[lastID] = now
        groups[origin] = group
        return lastID
    }

    mutating func end(_ id: Int, now: ContinuousClock.Instant) {
        guard let origin = origins.removeValue(forKey: id), var group = groups[origin],
            let since = group.waiting.removeValue(forKey: id)
        else { return }
        if now - since < Self.patience { group.lastEnd = now }
        groups[origin] = group
        groups = groups.filter { !$0.value.waiting.isEmpty || $0.value.isBusy(now: now) }
    }

    /// Returns whether players of any origin take precedence over other work now.
    func havePriority(now: ContinuousClock.Instant) -> Bool {
        groups.keys.contains { havePriority(before: $0, now: now) }
    }

    /// Returns whether players take precedence over a download from this origin now.
    func havePriority(before origin: String, now: ContinuousClock.Instant) -> Bool {
        if let own = groups[origin], own.isBusy(now: now) {
            return Self.stands(for: Self.stand, since: own.busySince, now)
        }
        guard groups.values.contains(where: { $0.isBusy(now: now) && now - $0.busySince < Self.otherOriginYield })
        else {
            return false
        }
        return Self.stands(for: Self.otherOriginYield, since: busySince ?? now, now)
    }

    /// Returns whether a download must yield now. It alternately yields for `time` and runs for ``turn``.
    private static func stands(
        for time: Duration, since start: ContinuousClock.Instant, _ now: ContinuousClock.Instant
    ) -> Bool {
        let busy = now - start
        return busy - (time + turn) * Int64(busy / (time + turn)) < time
    }
}
