/// A title's short id: eight lower-case letters and digits, which people and scripts can pass on.
///
/// The id is the beginning of the title's first ``ResourceID``, and does not change if the vault recomputes its
/// resource ids. Like a resource id, it reveals nothing about the URL. Its text is 40 bits in base32 (RFC 4648 §6), and
/// never contains a colon, so it cannot be mistaken for a URL.
public struct TitleID: Hashable, Sendable, CustomStringConvertible {
    /// The five bytes.
    let bytes: [UInt8]

    /// The number of characters in an id's text.
    static let length = 8
    private static let byteCount = 5
    private static let digits = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

    /// Creates the id of a title that was stored under a resource id.
    package init(of resource: ResourceID) { bytes = Array(resource.bytes.prefix(Self.byteCount)) }

    /// Parses an id; nil if the string is not an id. Each id has only one spelling.
    public init?(_ text: String) {
        guard text.utf8.count == Self.length else { return nil }
        var value: UInt64 = 0
        for character in text.utf8 {
            guard let digit = Self.digits.firstIndex(of: character) else { return nil }
            value = value << 5 | UInt64(digit)
        }
        bytes = (0..<Self.byteCount).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
    }

    /// The id as text: eight characters, each a letter from `a` to `z` or a digit from `2` to `7`.
    public var description: String {
        let value = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let text = (0..<Self.length).reversed().map { Self.digits[Int(value >> (5 * UInt64($0)) & 31)] }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bounds of the resource ids that begin with this id's bytes.
    package var resources: (first: [UInt8], last: [UInt8]) {
        (bytes, bytes + Array(repeating: .max, count: ResourceKind.byteCount - Self.byteCount))
    }
}

extension TitleID: Codable {
    /// Decodes the id from its text.
    ///
    /// - Throws: `DecodingError` if the text is not an id.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let id = TitleID(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not the id of a title")
        }
        self = id
    }

    /// Encodes the id as its text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
