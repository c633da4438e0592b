import VaultModel

/// A place of a playlist where something else is written, and what.
struct HLSEdit: Sendable {
    /// What is written.
    enum Change: Sendable {
        /// The caller's link for a reference. Parts, hints and reports matter only live, and a gap is never requested:
        /// they do not belong to the title.
        case link(ManifestReference, belongsToTitle: Bool)
        /// This text; an empty one removes what stands there.
        case text(String)
    }

    /// The bytes that are replaced.
    let span: Range<Int>
    let change: Change

    init(_ span: Range<Int>, _ change: Change) {
        self.span = span
        self.change = change
    }
}

/// The part of a resource that a tag names: `n[@o]`, n bytes from offset o (RFC 8216 §4.3.2.2).
struct HLSByteRange {
    private let count: Int64
    private let offset: Int64?

    /// Parses a range; nil if it is malformed, empty, or ends beyond every representation.
    init?(_ text: ArraySlice<UInt8>) {
        let sides = text.split(separator: UInt8(ascii: "@"), maxSplits: 1, omittingEmptySubsequences: false)
        guard let count = sides.first.flatMap(Self.number), count > 0 else { return nil }
        self.count = count
        offset = sides.count > 1 ? Self.number(sides[1]) : nil
        guard sides.count == 1 || offset != nil, resolved(after: 0) != nil else { return nil }
    }

    /// Returns the range; without an offset of its own it begins at `end`. Nil if it ends beyond every representation.
    func resolved(after end: Int64) -> ByteRange? {
        let first = offset ?? end
        guard count <= ContentInformation.maxBytes - first else { return nil }
        return first..<(first + count)
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        DecimalNumber.exact(String(decoding: digits, as: UTF8.self).trimmingBlanks()).flatMap {
            $0 <= ContentInformation.maxBytes ? $0 : nil
        }
    }
}
