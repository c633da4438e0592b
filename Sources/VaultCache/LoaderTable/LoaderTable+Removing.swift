package import VaultModel
import VaultStorage

// Removing what was only played, and ending imports.
extension LoaderTable {
    /// Removes a resource that was only played, so that the next request asks its origin again.
    ///
    /// - Returns: false if the resource stays, because it was fetched or pinned, or is a file in a title's pack.
    package func removeIfOnlyPlayed(_ resource: NamedResource, _ loader: ResourceLoader) async throws -> Bool {
        let (store, id) = (loader.store, resource.id)
        let isOnlyPlayed = try await loader.pool.run {
            try store.index.resources.find(id).map { $0.resourceClass == .cache && $0.place == nil } ?? true
        }
        guard isOnlyPlayed else { return false }
        do {
            _ = try await remove(resource) { store, id in try store.resources.remove(id) }
        } catch let error as VaultError where error.code == .notHeld {
            // Nothing of the resource was stored. Removing its loader discards what else was known about it.
            remove(id)
        }
        return true
    }

    /// Ends all imports and allows no new ones.
    ///
    /// - Parameter refusal: the error for new imports; nil to use `reason`.
    package func endImports(because reason: VaultError, refusing refusal: VaultError? = nil) async {
        let imports = environment.imports
        try? await environment.pool.run { imports.end(because: reason, refusing: refusal ?? reason) }
    }
}
