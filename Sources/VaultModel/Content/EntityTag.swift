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
