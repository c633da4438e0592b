/// What a keyring says of a generation beside its key.
package struct GenerationRecord: Hashable, Sendable {
    package let number: Int
    /// Seconds since 1970.
    package let created: Int64
    /// Whether its key is destroyed.
    package let isRetired: Bool
    /// How many backup files of the keyring hold its key.
    package let backups: Int

    init(_ generation: KeyringDocument.Generation) {
        number = Int(generation.number)
        created = generation.created
        isRetired = generation.key == nil
        backups = Int(generation.backups)
    }
}
