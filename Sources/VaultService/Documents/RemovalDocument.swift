/// What removing a resource freed.
package struct RemovalDocument: Codable, Hashable, Sendable {
    /// The bytes of its files.
    package let bytes: Int64
    /// Whether its key is erased already: else it is within a minute, or when the vault is closed. Nil where a service does
    /// not say.
    package var isErased: Bool?

    private enum CodingKeys: String, CodingKey {
        case bytes
        case isErased = "erased"
    }
}
