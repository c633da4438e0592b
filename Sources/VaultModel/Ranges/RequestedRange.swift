/// Which bytes of a representation somebody asks for, before its length is known.
public enum RequestedRange: Hashable, Sendable {
    /// Everything, asked for without naming a range.
    case whole
    /// From a first byte to the end (`bytes=N-`).
    case from(Int64)
    /// From a first to a last byte, both included (`bytes=A-B`).
    case closed(first: Int64, last: Int64)
    /// The last bytes, so many (`bytes=-N`).
    case suffix(Int64)

    /// The bytes asked for, in a representation of `length` bytes (RFC 9110 §14.1.2).
    ///
    /// - Returns: the range, cut at the end of the representation; nil where no byte of it exists. ``whole`` always
    ///   resolves, to an empty range for an empty representation.
    public func resolved(length: Int64) -> ByteRange? {
        switch self {
        case .whole:
            return 0..<length
        case .from(let first):
            return first >= 0 && first < length ? first..<length : nil
        case .closed(let first, let last):
            // `last` may be Int64.max: compare before adding one.
            return first >= 0 && first < length && first <= last ? first..<(last < length ? last + 1 : length) : nil
        case .suffix(let count):
            return count > 0 && length > 0 ? Swift.max(0, length - count)..<length : nil
        }
    }

    /// The first byte asked for, where it does not depend on the length.
    public var firstByte: Int64? {
        switch self {
        case .whole: 0
        case .from(let first), .closed(let first, _): first
        case .suffix: nil
        }
    }

    /// One past the last byte asked for, where the request names it; nil for requests to the end.
    public var endLimit: Int64? {
        guard case .closed(_, let last) = self, last < Int64.max else { return nil }
        return last + 1
    }
}
