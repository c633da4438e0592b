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
