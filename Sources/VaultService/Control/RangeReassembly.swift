import MediaVault
import NIOHTTP1

/// The progress of reading a range, over as many answers as it takes.
///
/// An answer may end before its last byte; the answer to the next request then continues, or reports the reason.
struct RangeReassembly {
    private var wanted: RequestedRange
    private var window: ByteWindow?
    /// The first byte that has not arrived, and one past the last requested byte, if they are known.
    private var position: Int64?
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
            throw VaultError(.changed, "the title changed at its origin while it was being read; run the command again")
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

    /// Returns the requested part of the next bytes.
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

    /// Requests the remaining bytes from now on.
    private mutating func ask() {
        guard let position else { return }
        wanted = end.map { .closed(first: position, last: $0 - 1) } ?? .from(position)
    }
}

/// Cuts the requested bytes out of those that a reader delivers.
///
/// If an origin does not support ranges, the reader delivers the whole representation.
struct ByteWindow: Hashable, Sendable {
    private let wanted: ByteRange
    private var position: Int64

    init(_ range: RequestedRange, of reader: MediaReader) throws {
        guard reader.isWholeAnswer else {
            // The reader delivers only the requested range.
            self.init(0..<Int64.max, from: 0)
            return
        }
        try self.init(range, length: reader.information.length)
    }

    /// Creates a window into a representation of `length` bytes; nil if the length is unknown.
    init(_ range: RequestedRange, length: Int64?) throws {
        if let length {
            guard let wanted = range.resolved(length: length) else {
                throw Self.outside(length)
            }
            self.init(wanted, from: 0)
        } else {
            guard let first = range.firstByte else {
                throw VaultError(
                    .unsatisfiableRange,
                    "the origin does not report the title's length, so a range from its end is unknown; fetch it first")
            }
            self.init(first..<(range.endLimit ?? .max), from: 0)
        }
    }

    private init(_ wanted: ByteRange, from position: Int64) {
        self.wanted = wanted
        self.position = position
    }

    /// The first requested byte.
    var first: Int64 { wanted.lowerBound }

    /// Whether no more bytes are requested.
    var isDone: Bool { position >= wanted.upperBound }

    /// Checks, at the end of the representation, that the first requested byte arrived.
    func check() throws {
        guard wanted.lowerBound > 0, position <= wanted.lowerBound else { return }
        throw Self.outside(position)
    }

    /// Returns the requested part of the next bytes.
    mutating func cut(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        let here = position..<position + Int64(bytes.count)
        position = here.upperBound
        guard here.overlaps(wanted) else { return [] }
        let part = here.clamped(to: wanted)
        return bytes[Int(part.lowerBound - here.lowerBound)..<Int(part.upperBound - here.lowerBound)]
    }

    private static func outside(_ length: Int64) -> VaultError {
        var error = VaultError(
            .unsatisfiableRange, "the range is outside the title's \(length) bytes; request a range within them")
        error.length = length
        return error
    }
}
