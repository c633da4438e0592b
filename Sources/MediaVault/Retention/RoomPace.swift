/// How often limits are looked after: not for each byte, and not each second.
struct RoomPace {
    private var lastSize: ContinuousClock.Instant?
    private var lastAge: ContinuousClock.Instant?

    /// Whether it is time to see if the vault has become too large.
    mutating func isSizeDue(_ now: ContinuousClock.Instant) -> Bool { Self.isDue(&lastSize, .seconds(5), now) }

    /// Whether it is time to see if something has become too old.
    mutating func isAgeDue(_ now: ContinuousClock.Instant) -> Bool { Self.isDue(&lastAge, .seconds(60), now) }

    private static func isDue(
        _ last: inout ContinuousClock.Instant?, _ interval: Duration, _ now: ContinuousClock.Instant
    ) -> Bool {
        if let last, now - last < interval { return false }
        last = now
        return true
    }
}
