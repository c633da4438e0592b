import Foundation
package import Logging

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Writes each log event as one line, in the format that the operator chose.
package struct LineLogHandler: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    package var logLevel = Logger.Level.notice

    private let format: LogFormat
    private let write: @Sendable ([UInt8]) -> Void

    /// - Parameter write: writes a line, which includes its terminator.
    package init(_ format: LogFormat, write: @escaping @Sendable ([UInt8]) -> Void) {
        self.format = format
        self.write = write
    }

    /// Returns a handler that writes to standard error.
    package static func standardError(_ format: LogFormat) -> LineLogHandler {
        LineLogHandler(format) { write($0, to: 2) }
    }

    /// Writes a whole line to a descriptor.
    ///
    /// If the descriptor is non-blocking and its reader falls behind, this waits as a blocking write would. Otherwise
    /// the end of a line could be lost, and the next line would begin in the middle of it.
    static func write(_ line: [UInt8], to descriptor: Int32) {
        var rest = line[...]
        // One call usually writes the whole line, so that lines from two threads do not mix.
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                var place = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&place, 1, -1)
            } else if errno != EINTR {
                return
            }
        }
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var fields = metadataProvider?.get() ?? [:]
        fields.merge(metadata) { $1 }
        fields.merge(event.metadata ?? [:]) { $1 }
        let line = LogLine(
            time: .now, level: event.level.rawValue, message: event.message.description,
            fields: fields.mapValues(LogLine.Value.init))
        write(line.bytes(as: format))
    }
}

extension LogLine.Value {
    /// - Parameter value: the metadata, which becomes a number if it was given as a number rather than as text.
    fileprivate init(_ value: Logger.MetadataValue) {
        switch value {
        case .stringConvertible(let value): self.init(value)
        default: self = .text(value.description)
        }
    }
}

extension Logger.MetadataValue {
    /// Returns an integer as metadata that the log shows as a number.
    static func number(_ value: some BinaryInteger) -> Logger.MetadataValue {
        .stringConvertible(Int64(clamping: value))
    }

    /// Returns a duration as metadata, in seconds and rounded to a microsecond.
    static func seconds(_ value: Duration) -> Logger.MetadataValue {
        .stringConvertible(((value / .microseconds(1)).rounded() / 1e6))
    }
}
