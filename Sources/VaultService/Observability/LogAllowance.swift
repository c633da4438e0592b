import Logging

/// How many events of each kind the log takes in a minute: anyone who reaches the service can cause some of them.
struct LogAllowance: Sendable {
    /// What makes two events one kind.
    struct Kind: Hashable, Sendable {
        let level: Logger.Level
        let message: String
        /// Why it happened, in the service's own words; nil if the event does not say.
        var reason: String?
    }

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
    /// The most kinds that are told apart by their reasons; there are far fewer messages.
    static let mostKinds = 256

    private struct Minute {
        var end: ContinuousClock.Instant
        var count = 0
        var suppressed = 0
    }

    private var minutes: [Kind: Minute] = [:]

    /// Counts an event, and returns whether to log it.
    mutating func take(_ kind: Kind, at now: ContinuousClock.Instant) -> Verdict {
        if minutes.count >= Self.mostKinds {
            minutes = minutes.filter { $0.value.end > now || $0.value.suppressed > 0 }
        }
        let isKnown = minutes[kind] != nil || minutes.count < Self.mostKinds
        let kind = isKnown ? kind : Kind(level: kind.level, message: kind.message)
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

    /// Returns how many events were left out of each kind whose minute is over, each number once.
    ///
    /// - Parameter now: nil at the end, when every minute is over.
    mutating func takeCounts(at now: ContinuousClock.Instant?) -> [Kind: Int] {
        let over = minutes.filter { _, minute in now.map { minute.end <= $0 } ?? true }
        for kind in over.keys { minutes[kind] = nil }
        return over.mapValues(\.suppressed).filter { $0.value > 0 }
    }
}
