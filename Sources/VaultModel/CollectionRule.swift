/// What applies to every title of a collection, also to one that joins it later.
public struct CollectionRule: Hashable, Sendable {
    /// Whether the titles are pinned.
    public var isPinned = false
    /// The mode of the titles; nil if each has its own.
    public var mode: VaultMode?

    /// The maximum number of collections with a rule.
    package static let maxCount = 200

    package init(isPinned: Bool = false, mode: VaultMode? = nil) { (self.isPinned, self.mode) = (isPinned, mode) }

    /// Whether the rule demands nothing.
    package var isEmpty: Bool { self == CollectionRule() }

    /// Returns whether a title is as the rule demands.
    package func isKept(isPinned: Bool, mode: VaultMode?) -> Bool {
        (isPinned || !self.isPinned) && (self.mode ?? mode) == mode
    }
}

/// Stands for a collection in the records of viewers and in the settings: a hash of what its titles share.
package struct CollectionMark: Hashable, Sendable {
    package let bytes: [UInt8]

    private static let byteCount = 16

    /// Creates the mark from a hash of at least 16 bytes, of which it keeps the first.
    package init(hash: [UInt8]) { bytes = Array(hash.prefix(Self.byteCount)) }

    /// Creates the mark from its bytes; nil if their number is wrong.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }
}
