import VaultCache
import VaultModel
import VaultStorage

/// Finds the resources that belong to a title, and performs operations on all of them.
///
/// A resource that was never fetched as a title has no parts. Methods that throw may block.
struct TitleParts: Sendable {
    let loaders: LoaderTable

    private var store: VaultStore { loaders.environment.store }
    private var pool: BlockingPool { loaders.environment.pool }

    /// Returns the parts of the title whose manifest is this resource.
    func parts(of resource: NamedResource) async throws -> [TitlePart] {
        let store = store
        return try await pool.run { try store.index.titles.parts(of: resource.id) }
    }

    /// Changes the class of a title's parts. Parts that also belong to another, pinned title stay pinned.
    func setClass(_ resourceClass: ResourceClass, of resource: NamedResource, only: ResourceClass? = nil) async throws {
        let (store, loaders) = (store, loaders)
        let changed = try await pool.run {
            let ids = try store.resources.setClass(resourceClass, ofPartsOf: resource.id, only: only)
            let changed = ids.flatMap(loaders.loaders(reading:))
            for loader in changed { loader.record.noteClass(resourceClass, only: nil) }
            return changed
        }
        for loader in changed { loader.note(isPinned: resourceClass == .pinned) }
    }
}
