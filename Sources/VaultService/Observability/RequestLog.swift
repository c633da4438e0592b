import Foundation
import HTTPTypes
package import Logging
import Synchronization
import VaultModel

/// One request, from its head to the last byte of its answer, with an id.
///
/// It is counted as open until the last reference to it is released.
final class OpenRequest: Sendable {
    let id = RequestID()
    let metrics: ServiceMetrics
    /// The service's own name for what is requested, never the target.
    let route: String
    private let method: String
    private let began: ContinuousClock.Instant

    init(_ method: String, _ route: String, _ metrics: ServiceMetrics, at arrival: ContinuousClock.Instant = .now) {
        self.method = method
        self.route = route
        self.metrics = metrics
        began = arrival
        metrics.requestBegan()
    }

    deinit { metrics.requestEnded(after: .now - began) }

    /// Returns the metadata of the answer for the log.
    ///
    /// The target is omitted: it carries a capability, and often a token in its query.
    func metadata(status: Int, bytes: Int64, of cacheStatus: CacheStatus?) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "method": "\(method)", "route": "\(route)", "status": "\(status)", "bytes": "\(bytes)",
            "seconds": "\((ContinuousClock.now - began) / .seconds(1))",
        ]
        if let cacheStatus { metadata["cache"] = "\(cacheStatus.value)" }
        return metadata
    }
}

/// Writes each line of the log as a JSON object, for log collectors.
package struct JSONLogHandler: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    package var logLevel = Logger.Level.info

    private let label: String
    private let write: @Sendable ([UInt8]) -> Void

    /// - Parameter write: writes a line, including its terminator.
    package init(label: String, write: @escaping @Sendable ([UInt8]) -> Void) {
        self.label = label
        self.write = write
    }

    /// Returns a handler that writes to standard error.
    package static func standardError(label: String) -> JSONLogHandler {
        // One call per line, so that the lines of two threads do not mix.
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
        // Strings can always be encoded.
        guard let bytes = try? JSONText.bytes(of: line) else { return }
        write(bytes + [UInt8(ascii: "\n")])
    }
}

/// The id of a request in the log and in its answer.
///
/// A random prefix for the process distinguishes the lines of two runs.
struct RequestID: Hashable, Sendable, CustomStringConvertible {
    private let number: Int

    private static let mark = String(UInt32.random(in: 0x1000_0000 ... .max), radix: 16)
    private static let last = Atomic<Int>(0)

    init() { number = Self.last.add(1, ordering: .relaxed).newValue }

    var description: String { "\(Self.mark)-\(number)" }
}

extension HTTPField.Name {
    /// The field by which a request can be found in the log; the name is valid, so the fallback is never used.
    static let requestID = HTTPField.Name("X-Request-Id") ?? .server
}
