import MediaVault
import NIOHTTP1

/// The progress of reading a range from as many answers as necessary.
///
/// An answer may end before its last byte. The answer to the next request then continues, or reports the reason.
struct RangeReassembly {
    private var wanted: RequestedRange
    private var window: ByteWindow?
    /// The position of the first byte that has not arrived; nil if it is not yet known.
    private var position: Int64?
    /// The position after the last requested byte; nil if it is not known.
    private var end: Int64?
    private var tag: String?
    /// Whether the current answer has delivered any bytes.
    private(set) var hasAdvanced = false
    private(set) var isDone = false

    init(_ range: RequestedRange) { wanted = range }

    /// The header fields of the next request.
    var fields: HTTPHeaders {
        switch wanted {
        case .whole: [:]
        case .from(let first): ["Range": "bytes=\(first)-"]
        case .closed(let first, let last): ["Range": "bytes=\(first)-\(last)"]
        case .suffix(let count): ["Range": "bytes=-\(count)"]
        }
    }

    /// Processes the head of an answer.
    mutating func begin(_ head: HTTPResponseHead) throws {
        let newTag = head.headers.first(name: "ETag")
        guard tag == nil || tag == newTag else {
            throw VaultError(.changed, "the title changed at its origin while it was being read; try again")
        }
        (tag, hasAdvanced) = (newTag, false)
        if case .bytes(let range, let total)? = head.headers.first(name: "Content-Range").flatMap(ContentRange.init) {
            window = nil
            position = range.lowerBound
            end = total.flatMap { wanted.resolved(length: $0)?.upperBound } ?? range.upperBound
        } else {
            let length = head.headers.first(name: "Content-Length").flatMap { Int64($0) }
            let whole = try ByteWindow(wanted, length: length)
            window = whole
            (position, end) = (whole.first, length.flatMap { wanted.resolved(length: $0)?.upperBound })
        }
    }

    /// Returns the part of the next bytes that was requested.
    mutating func cut(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        let part = window?.cut(bytes) ?? bytes[...]
        position = (position ?? 0) + Int64(part.count)
        hasAdvanced = hasAdvanced || !part.isEmpty
        ask()
        return part
    }

    /// Processes the end of an answer.
    mutating func finish() throws {
        try window?.check()
        isDone = end.map { (position ?? 0) >= $0 } ?? true
        guard isDone || hasAdvanced else { throw ControlAnswer.brokenOff }
        ask()
    }

    /// Makes the next request name only the remaining bytes.
    private mutating func ask() {
        guard let position else { return }
        wanted = end.map { .closed(first: position, last: $0 - 1) } ?? .from(position)
    }
}
