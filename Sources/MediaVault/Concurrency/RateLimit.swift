import VaultModel

/// Spreads bytes over time: computes how long to wait after bytes were taken.
struct RateLimit {
    private let bytesPerSecond: Int64
    /// When all bytes taken so far would have arrived at the permitted rate.
    private var paidUntil: ContinuousClock.Instant

    /// Unused rate accumulates for at most this long.
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

/// A rate limit that several takers share; without a rate it never delays.
final class SharedRateLimit: Sendable {
    private let limit: Locked<RateLimit?>
    /// A limit that further takers share, too.
    private let wider: SharedRateLimit?

    init(bytesPerSecond: Int64?, within wider: SharedRateLimit? = nil) {
        limit = Locked(bytesPerSecond.map { RateLimit(bytesPerSecond: $0, now: .now) })
        self.wider = wider
    }

    /// Changes the rate; what was taken before counts no more.
    func use(bytesPerSecond: Int64?) {
        limit.withLock { $0 = bytesPerSecond.map { RateLimit(bytesPerSecond: $0, now: .now) } }
    }

    /// Notes that bytes were taken, and returns how long to wait before taking more.
    func take(_ bytes: Int64) -> Duration {
        max(limit.withLock { $0?.take(bytes, now: .now) ?? .zero }, wider?.take(bytes) ?? .zero)
    }
}

/// Limits verification to a number of bytes per second. Idle time is not made up for.
struct VerifyPace {
    let bytesPerSecond: Int64
    private var free: ContinuousClock.Instant?

    init(bytesPerSecond: Int64) { self.bytesPerSecond = bytesPerSecond }

    /// Returns how long to wait after bytes were opened.
    mutating func delay(after bytes: Int64, now: ContinuousClock.Instant) -> Duration {
        let begin = max(free ?? now, now)
        let end = begin + .seconds(Double(bytes) / Double(bytesPerSecond))
        free = end
        return end - now
    }
}
