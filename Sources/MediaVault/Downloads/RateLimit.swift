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
