import VaultModel
import VaultStorage

// What is kept and what is removed, by name.
extension Vault {
    /// Removes a resource: its bytes, its metadata and its key, from the index and from `catalog.backup`.
    ///
    /// Its readers and downloads end with code `removed`; it can be opened again as a new resource. Its key is erased
    /// from the index and from `catalog.backup` at once, or together with those of resources that were removed within
    /// the last minute: ``hasPendingErasure()``.
    ///
    /// - Returns: the size of the removed files in bytes.
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not know the resource; `storage` if it was
    ///   removed but a copy of its sealed key may remain: erasing the key is tried again until it succeeds.
    @discardableResult
    public func remove(_ reference: MediaReference) async throws -> Int64 {
        try requireOwner(to: "removes titles")
        return try await loaders.remove(reference) { store, id in try store.remove(id) }
    }

    /// Returns whether the key of a removed resource may still be in the index, its log or `catalog.backup`.
    ///
    /// It is erased within a minute, or when the vault is closed; if that fails, by the next owner.
    public func hasPendingErasure() async throws -> Bool {
        let store = store
        return try await pool.run { try store.hasPendingErasure() }
    }

    /// Exempts a resource from all limits. What it lacks is stored as it is read or downloaded.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not know the resource.
    public func pin(_ reference: MediaReference) async throws { try await setClass(.pinned, of: reference) }

    /// Makes a resource subject to limits again. If it is complete, it is treated as a download
    /// (``StorageLimits/evictsDownloads``), otherwise as merely played. A resource that is not pinned is not changed.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not know the resource.
    public func unpin(_ reference: MediaReference) async throws {
        try requireOwner(to: "pins and unpins titles")
        guard let summary = try await summary(of: reference) else { throw reference.notHeld }
        try await setClass(summary.isComplete ? .download : .cache, of: reference, only: .pinned)
    }

    private func setClass(
        _ resourceClass: ResourceClass, of reference: MediaReference, only: ResourceClass? = nil
    ) async throws {
        try requireOwner(to: "pins and unpins titles")
        let (store, id) = (store, try await name(reference).id)
        let isKnown = try await pool.run { try store.setClass(resourceClass, of: id, only: only) }
        guard isKnown else { throw reference.notHeld }
        loader(of: id)?.change { state in
            state.isPinned = resourceClass == .pinned
            return Effects()
        }
    }
}

/// What pruning removed, or would remove.
public struct PruneReport: Hashable, Codable, Sendable {
    /// Titles removed completely, with their metadata.
    public let resources: Int
    /// Segment files removed.
    public let segments: Int
    /// The size of those files in bytes.
    public let bytes: Int64
    /// The size of the remaining segment files in bytes.
    public let used: Int64
}
