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
