/// An entity tag (RFC 9110 §8.8.3).
public struct EntityTag: Hashable, Sendable, CustomStringConvertible {
    /// The text between the quotes.
    public let opaque: String
    /// Whether it was marked `W/`: equal in meaning, perhaps not in its bytes.
    public let isWeak: Bool

    /// Makes a strong tag. `opaque` holds no quote and no control character.
    public init(strong opaque: String) {
        self.opaque = opaque
        self.isWeak = false
    }

    /// Makes a weak tag. `opaque` holds no quote and no control character.
    package init(weak opaque: String) {
        self.opaque = opaque
        self.isWeak = true
    }

    /// Reads one entity tag; nil where it is not spelled as one.
    public init?(_ value: some StringProtocol) {
        var text = Substring(value).trimmingBlanks()
        isWeak = text.hasPrefix("W/")
        if isWeak { text = text.dropFirst(2) }
        guard text.count >= 2, text.first == "\"", text.last == "\"" else { return nil }
        let opaque = text.dropFirst().dropLast()
        guard opaque.utf8.allSatisfy({ $0 == 0x21 || ($0 >= 0x23 && $0 != 0x7F) }) else { return nil }
        self.opaque = String(opaque)
    }

    /// Whether both are strong and equal: the only comparison that lets bytes be combined (RFC 9110 §8.8.3.2).
    public func matchesStrongly(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && matchesWeakly(other)
    }

    /// Whether both are equal, marked weak or not. The bytes are compared: strings alone would take two spellings of a
    /// letter for one.
    public func matchesWeakly(_ other: EntityTag) -> Bool { opaque.utf8.elementsEqual(other.opaque.utf8) }

    /// The tag as HTTP spells it.
    public var description: String { (isWeak ? "W/" : "") + "\"\(opaque)\"" }
}

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
