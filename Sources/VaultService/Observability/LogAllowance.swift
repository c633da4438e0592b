import Logging

/// Limits how many events of each kind the log takes per minute: any client of the service can cause some of them.
struct LogAllowance: Sendable {
    /// The properties that make events the same kind.
    struct Kind: Hashable, Sendable {
        let level: Logger.Level
        let message: String
        /// Why the event happened, in the service's own words; nil if the event does not say.
        var reason: String?
    }

    /// What to do with an event.
    enum Verdict: Hashable {
        /// Log the event; the number counts suppressed events of its kind since the previous one.
        case logged(suppressed: Int)
        /// Log the event, and state that the next ones of its kind will only be counted for a while.
        case last(suppressed: Int)
        case suppressed
    }

    /// Maximum events of a kind per minute.
    static let most = 60
    /// Maximum kinds distinguished by their reasons; the service has far fewer messages.
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

    /// Returns how many events were suppressed, for each kind whose minute is over. Each count is returned once.
    ///
    /// - Parameter now: nil at the end, when every minute is over.
    mutating func takeCounts(at now: ContinuousClock.Instant?) -> [Kind: Int] {
        let over = minutes.filter { _, minute in now.map { minute.end <= $0 } ?? true }
        for kind in over.keys { minutes[kind] = nil }
        return over.mapValues(\.suppressed).filter { $0.value > 0 }
    }
}
