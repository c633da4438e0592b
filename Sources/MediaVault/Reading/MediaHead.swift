/// What is known of a resource without reading it: what an answer to HEAD is made from.
public struct MediaHead: Hashable, Sendable {
    /// Length, type, validators and range support of the representation.
    public let information: ContentInformation
    /// The vault's own name for the representation, the same for as long as its bytes are: strong, but where the origin says
    /// nothing that tells one version from another.
    public let entityTag: EntityTag
    /// Where its bytes lie.
    public let source: MediaReader.Source
    /// Whether the vault knew what the resource is before it was asked for this head.
    public let isKnown: Bool
    /// Whether ranges cannot be given yet: the origin cannot jump and not all is held, or its length is not known.
    public let isWholeAnswer: Bool
    /// Why bytes that would be fetched now are not stored; nil where they are.
    public let bypass: StoreRefusal?
    /// Why this is told although the origin was not found to say the same still; nil where it is fresh, or was confirmed.
    public let staleness: Staleness?
    /// The status of the origin's answer when it was asked, for this head, whether what is held is still its own: 304, or
    /// another where it knows no conditions or refused; nil where it was not asked, or did not answer.
    public let originStatus: Int?

    /// Whether the origin may have something else by now: see ``staleness``.
    public var isStale: Bool { staleness != nil }
}
