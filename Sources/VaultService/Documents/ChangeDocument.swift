/// What the vault holds of a resource that has changed: the event `resource`.
package struct ChangeDocument: Codable, Sendable {
    /// What names the resource in this vault: it says nothing about it.
    package let id: String
    package let resource: ResourceDocument
}
