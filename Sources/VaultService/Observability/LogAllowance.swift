/// How many events of each kind the log takes in a minute: anyone who reaches the service can cause some of them.
struct LogAllowance: Sendable {
    /// What to do with an event.
    enum Verdict: Hashable {
        /// Log it; so many of its kind were left out since the one before.
        case logged(suppressed: Int)
        /// Log it, and say that the next ones of its kind are only counted for a while.
        case last(suppressed: Int)
        case suppressed
    }

    /// The most events of a kind in a minute.
    static let most = 60
    /// The most kinds: each is a constant message of the service, and there are far fewer.
    private static let mostKinds = 256

    private struct Minute {
        var end: ContinuousClock.Instant
        var count = 0
        var suppressed = 0
    }

    private var minutes: [String: Minute] = [:]

    /// Counts an event, and returns whether to log it.
    mutating func take(_ kind: String, at now: ContinuousClock.Instant) -> Verdict {
        if minutes.count >= Self.mostKinds { minutes = minutes.filter { $0.value.end > now } }
        var minute = minutes[kind] ?? Minute(end: now + .seconds(60))
        defer { minutes[kind] = minute }
        let missed = minute.end <= now ? minute.suppressed : 0
        if minute.end <= now { minute = Minute(end: now + .seconds(60)) }
        minute.count += 1
        guard minute.count <= Self.most else {
            minute.suppressed += 1
            return .suppressed
        }
        return minute.count == Self.most ? .last(suppressed: missed) : .logged(suppressed: missed)
    }
}
