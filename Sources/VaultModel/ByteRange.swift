/// A run of bytes of one representation, half-open: `0..<100` is the first hundred bytes.
///
/// Offsets are half-open everywhere inside the vault; the inclusive form of HTTP exists only where a header is parsed
/// or printed (``ContentRange``, ``RangeHeader``, ``ByteRange/httpBytes``).
public typealias ByteRange = Range<Int64>

/// A set of byte ranges of one representation, kept sorted, disjoint and joined where they touch.
public typealias ByteRanges = RangeSet<Int64>

extension Range<Int64> {
    /// The number of bytes in the range.
    public var length: Int64 { upperBound - lowerBound }

    /// The inclusive form that HTTP prints: `0..<100` is `0-99` (RFC 9110 §14.1.2).
    ///
    /// - Precondition: the range is not empty; HTTP cannot name an empty range.
    public var httpBytes: String {
        precondition(!isEmpty, "HTTP cannot name an empty range")
        return "\(lowerBound)-\(upperBound - 1)"
    }
}

extension RangeSet<Int64> {
    /// The number of bytes in the set, each counted once.
    public var byteCount: Int64 { ranges.reduce(0) { $0 + $1.length } }

    /// The parts of `range` that are not in the set, in ascending order.
    public func gaps(in range: ByteRange) -> [ByteRange] {
        Array(RangeSet(range).subtracting(self).ranges)
    }

    /// The parts of `range` that are in the set, in ascending order.
    public func overlaps(with range: ByteRange) -> [ByteRange] {
        Array(intersection(RangeSet(range)).ranges)
    }

    /// The contiguous run of the set that holds `offset`, or nil where `offset` is not in the set.
    public func run(at offset: Int64) -> ByteRange? {
        let runs = ranges
        var low = runs.startIndex
        var high = runs.endIndex
        while low < high {
            let middle = low + (high - low) / 2
            if runs[middle].upperBound <= offset { low = middle + 1 } else { high = middle }
        }
        guard low < runs.endIndex, runs[low].contains(offset) else { return nil }
        return runs[low]
    }

    /// The first offset at or after `offset` that is in the set, or nil where none is.
    public func firstHeld(from offset: Int64) -> Int64? {
        for run in ranges where run.upperBound > offset { return Swift.max(run.lowerBound, offset) }
        return nil
    }
}

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

/// What several ranges of one request come to, once the length is known (RFC 9110 §14.2, §15.3.7).
public enum RangeSelection: Hashable, Sendable {
    /// No byte of any of them exists: answer 416.
    case nothing
    /// Only of one do bytes exist.
    case single(ByteRange)
    /// The bytes of each that has any, in the order they were asked for; no byte is in two of them.
    case several([ByteRange])
    /// Some bytes were asked for more than once: answer with everything, so that no request costs more than that.
    case overlapping

    /// What the ranges come to in a representation of `length` bytes.
    public init(_ requested: [RequestedRange], length: Int64) {
        let ranges = requested.compactMap { $0.resolved(length: length) }
        if ranges.isEmpty {
            self = .nothing
        } else if ranges.count == 1 {
            self = .single(ranges[0])
        } else {
            let sorted = ranges.sorted { $0.lowerBound < $1.lowerBound }
            let isDisjoint = zip(sorted, sorted.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound }
            self = isDisjoint ? .several(ranges) : .overlapping
        }
    }
}
