import VaultCrypto
import VaultModel
import VaultStorage

/// Says what needs a generation that was to go.
enum GenerationNeeds {
    /// How many titles are named.
    private static let most = 3

    /// The refusal with the names of some titles, without their queries; as it is where none needs it. Blocks.
    static func naming(_ generation: Int, in store: VaultStore, _ refusal: VaultError) -> VaultError {
        guard let ids = try? store.index.resources(wrappedBy: generation, limit: most + 1), !ids.isEmpty,
            generation != store.keyring.currentGeneration
        else { return refusal }
        let names = ids.prefix(most).map { name(of: $0, in: store) } + (ids.count > most ? ["others"] : [])
        return VaultError(refusal.code, "\(refusal.message); it is needed by \(names.joined(separator: ", "))")
    }

    private static func name(of id: ResourceID, in store: VaultStore) -> String {
        guard let resource = try? store.index.resource(id), let url = try? MediaURL(resource.metadata.url) else {
            return "a title that does not open, and so cannot be rewrapped: remove it"
        }
        return url.description
    }
}
