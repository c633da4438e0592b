import Synchronization
import VaultModel

/// Spreads bytes over time: a value that is told what was taken, and says how long to wait before more is.
struct RateLimit {
    private let bytesPerSecond: Int64
    /// When all that was taken would have come at the rate allowed.
    private var paidUntil: ContinuousClock.Instant

    /// What was not taken is not saved up for longer than this.
    private static let memory: Duration = .milliseconds(200)

    init(bytesPerSecond: Int64, now: ContinuousClock.Instant) {
        self.bytesPerSecond = bytesPerSecond
        paidUntil = now
    }

    /// Notes that bytes were taken.
    ///
    /// - Returns: how long to wait before taking more.
    mutating func take(_ bytes: Int64, now: ContinuousClock.Instant) -> Duration {
        paidUntil = max(paidUntil, now - Self.memory) + .seconds(Double(bytes) / Double(bytesPerSecond))
        return max(.zero, paidUntil - now)
    }
}

/// Holds a check back to so many bytes in a second. Time in which nothing was opened is not made up for.
struct VerifyPace {
    let bytesPerSecond: Int64
    private var free: ContinuousClock.Instant?

    init(bytesPerSecond: Int64) { self.bytesPerSecond = bytesPerSecond }

    /// How long to wait after bytes were opened.
    mutating func delay(after bytes: Int64, now: ContinuousClock.Instant) -> Duration {
        let begin = max(free ?? now, now)
        let end = begin + .seconds(Double(bytes) / Double(bytesPerSecond))
        free = end
        return end - now
    }
}

/// Lets downloads stand back while a player waits for bytes from an origin: one for a vault.
final class PlaybackPriority: Sendable {
    private let players = Locked(WaitingPlayers())
    private let delays = Atomic(0)

    /// How often a download has stood back so far.
    var delayCount: Int { delays.load(ordering: .relaxed) }

    /// Whether players have their bytes, and the disk, before any other work now.
    var isPlayerWaiting: Bool { players.withLock { $0.goFirst(now: .now) } }

    /// Waits for bytes on behalf of a player.
    ///
    /// - Parameter origin: whose bytes it waits for.
    func waiting(at origin: String, _ wait: () async throws -> Void) async throws {
        let id = players.withLock { $0.begin(at: origin, now: .now) }
        defer { players.withLock { $0.end(id, now: .now) } }
        try await wait()
    }

    /// Returns when a download of an origin's may go on.
    ///
    /// - Throws: `CancellationError` where the task was cancelled.
    func standBack(at origin: String) async throws {
        while players.withLock({ $0.goFirst(before: origin, now: .now) }) {
            delays.add(1, ordering: .relaxed)
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}

/// Who waits for bytes of which origin, and since when: a value.
///
/// Downloads stand back for a while at a time, and never for good: a player whose origin is slow waits all the time, and
/// gains nothing by what others leave.
struct WaitingPlayers {
    /// The players of one origin.
    private struct Group {
        var waiting: [Int: ContinuousClock.Instant] = [:]
        /// When the last wait ended that was not given up on.
        var lastEnd: ContinuousClock.Instant?
        /// Since when there has been no longer time than ``pause`` in which none of them waited.
        var busySince: ContinuousClock.Instant

        /// Whether one of them waits for an origin that is not silent, or has had bytes a moment ago.
        func isBusy(now: ContinuousClock.Instant) -> Bool {
            waiting.values.contains { now - $0 < WaitingPlayers.patience }
                || lastEnd.map { now - $0 < WaitingPlayers.pause } ?? false
        }
    }

    private var groups: [String: Group] = [:]
    private var origins: [Int: String] = [:]
    private var lastID = 0
    /// Since when there has been no longer time than ``pause`` in which no player of any origin waited.
    private var busySince: ContinuousClock.Instant?

    /// A player that reads as fast as bytes come waits again at once.
    static let pause: Duration = .milliseconds(150)
    /// An origin that gives a player nothing for so long does not keep downloads from it.
    static let patience: Duration = .seconds(5)
    /// After so long a download of the same origin has its turn, and how long that is.
    static let stand: Duration = .seconds(5)
    static let turn: Duration = .seconds(1)
    /// A download of another origin, which may share the player's line, stands back for so long and then goes on: however
    /// many players there are, it has its turn as well.
    static let courtesy: Duration = .seconds(1)

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

    /// Whether players of any origin have the bytes before others now.
    func goFirst(now: ContinuousClock.Instant) -> Bool { groups.keys.contains { goFirst(before: $0, now: now) } }

    /// Whether players have the bytes before a download of this origin's now.
    func goFirst(before origin: String, now: ContinuousClock.Instant) -> Bool {
        if let own = groups[origin], own.isBusy(now: now) {
            return Self.stands(for: Self.stand, since: own.busySince, now)
        }
        guard groups.values.contains(where: { $0.isBusy(now: now) && now - $0.busySince < Self.courtesy }) else {
            return false
        }
        return Self.stands(for: Self.courtesy, since: busySince ?? now, now)
    }

    /// Whether it is not the download's turn: it stands back for a while, has its turn, and so on.
    private static func stands(
        for time: Duration, since start: ContinuousClock.Instant, _ now: ContinuousClock.Instant
    ) -> Bool {
        let busy = now - start
        return busy - (time + turn) * Int64(busy / (time + turn)) < time
    }
}
