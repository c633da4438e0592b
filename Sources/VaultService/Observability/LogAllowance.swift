import Logging

/// Limits the number of events of each kind that are logged per minute. This is needed because any client of the
/// service can cause some kinds of events.
struct LogAllowance: Sendable {
    /// The properties that events of the same kind have in common.
    struct Kind: Hashable, Sendable {
        let level: Logger.Level
        let message: String
        /// The reason for the event, in the service's own words; nil if the event states none.
        var reason: String?
    }

    /// The decision whether to log an event.
    enum Verdict: Hashable {
        /// Log the event. `suppressed` is the number of events of its kind that were suppressed since the previous one.
        case logged(suppressed: Int)
        /// Log the event, and state that further events of its kind will only be counted for a while.
        case last(suppressed: Int)
        case suppressed
    }

    /// The maximum number of events of a kind that are logged per minute.
    static let most = 60
    /// The number of kinds beyond which a new kind is no longer distinguished by its reason. The service has far fewer
    /// messages than this.
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

    /// Returns the number of suppressed events for each kind whose minute has passed. Each number is returned only
    /// once.
    ///
    /// - Parameter now: the current time; nil at the end, when every minute counts as passed.
    mutating func takeCounts(at now: ContinuousClock.Instant?) -> [Kind: Int] {
        let over = minutes.filter { _, minute in now.map { minute.end <= $0 } ?? true }
        for kind in over.keys { minutes[kind] = nil }
        return over.mapValues(\.suppressed).filter { $0.value > 0 }
    }
}
