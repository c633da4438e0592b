/// What removing a resource freed.
package struct RemovalDocument: Codable, Hashable, Sendable {
    /// The bytes of its files.
    package let bytes: Int64
}
