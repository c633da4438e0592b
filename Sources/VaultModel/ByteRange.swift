/// A half-open range of bytes in one representation: `0..<100` is the first hundred bytes.
///
/// Ranges are half-open everywhere in the vault. HTTP's inclusive form appears only where a header is parsed or printed
/// (``ContentRange``, ``RangeHeader``, `httpBytes`).
public typealias ByteRange = Range<Int64>

/// A set of byte ranges in one representation, kept sorted and disjoint, with adjacent ranges joined.
public typealias ByteRanges = RangeSet<Int64>

extension Range<Int64> {
    /// The number of bytes in the range.
    public var length: Int64 { upperBound - lowerBound }

    /// The range in HTTP's inclusive form: `0..<100` is `0-99` (RFC 9110 §14.1.2).
    ///
    /// - Precondition: the range is not empty, because HTTP cannot name an empty range.
    public var httpBytes: String {
        precondition(!isEmpty, "HTTP cannot name an empty range")
        return "\(lowerBound)-\(upperBound - 1)"
    }
}

extension RangeSet<Int64> {
    /// The number of bytes in the set, each counted once.
    public var byteCount: Int64 { ranges.reduce(0) { $0 + $1.length } }

    /// Returns the parts of `range` that are not in the set, in ascending order.
    public func gaps(in range: ByteRange) -> [ByteRange] {
        Array(RangeSet(range).subtracting(self).ranges)
    }

    /// Returns the parts of `range` that are in the set, in ascending order.
    public func overlaps(with range: ByteRange) -> [ByteRange] {
        Array(intersection(RangeSet(range)).ranges)
    }

    /// Returns the contiguous run of the set that contains `offset`, or nil if `offset` is not in the set.
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

    /// Returns the first offset at or after `offset` that is in the set, or nil if there is none.
    public func firstHeld(from offset: Int64) -> Int64? {
        for run in ranges where run.upperBound > offset { return Swift.max(run.lowerBound, offset) }
        return nil
    }
}

/// The bytes of a representation that a client requests, expressed before the representation's length is known.
public enum RequestedRange: Hashable, Sendable {
    /// The whole representation, requested without a range.
    case whole
    /// The bytes from a first byte to the end (`bytes=N-`).
    case from(Int64)
    /// The bytes from a first to a last byte, both inclusive (`bytes=A-B`).
    case closed(first: Int64, last: Int64)
    /// The given number of bytes at the end of the representation (`bytes=-N`).
    case suffix(Int64)

    /// Returns the requested bytes of a representation of `length` bytes (RFC 9110 §14.1.2).
    ///
    /// - Returns: the range, cut off at the end of the representation, or nil if none of the requested bytes exist.
    ///   ``whole`` always resolves; for an empty representation, the result is an empty range.
    public func resolved(length: Int64) -> ByteRange? {
        switch self {
        case .whole:
            return 0..<length
        case .from(let first):
            return first >= 0 && first < length ? first..<length : nil
        case .closed(let first, let last):
            // `last` may be Int64.max, so it is compared before one is added.
            return first >= 0 && first < length && first <= last ? first..<(last < length ? last + 1 : length) : nil
        case .suffix(let count):
            return count > 0 && length > 0 ? Swift.max(0, length - count)..<length : nil
        }
    }

    /// The offset of the first requested byte, or nil if it depends on the representation's length.
    public var firstByte: Int64? {
        switch self {
        case .whole: 0
        case .from(let first), .closed(let first, _): first
        case .suffix: nil
        }
    }

    /// The offset one past the last requested byte, or nil if the request extends to the end.
    public var endLimit: Int64? {
        guard case .closed(_, let last) = self, last < Int64.max else { return nil }
        return last + 1
    }
}

/// The result of resolving the ranges of one request against a length (RFC 9110 §14.2, §15.3.7).
public enum RangeSelection: Hashable, Sendable {
    /// None of the requested bytes exist, so the response is a 416.
    case nothing
    /// Exactly one of the requested ranges contains bytes of the representation.
    case single(ByteRange)
    /// The ranges that contain bytes of the representation, in the order of the request; they do not overlap.
    case several([ByteRange])
    /// Some ranges overlap. The response is the whole representation, so that no request costs more than that.
    case overlapping

    /// Resolves the ranges against a representation of `length` bytes.
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
