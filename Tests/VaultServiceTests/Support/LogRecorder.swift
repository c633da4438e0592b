import Logging
import Synchronization

/// Records every log line, at every level.
final class LogRecorder: Sendable {
    struct Line: Sendable {
        let level: Logger.Level
        let text: String
    }

    private let recorded = Mutex<[Line]>([])

    var lines: [Line] { recorded.withLock { $0 } }

    var logger: Logger { Logger(label: "recorder") { [self] _ in Handler(recorder: self) } }

    private func record(_ line: Line) { recorded.withLock { $0.append(line) } }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { $1 }
            recorder.record(Line(level: event.level, text: "\(event.message) \(all)"))
        }
    }
}
