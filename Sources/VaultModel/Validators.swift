/// An entity tag (RFC 9110 §8.8.3).
public struct EntityTag: Hashable, Sendable, CustomStringConvertible {
    /// The text between the quotes.
    public let opaque: String
    /// Whether the tag is marked `W/`, so that equal tags mean equivalent content but perhaps not equal bytes.
    public let isWeak: Bool

    /// Creates a strong tag. `opaque` contains no quotation mark and no control character.
    public init(strong opaque: String) {
        self.opaque = opaque
        self.isWeak = false
    }

    /// Creates a weak tag. `opaque` contains no quotation mark and no control character.
    package init(weak opaque: String) {
        self.opaque = opaque
        self.isWeak = true
    }

    /// Parses one entity tag; nil if the text is not an entity tag.
    public init?(_ value: some StringProtocol) {
        var text = Substring(value).trimmingBlanks()
        isWeak = text.hasPrefix("W/")
        if isWeak { text = text.dropFirst(2) }
        guard text.count >= 2, text.first == "\"", text.last == "\"" else { return nil }
        let opaque = text.dropFirst().dropLast()
        guard opaque.utf8.allSatisfy({ $0 == 0x21 || ($0 >= 0x23 && $0 != 0x7F) }) else { return nil }
        self.opaque = String(opaque)
    }

    /// Returns whether both tags are strong and equal.
    ///
    /// This is the only comparison that allows bytes to be combined (RFC 9110 §8.8.3.2).
    public func matchesStrongly(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && matchesWeakly(other)
    }

    /// Returns whether both tags are equal, weak or not.
    ///
    /// The comparison is of bytes, because string comparison treats two spellings of a letter as equal.
    public func matchesWeakly(_ other: EntityTag) -> Bool { opaque.utf8.elementsEqual(other.opaque.utf8) }

    /// The tag as HTTP spells it.
    public var description: String { (isWeak ? "W/" : "") + "\"\(opaque)\"" }
}

/// The entity tag and the modification date by which an origin identifies one version of a resource.
public struct Validators: Hashable, Sendable {
    /// The entity tag, or nil if the origin sent none.
    public var entityTag: EntityTag?
    /// The `Last-Modified` value, byte for byte as the origin sent it; nil if the origin sent none.
    public var lastModified: String?

    /// Creates validators; omit a validator that the origin did not send.
    public init(entityTag: EntityTag? = nil, lastModified: String? = nil) {
        self.entityTag = entityTag
        self.lastModified = lastModified
    }

    /// The strong entity tag, or nil if there is none.
    public var strongTag: EntityTag? { entityTag.flatMap { $0.isWeak ? nil : $0 } }

    /// Whether these validators can distinguish two versions.
    public var canVerify: Bool { strongTag != nil || lastModified != nil }

    /// The value for `If-Range`: the strong tag, or else the date. A weak tag is not allowed (RFC 9110 §13.1.5).
    public var ifRange: String? { strongTag?.description ?? lastModified }

    /// Returns whether a response with the validators `other` belongs to the same version as these validators.
    ///
    /// Different tags, even weak ones, mean that the content changed; equal strong tags mean that it did not. Otherwise
    /// the dates must be equal, and the caller compares lengths. If neither side has anything to verify, the result is
    /// true, and the caller decides how long bytes without validators may be combined.
    public func agree(with other: Validators) -> Bool {
        if let mine = entityTag, let theirs = other.entityTag {
            guard mine.matchesWeakly(theirs) else { return false }
            if mine.matchesStrongly(theirs) { return true }
        }
        guard lastModified == other.lastModified else { return false }
        return lastModified != nil || (strongTag == nil && other.strongTag == nil)
    }

    /// The validators without the entity tag.
    package var withoutTag: Validators { Validators(lastModified: lastModified) }
}
