import VaultModel

/// The part of a resource that a tag names: `n[@o]`, n bytes from offset o (RFC 8216 §4.3.2.2).
struct HLSByteRange {
    private let count: Int64
    private let offset: Int64?

    /// Parses a range.
    ///
    /// - Throws: ``ManifestError/malformed(line:_:)`` if it is none, is empty, or ends beyond every representation.
    init(_ text: ArraySlice<UInt8>, _ line: HLSLine) throws(ManifestError) {
        let sides = text.split(separator: UInt8(ascii: "@"), maxSplits: 1, omittingEmptySubsequences: false)
        let numbers = sides.compactMap(Self.number)
        guard !numbers.isEmpty, numbers.count == sides.count, numbers[0] > 0 else {
            throw .malformed(line: line.number, .byteRange)
        }
        count = numbers[0]
        offset = numbers.count > 1 ? numbers[1] : nil
        guard resolved(after: 0) != nil else { throw .malformed(line: line.number, .byteRange) }
    }

    /// Returns the range; without an offset of its own it begins at `end`. Nil if it ends beyond every representation.
    func resolved(after end: Int64) -> ByteRange? {
        let first = offset ?? end
        return count <= ContentInformation.maxBytes - first ? first..<(first + count) : nil
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        DecimalNumber.exact(String(decoding: digits, as: UTF8.self).trimmingBlanks()).flatMap {
            $0 <= ContentInformation.maxBytes ? $0 : nil
        }
    }
}

/// Ranges that follow one another in one resource: one without an offset begins where the one before it ends.
struct HLSRangeChain {
    private var latest: (uri: ArraySlice<UInt8>, end: Int64)?

    /// Returns the bytes of the resource at `uri` that a tag means; nil for the whole.
    mutating func range(
        _ range: HLSByteRange?, _ uri: ArraySlice<UInt8>, _ line: HLSLine
    ) throws(ManifestError) -> ByteRange? {
        guard let range else {
            latest = nil
            return nil
        }
        let end = latest.flatMap { $0.uri == uri ? $0.end : nil } ?? 0
        guard let resolved = range.resolved(after: end) else { throw .malformed(line: line.number, .byteRange) }
        latest = (uri, resolved.upperBound)
        return resolved
    }
}
