import Logging
import VaultModel

/// Passes on the service's own events. Events from libraries, other than errors, are shown only to operators who debug.
///
/// The service reports events that concern an operator in its own words. A library's error gets its own line, with the
/// library's text as a field. If there are too many events of a kind, a line states their number instead.
struct ServiceLogHandler: LogHandler {
    private static let ownSources: Set = ["VaultService", "VaultCommand"]
    /// The errors that the HTTP server logs when it is cancelled. They are not needed, because the error that ends the
    /// service is reported anyway.
    private static let endings: Set = [
        "Waiting on child channel: CancellationError()", "Server shutdown error: Already closed",
    ]

    private var rest: any LogHandler
    /// The last events that were passed on, shared by all copies of the logger.
    let memory = LogMemory()
    /// The log allowance, shared by all copies of the logger.
    private let allowance = Allowance()

    private final class Allowance: Sendable {
        let left = Locked(LogAllowance())
    }

    init(_ rest: any LogHandler) { self.rest = rest }

    var metadata: Logger.Metadata {
        get { rest.metadata }
        set { rest.metadata = newValue }
    }

    var metadataProvider: Logger.MetadataProvider? {
        get { rest.metadataProvider }
        set { rest.metadataProvider = newValue }
    }

    var logLevel: Logger.Level {
        get { rest.logLevel }
        set { rest.logLevel = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { rest[metadataKey: key] }
        set { rest[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) {
        guard !Self.ownSources.contains(event.source) else { return pass(event) }
        var event = event
        let text = event.message.description
        event.metadata = (event.metadata ?? [:]).merging(["library": "\(event.source)", "detail": "\(text)"]) { $1 }
        if event.level >= .error, !Self.endings.contains(text) {
            event.message = "the HTTP server reported an error"
        } else {
            event.level = min(event.level, .debug)
            event.message = "a library reported an event"
            guard logLevel <= event.level else { return }
        }
        pass(event)
    }

    /// Logs an event unless there were too many events of its kind. Events below the level `notice`, such as a line per
    /// request, are always logged.
    private func pass(_ event: LogEvent) {
        guard event.level >= .notice else { return rest.log(event: event) }
        let kind = LogAllowance.Kind(
            level: event.level, message: event.message.description,
            reason: event.metadata?["reason"]?.description)
        let verdict = allowance.left.withLock { $0.take(kind, at: .now) }
        var fields = event.metadata ?? [:]
        switch verdict {
        case .suppressed: return
        case .logged(let missed), .last(let missed):
            if missed > 0 { fields["suppressed"] = .number(missed) }
            if case .last = verdict { fields["next"] = "events of this kind are only counted, for up to a minute" }
        }
        var told = event
        told.metadata = fields
        memory.note(told)
        rest.log(event: told)
    }

    // MARK: Suppressed events

    /// The interval at which to check whether a minute has passed.
    private static let pace: Duration = .seconds(5)

    /// Runs `body`, and logs the numbers of events suppressed while it runs. Each number is logged soon after its
    /// minute, and the last numbers at the end.
    func loggingCounts<Result>(during body: () async throws -> Result) async throws -> Result {
        let counting = Task {
            while (try? await Task.sleep(for: Self.pace)) != nil { logCounts(at: .now) }
            logCounts(at: nil)
        }
        let result: Swift.Result<Result, any Error>
        do {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        counting.cancel()
        await counting.value
        return try result.get()
    }

    /// Logs the numbers of events suppressed in minutes that have passed.
    ///
    /// - Parameter now: the current time; nil at the end, when every minute counts as passed.
    func logCounts(at now: ContinuousClock.Instant?) {
        let counts = allowance.left.withLock { $0.takeCounts(at: now) }
        for (kind, count) in counts.sorted(by: { "\($0.key)" < "\($1.key)" }) {
            var fields: Logger.Metadata = ["event": "\(kind.message)", "suppressed": .number(count)]
            if let reason = kind.reason { fields["reason"] = "\(reason)" }
            rest.log(
                event: LogEvent(
                    level: kind.level, message: "events were only counted", metadata: fields, source: "VaultService",
                    file: #fileID, function: #function, line: #line))
        }
    }
}
