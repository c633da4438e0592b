/// The text of a feed, decoded to UTF-8 from the encoding of its bytes.
///
/// As in RFC 7303, a byte order mark takes precedence, then the encoding that the origin states, then the one in the
/// prolog. If none of them fits, the text is read as UTF-8, or else as windows-1252, in which every byte has a meaning.
struct FeedText: Hashable, Sendable {
    /// The text in UTF-8, without a byte order mark.
    let bytes: [UInt8]
    /// The encoding that was used in place of the stated one; nil if no replacement was needed.
    let guessed: String?

    /// Decodes a feed.
    ///
    /// - Parameter type: the media type that the origin states, with its parameters; nil if it states none.
    init(_ bytes: [UInt8], type: String? = nil) {
        for (mark, width, isLittle) in Self.marks where bytes.starts(with: mark) {
            let rest = bytes.dropFirst(mark.count)
            let decoded = width == 1 ? FeedCharset.utf8(rest) : FeedCharset.wide(rest, width: width, isLittle: isLittle)
            guard let decoded else { break }
            (self.bytes, guessed) = (decoded.bytes, nil)
            return
        }
        // Every form of feed begins with an ASCII character, so zeros around it reveal a wide encoding.
        if let (width, isLittle) = Self.width(of: bytes) {
            (self.bytes, guessed) = (FeedCharset.wide(bytes[...], width: width, isLittle: isLittle).bytes, nil)
            return
        }
        let stated = [type.flatMap(Self.charset), Self.declaredEncoding(of: bytes)].compactMap(\.self)
        for (index, name) in (stated + ["utf-8"]).enumerated() {
            guard let decoded = FeedCharset.decode(bytes[...], as: name) else { continue }
            (self.bytes, guessed) = (decoded.bytes, index == 0 ? nil : decoded.name)
            return
        }
        let decoded = FeedCharset.windows1252(bytes[...])
        (self.bytes, guessed) = (decoded.bytes, decoded.name)
    }

    private static let marks: [(bytes: [UInt8], width: Int, isLittle: Bool)] = [
        ([0xEF, 0xBB, 0xBF], 1, false), ([0xFF, 0xFE, 0, 0], 4, true), ([0, 0, 0xFE, 0xFF], 4, false),
        ([0xFF, 0xFE], 2, true), ([0xFE, 0xFF], 2, false),
    ]

    /// Returns the width in bytes of a code unit if it is more than one, as zeros around the first character show; nil
    /// otherwise.
    private static func width(of bytes: [UInt8]) -> (width: Int, isLittle: Bool)? {
        switch bytes.prefix(4).map({ $0 == 0 }) {
        case [false, true, true, true]: (4, true)
        case [true, true, true, false]: (4, false)
        case [false, true, false, true]: (2, true)
        case [true, false, true, false]: (2, false)
        default: nil
        }
    }

    /// Returns the encoding that a media type states.
    private static func charset(in type: String) -> String? {
        for parameter in type.split(separator: ";").dropFirst() {
            let parts = parameter.split(separator: "=", maxSplits: 1)
            if parts.count == 2, parts[0].filter({ $0 != " " }).lowercased() == "charset" {
                return String(parts[1]).nonEmpty
            }
        }
        return nil
    }

    /// Returns the encoding that a document's prolog states.
    private static func declaredEncoding(of bytes: [UInt8]) -> String? {
        let start = String(decoding: bytes.drop { $0 <= 0x20 }.prefix(512), as: UTF8.self)
        guard start.hasPrefix("<?xml"), let end = start.firstRange(of: "?>"),
            let found = start[..<end.lowerBound].firstRange(of: "encoding")
        else { return nil }
        let value = start[found.upperBound..<end.lowerBound].drop { $0.isWhitespace || $0 == "=" }
        guard let quote = value.first, quote == "\"" || quote == "'" else { return nil }
        return String(value.dropFirst().prefix { $0 != quote }).nonEmpty
    }
}
