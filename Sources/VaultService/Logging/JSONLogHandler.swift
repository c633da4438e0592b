import Foundation
package import Logging

/// Writes each line of the log as an object of JSON: for those who collect logs rather than read them.
package struct JSONLogHandler: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    package var logLevel = Logger.Level.info

    private let label: String
    private let write: @Sendable ([UInt8]) -> Void

    /// - Parameter write: takes a line, its end included.
    package init(label: String, write: @escaping @Sendable ([UInt8]) -> Void) {
        self.label = label
        self.write = write
    }

    /// Writes to standard error.
    package static func standardError(label: String) -> JSONLogHandler {
        // One call for a line: lines of two threads never mix.
        JSONLogHandler(label: label) { line in
            _ = unsafe line.withUnsafeBytes { unsafe Foundation.write(2, $0.baseAddress, $0.count) }
        }
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var members = metadataProvider?.get() ?? [:]
        members.merge(metadata) { $1 }
        members.merge(event.metadata ?? [:]) { $1 }
        var line = members.mapValues(\.description)
        line["time"] = Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        line["level"] = event.level.rawValue
        line["logger"] = label
        line["message"] = event.message.description
        // Text alone can always be written.
        guard let bytes = try? JSONText.bytes(of: line) else { return }
        write(bytes + [UInt8(ascii: "\n")])
    }
}
