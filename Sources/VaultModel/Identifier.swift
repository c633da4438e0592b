/// The kind of thing that an ``Identifier`` names, and its number of bytes.
public protocol IdentifierKind: Sendable {
    /// The number of bytes of an identifier of this kind.
    static var byteCount: Int { get }
}

/// A name made of bytes: random, or the keyed hash of something secret. It reveals nothing about the thing it names.
public struct Identifier<Kind: IdentifierKind>: Hashable, Sendable, CustomStringConvertible {
    /// The bytes, `Kind.byteCount` of them.
    public let bytes: [UInt8]

    /// Creates an identifier from bytes; nil if there are more or fewer than `Kind.byteCount`.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Kind.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Parses lower-case hex; nil if the text is not exactly that.
    public init?(hex: String) {
        guard let bytes = Hex.decode(hex) else { return nil }
        self.init(bytes: bytes)
    }

    /// The bytes in lower-case hex.
    public var hex: String { Hex.encode(bytes) }

    /// The same as ``hex``.
    public var description: String { hex }
}

/// A vault's name: 16 random bytes.
public typealias VaultID = Identifier<VaultKind>
/// A resource's name: the keyed hash of its cache key, 32 bytes. Without the key, a guessed URL cannot be tested.
public typealias ResourceID = Identifier<ResourceKind>
/// A representation's name: 16 random bytes.
public typealias RepresentationID = Identifier<RepresentationKind>
/// The name of a segment and of its file: 16 random bytes, used once.
public typealias SegmentID = Identifier<SegmentKind>
/// The name of an entry of the download queue: 16 random bytes.
package typealias DownloadID = Identifier<DownloadKind>

/// Vaults: 16 bytes.
public enum VaultKind: IdentifierKind {
    /// Sixteen.
    public static let byteCount = 16
}
/// Resources: 32 bytes.
public enum ResourceKind: IdentifierKind {
    /// Thirty-two.
    public static let byteCount = 32
}
/// Representations: 16 bytes.
public enum RepresentationKind: IdentifierKind {
    /// Sixteen.
    public static let byteCount = 16
}
/// Segments: 16 bytes.
public enum SegmentKind: IdentifierKind {
    /// Sixteen.
    public static let byteCount = 16
}
/// Entries of the download queue: 16 bytes.
package enum DownloadKind: IdentifierKind {
    /// Sixteen.
    package static let byteCount = 16
}

/// Lower-case hexadecimal, with one spelling for each value. Foundation has no coder for it.
package enum Hex {
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: bytes.flatMap { [digit($0 >> 4), digit($0 & 15)] }, as: UTF8.self)
    }

    /// Decodes lower-case hex; nil if a character is not such a digit, or their number is odd.
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

    /// Returns the value of a digit; nil if the byte is not one.
    static func value(_ digit: UInt8, allowsUpperCase: Bool = false) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x61...0x66: digit - 0x57
        case 0x41...0x46 where allowsUpperCase: digit - 0x37
        default: nil
        }
    }
}
