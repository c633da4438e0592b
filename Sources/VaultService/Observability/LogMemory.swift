import Foundation
import Logging
import VaultModel

/// Remembers the last events that were logged, so that the owner sees them on the pages.
///
/// Of an event's fields it keeps the reason alone, which is one word: others may contain addresses or names.
final class LogMemory: Sendable {
    /// The number of events that are remembered.
    static let most = 50

    private let events = Locked<[LoggedLineDocument]>([])

    /// The remembered events, the latest last.
    var last: [LoggedLineDocument] { events.withLock { $0 } }

    /// Remembers an event, unless it is one of the many below the level `notice`.
    func note(_ event: LogEvent, at time: Timestamp = Timestamp(seconds: WallClock.now())) {
        guard event.level >= .notice else { return }
        let line = LoggedLineDocument(
            time: time, level: event.level.rawValue, message: event.message.description,
            reason: (event.metadata?["reason"]?.description).flatMap { $0.allSatisfy(\.isLetter) ? $0 : nil })
        events.withLock { events in
            events.append(line)
            events.removeFirst(max(0, events.count - Self.most))
        }
    }
}

/// An event of the log, without the fields that may contain addresses or names.
struct LoggedLineDocument: Codable, Hashable, Sendable {
    let time: Timestamp
    let level: String
    let message: String
    /// Why it happened, in one word; null if the event has no reason.
    @OrNull var reason: String?

    init(time: Timestamp, level: String, message: String, reason: String?) {
        (self.time, self.level, self.message) = (time, level, message)
        self.reason = reason
    }
}

/// The last events of the service's log, and the version of the service.
struct LogDocument: Codable, Sendable {
    let version: String
    /// The events, the latest last.
    let lines: [LoggedLineDocument]
}
