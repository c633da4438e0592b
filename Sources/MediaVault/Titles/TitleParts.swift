import VaultModel
import VaultStorage

/// Which resources belong to a title, and what is done with all of them.
///
/// A resource that was never fetched as a title has no parts. Calls that throw may block.
struct TitleParts: Sendable {
    let loaders: LoaderTable

    private var store: VaultStore { loaders.environment.store }
    private var pool: BlockingPool { loaders.environment.pool }

    /// How often parts are searched for: a running download may add some meanwhile.
    private static let maxRounds = 3

    /// Returns the parts of the title that a resource is the manifest of.
    func parts(of resource: NamedResource) async throws -> [TitlePart] {
        let store = store
        return try await pool.run { try store.index.parts(of: resource.id) }
    }

    /// Changes the class of the parts of a title. Those of another title that is pinned stay pinned.
    func setClass(_ resourceClass: ResourceClass, of resource: NamedResource, only: ResourceClass? = nil) async throws {
        let store = store
        let ids = try await pool.run { try store.setClass(resourceClass, ofPartsOf: resource.id, only: only) }
        for loader in ids.flatMap(loaders.loaders(reading:)) {
            loader.change { state in
                state.isPinned = resourceClass == .pinned
                return Effects()
            }
        }
    }

    /// Removes the parts of a title; those that belong to another title, too, stay for that one.
    ///
    /// A download of the title ends. The manifest stays, so that an interrupted removal can be finished.
    ///
    /// - Returns: the size of the removed files in bytes.
    func remove(of resource: NamedResource) async throws -> Int64 {
        var bytes: Int64 = 0
        for round in 1...Self.maxRounds {
            let parts = try await parts(of: resource)
            guard !parts.isEmpty else { break }
            if round == 1, let loader = loaders.loader(of: resource.id) {
                let record = loader.record
                try await pool.run { record.retire() }
            }
            for part in parts { bytes += try await remove(part, of: resource) }
        }
        return bytes
    }

    private func remove(_ part: TitlePart, of title: NamedResource) async throws -> Int64 {
        let store = store
        guard let stored = try await pool.run({ try Self.stored(part, in: store) }) else { return 0 }
        // What is removed is named by a sealed record, not only by a row.
        if part.isOnlyHere, stored.metadata.partOf.contains(title.key.bytes) {
            return try await loaders.remove(loaders.environment.names.name(stored)) { store, id in
                try store.remove(id)
            }
        }
        let (loader, lease) = try loaders.use(stored)
        defer { withExtendedLifetime(lease) {} }
        try await loader.ready()
        let record = loader.record
        try await pool.run {
            try record.changeTitles(.leave(title.id)) { $0.partOf.removeAll { $0 == title.key.bytes } }
        }
        return 0
    }

    /// Returns what the index has of a part; nil if it is gone, or its rows do not open.
    private static func stored(_ part: TitlePart, in store: VaultStore) throws -> StoredResource? {
        do {
            return try store.index.resource(part.id)
        } catch let error as VaultError where error.code == .integrity {
            return nil
        }
    }
}

extension ResourceRecord {
    /// The title that the resource is the manifest of; nil if it was not fetched as one.
    var title: Title? { metadata?.title.flatMap { Title($0) } }

    /// Records that the resource is a part of a title. May block.
    ///
    /// - Parameters:
    ///   - title: the title's manifest.
    ///   - resourceClass: the class of the title, which its parts have at least.
    func join(_ title: NamedResource, as resourceClass: ResourceClass) throws {
        guard let resource = stored.withLock({ $0 }) else { return }
        let isIn = resource.metadata.partOf.contains(title.key.bytes)
        guard !isIn || (resource.resourceClass != resourceClass && resource.resourceClass != .pinned) else { return }
        try changeTitles(raisingTo: resourceClass, .join(title.id)) { metadata in
            if !isIn { metadata.partOf.append(title.key.bytes) }
        }
    }
}
