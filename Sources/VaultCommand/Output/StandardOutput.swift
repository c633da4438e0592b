import MediaVault
import VaultService

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Standard output, which carries only results.
///
/// If the reader is slow, writes block, so they have their own thread.
final class StandardOutput: Sendable {
    static let shared = StandardOutput(descriptor: STDOUT_FILENO)

    private let descriptor: Int32
    private let queue = BlockingQueue("mediavault.output")

    init(descriptor: Int32) { self.descriptor = descriptor }

    /// Whether standard output is a terminal.
    var isTerminal: Bool { isatty(descriptor) == 1 }

    /// The terminal's current number of columns; nil if standard output is not a terminal.
    var terminalWidth: Int? {
        var size = winsize()
        guard isatty(descriptor) == 1, unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return nil
        }
        return Int(size.ws_col)
    }

    /// Writes all of `bytes`.
    ///
    /// - Throws: ``OutputClosed`` if the reader has gone, or ``VaultError`` if the bytes cannot be written.
    func write(_ bytes: ArraySlice<UInt8>) async throws {
        guard !bytes.isEmpty else { return }
        try await queue.run { [descriptor] in try Self.write(bytes, to: descriptor) }
    }

    func write(_ text: String) async throws { try await write(Array(text.utf8)[...]) }

    /// Writes a document as a line of JSON.
    func writeJSON(_ document: some Encodable) async throws { try await write(try JSONText.of(document) + "\n") }

    private static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) throws {
        var rest = bytes
        while !rest.isEmpty {
            #if canImport(Glibc)
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            #else
            let count = unsafe rest.withUnsafeBytes { unsafe Darwin.write(descriptor, $0.baseAddress, $0.count) }
            #endif
            if count >= 0 { rest = rest.dropFirst(count) } else { try recover(from: errno, descriptor) }
        }
    }

    /// Returns normally if the write should be tried again, and throws otherwise.
    private static func recover(from code: Int32, _ descriptor: Int32) throws {
        switch code {
        case EINTR: return
        case EAGAIN:
            // Another process has made the pipe non-blocking, so this waits until the pipe is writable, as a blocking
            // write would.
            var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = unsafe poll(&entry, 1, -1)
        case EPIPE: throw OutputClosed()
        case ENOSPC, EDQUOT:
            throw VaultError(.diskFull, "no space left for the output; free some space where it is written")
        default:
            throw VaultError(.storage, "cannot write to standard output (\(unsafe String(cString: strerror(code))))")
        }
    }
}

/// Removes the possible secrets in URLs, which are user name, password and query, from a sentence.
///
/// This is needed because the argument parser's messages repeat what the user typed.
enum Redaction {
    static func withoutSecrets(_ text: String) -> String {
        var result = ""
        var rest = text[...]
        while let mark = rest.firstRange(of: "://") {
            result += rest[..<mark.upperBound]
            rest = rest[mark.upperBound...]
            let end = rest.firstIndex { $0.isWhitespace || $0 == "'" || $0 == "\"" } ?? rest.endIndex
            result += shown(rest[..<end])
            rest = rest[end...]
        }
        return result + rest
    }

    /// Returns the text after `://` without its secrets.
    private static func shown(_ text: Substring) -> String {
        let pathStart = text.firstIndex { "/?#".contains($0) } ?? text.endIndex
        let authority = String(text[..<pathStart].split(separator: "@").last ?? "")
        let path = text[pathStart...]
        guard let query = path.firstIndex(where: { "?#".contains($0) }) else { return authority + path }
        return authority + path[..<query] + "?…"
    }
}
