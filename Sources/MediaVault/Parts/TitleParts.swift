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
        for loader in changed {
            loader.change { state in
                state.isPinned = resourceClass == .pinned
                return Effects()
            }
        }
    }
}

extension ResourceRecord {
    /// The title whose manifest is this resource; nil if the resource was not fetched as a title.
    var title: Title? { metadata?.title.flatMap { Title($0) } }

    /// Records that the resource is a part of a title. May block.
    ///
    /// - Parameters:
    ///   - title: the title's manifest.
    ///   - resourceClass: the title's class, to which the part is raised.
    func join(_ title: NamedResource, as resourceClass: ResourceClass) throws {
        guard let resource = stored.withLock({ $0 }) else { return }
        let isIn = resource.metadata.partOf.contains(title.key.bytes)
        // A person fetched or pinned the resource before any title named it, perhaps only a moment ago.
        let isOwn =
            try resource.metadata.partOf.isEmpty
            && store.index.resources.find(id).map { $0.resourceClass != .cache } ?? false
        guard !isIn || (resource.resourceClass != resourceClass && resource.resourceClass != .pinned) else { return }
        try changeTitles(raisingTo: resourceClass, .join(title.id)) { metadata in
            if !isIn { metadata.partOf.append(title.key.bytes) }
            if isOwn { metadata.isOwn = true }
        }
    }
}
