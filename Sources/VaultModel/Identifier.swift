/// The kind of thing that an ``Identifier`` names, which determines the identifier's length.
public protocol IdentifierKind: Sendable {
    /// The number of bytes in an identifier of this kind.
    static var byteCount: Int { get }
}

/// A name that consists of bytes, either random or the keyed hash of a secret. It reveals nothing about what it names.
public struct Identifier<Kind: IdentifierKind>: Hashable, Sendable, CustomStringConvertible {
    /// The bytes, whose number is `Kind.byteCount`.
    public let bytes: [UInt8]

    /// Creates an identifier from bytes; nil if their number is not `Kind.byteCount`.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Kind.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Parses an identifier in lower-case hex; nil if the text is anything else, or has the wrong length.
    public init?(hex: String) {
        guard let bytes = Hex.decode(hex) else { return nil }
        self.init(bytes: bytes)
    }

    /// The bytes in lower-case hex.
    public var hex: String { Hex.encode(bytes) }

    /// The same as ``hex``.
    public var description: String { hex }
}

/// Identifies a vault: 16 random bytes.
public typealias VaultID = Identifier<VaultKind>
/// Identifies a resource: the keyed hash of its cache key, 32 bytes. Without the hash's key, a guess at its URL cannot
/// be tested.
public typealias ResourceID = Identifier<ResourceKind>
/// Identifies a representation: 16 random bytes.
public typealias RepresentationID = Identifier<RepresentationKind>
/// Identifies a segment and its file: 16 random bytes, never reused.
public typealias SegmentID = Identifier<SegmentKind>
/// Identifies an entry in the download queue: 16 random bytes.
public typealias DownloadID = Identifier<DownloadKind>

/// The kind of identifier that names vaults.
public enum VaultKind: IdentifierKind {
    /// The number of bytes in an identifier of this kind.
    public static let byteCount = 16
}
/// The kind of identifier that names resources.
public enum ResourceKind: IdentifierKind {
    /// The number of bytes in a resource's identifier.
    public static let byteCount = 32
}
/// The kind of identifier that names representations.
public enum RepresentationKind: IdentifierKind {
    /// The number of bytes in an identifier of this kind.
    public static let byteCount = 16
}
/// The kind of identifier that names segments.
public enum SegmentKind: IdentifierKind {
    /// The number of bytes in an identifier of this kind.
    public static let byteCount = 16
}
/// The kind of identifier that names entries in the download queue.
public enum DownloadKind: IdentifierKind {
    /// The number of bytes in an identifier of this kind.
    public static let byteCount = 16
}

/// Lower-case hexadecimal, with only one spelling for each value. Foundation has no coder for it.
package enum Hex {
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: bytes.flatMap { [digit($0 >> 4), digit($0 & 15)] }, as: UTF8.self)
    }

    /// Decodes lower-case hex; nil if a character is not a lower-case hex digit, or the number of digits is odd.
    package static func decode(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }

    /// Returns the value of a hex digit; nil if the byte is not a hex digit.
    static func value(_ digit: UInt8, allowsUpperCase: Bool = false) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x61...0x66: digit - 0x57
        case 0x41...0x46 where allowsUpperCase: digit - 0x37
        default: nil
        }
    }
}
