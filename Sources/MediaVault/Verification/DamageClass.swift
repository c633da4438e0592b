/// The kinds of damage that ``Vault/verify(_:)`` tells apart.
public enum DamageClass: String, Hashable, CaseIterable, Codable, CodingKeyRepresentable, Sendable {
    /// The file of a segment is not there.
    case missing
    /// The file of a segment is longer or shorter than its row says.
    case size
    /// The header of a file is damaged, or another segment's.
    case header
    /// The header is the segment's, but sealed under another key than its row says.
    case key
    /// A block fails its tag or is cut short; also one that failed earlier and was not fetched anew.
    case block
    /// A row of a segment says what cannot be, or names bytes that another one holds.
    case row
    /// The rows of a resource fail their tags: nothing of it can be opened.
    case resource
    /// The vault's settings fail their tag.
    case settings
}
