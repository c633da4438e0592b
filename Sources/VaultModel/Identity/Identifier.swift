/// What kind of thing an ``Identifier`` names, and how many bytes it has.
public protocol IdentifierKind: Sendable {
    /// The number of bytes of an identifier of this kind.
    static var byteCount: Int { get }
}

/// A name made of bytes: random, or the keyed hash of something secret. It says nothing about what it names.
public struct Identifier<Kind: IdentifierKind>: Hashable, Sendable, CustomStringConvertible {
    /// The bytes, `Kind.byteCount` of them.
    public let bytes: [UInt8]

    /// Takes bytes of the right number; nil where there are more or fewer.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Kind.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Reads lower-case hex; nil where it is not exactly that.
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
/// A resource's name: the keyed hash of its cache key, 32 bytes. Without the key nobody can test a guessed URL.
public typealias ResourceID = Identifier<ResourceKind>
/// A representation's name: 16 random bytes.
public typealias RepresentationID = Identifier<RepresentationKind>
/// A segment's name and its file's: 16 random bytes, used once.
public typealias SegmentID = Identifier<SegmentKind>

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
