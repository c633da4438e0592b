import VaultModel

/// The range of a resource that a tag states as `n[@o]`: n bytes from offset o (RFC 8216 §4.3.2.2).
struct HLSByteRange {
    private let count: Int64
    private let offset: Int64?

    /// Parses a range.
    ///
    /// Like players, this treats an empty offset (`5@`) as absent and accepts an empty range (`0@10`).
    ///
    /// - Throws: ``ManifestError/malformed(line:_:)`` if the text is not a range, or if no representation can be that
    ///   long.
    init(_ text: ArraySlice<UInt8>, _ line: HLSLine) throws(ManifestError) {
        let at = text.firstIndex(of: UInt8(ascii: "@"))
        let stated = text[(at ?? text.endIndex)...].dropFirst()
        let hasOffset = !stated.allSatisfy(Self.isBlank)
        offset = hasOffset ? Self.number(stated) : nil
        guard let count = Self.number(text[..<(at ?? text.endIndex)]), hasOffset == (offset != nil) else {
            throw .malformed(line: line.number, .byteRange)
        }
        self.count = count
        guard resolved(after: 0) != nil else { throw .malformed(line: line.number, .byteRange) }
    }

    /// Returns the range, which begins at `end` if it has no offset of its own; nil if no representation can be that
    /// long.
    func resolved(after end: Int64) -> ByteRange? {
        let first = offset ?? end
        return count <= ContentInformation.maxBytes - first ? first..<(first + count) : nil
    }

    /// Parses a number, which may have white space around it; nil for anything else, or if no representation can be
    /// that long.
    private static func number(_ text: ArraySlice<UInt8>) -> Int64? {
        var digits = text.drop(while: isBlank)
        while let last = digits.last, isBlank(last) { digits.removeLast() }
        var value: Int64 = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { return nil }
            value = value * 10 + Int64(digit - 0x30)
            guard value <= ContentInformation.maxBytes else { return nil }
        }
        return digits.isEmpty ? nil : value
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}

/// Successive ranges of one resource. A range without an offset begins where the previous range ended.
struct HLSRangeChain {
    private var latest: (uri: ArraySlice<UInt8>, end: Int64)?

    /// Returns the range that a tag states for the resource at `uri`; nil for the whole resource, which players also
    /// request for an empty range.
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
        return resolved.isEmpty ? nil : resolved
    }
}
