/// What an origin says to tell one version of a resource from another.
public struct Validators: Hashable, Sendable {
    /// The entity tag, where the origin sent one.
    public var entityTag: EntityTag?
    /// The `Last-Modified` value, byte for byte as the origin sent it.
    public var lastModified: String?

    /// What an origin sent of the two.
    public init(entityTag: EntityTag? = nil, lastModified: String? = nil) {
        self.entityTag = entityTag
        self.lastModified = lastModified
    }

    /// The strong entity tag, where there is one.
    public var strongTag: EntityTag? { entityTag.flatMap { $0.isWeak ? nil : $0 } }

    /// Whether two answers can be told apart at all.
    public var canVerify: Bool { strongTag != nil || lastModified != nil }

    /// What `If-Range` may carry: a strong tag, else the date (RFC 9110 §13.1.5; a weak tag must not be used).
    public var ifRange: String? { strongTag?.description ?? lastModified }

    /// Whether an answer with `other` belongs to the same version as these.
    ///
    /// Tags that differ, weak ones too, say that the content changed; strong ones that are equal say that it did not.
    /// Otherwise the dates must be equal, and the caller compares lengths. Where neither side can be verified this is
    /// true: the caller decides how long such bytes may be combined.
    public func agree(with other: Validators) -> Bool {
        if let mine = entityTag, let theirs = other.entityTag {
            guard mine.matchesWeakly(theirs) else { return false }
            if mine.matchesStrongly(theirs) { return true }
        }
        guard lastModified == other.lastModified else { return false }
        return lastModified != nil || (strongTag == nil && other.strongTag == nil)
    }

    /// The same without the entity tag.
    package var withoutTag: Validators { Validators(lastModified: lastModified) }
}
