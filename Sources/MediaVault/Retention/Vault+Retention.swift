import VaultModel
import VaultStorage

// What stays and what goes, by name.
extension Vault {
    /// Removes a resource: its bytes, what is known of it, and its key, from the index and from `catalog.backup`.
    ///
    /// Readers and downloads of it end with code `removed`; who opens it from then on begins anew. Its key is erased from the
    /// index and from `catalog.backup` at once, or together with those that were removed within the last minute:
    /// ``owesErasure()``.
    ///
    /// - Returns: the bytes of the files that are gone.
    /// - Throws: ``VaultError`` with code `notHeld` where the vault knows nothing of it; `storage` where it is removed
    ///   but a copy of its sealed key may remain: that is tried again until it is gone.
    @discardableResult
    public func remove(_ reference: MediaReference) async throws -> Int64 {
        try requireOwner(to: "removes titles")
        return try await takeAway(reference) { store, id in try store.remove(id) }
    }

    /// Whether the key of something that was removed may still stand in the index, its log or `catalog.backup`. It is erased
    /// within a minute, or when the vault is closed; what could not be done then is done by the next owner.
    public func owesErasure() async throws -> Bool {
        let store = store
        return try await pool.run { try store.owesErasure() }
    }

    /// Ends all use of a resource, and has the store let go of it.
    ///
    /// - Parameter remove: takes it out of the store; blocks.
    /// - Returns: the bytes of the files that are gone.
    /// - Throws: ``VaultError`` with code `notHeld` where the vault knows nothing of it; what `remove` throws.
    func takeAway(
        _ reference: MediaReference, _ remove: @escaping @Sendable (VaultStore, ResourceID) throws -> Int64?
    ) async throws -> Int64 {
        let (store, id) = (store, try await name(reference).id)
        guard try await pool.run({ try store.index.hasResource(id) }) else { throw Self.unknown(reference) }
        let (loader, lease) = try await use(reference)
        loaders.withLock { $0[id]?.isRemoving = true }
        defer {
            loaders.withLock { $0[id] = nil }
            withExtendedLifetime(lease) {}
        }
        loader.end(with: ResourceRecord.removed)
        // A resource whose rows do not open can be removed, too.
        try? await loader.ready()
        await loader.settle()
        await loader.settleJoining()
        let record = loader.record
        let bytes = try await pool.run {
            record.retire()
            return try remove(store, id)
        }
        answers.forget(id)
        guard let bytes else { throw Self.unknown(reference) }
        return bytes
    }

    /// Keeps a resource for ever: no limit touches it. What it lacks is stored as it is read or downloaded.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` where the vault knows nothing of it.
    public func pin(_ reference: MediaReference) async throws { try await setClass(.pinned, of: reference) }

    /// Lets limits touch a resource again: one that is held whole like a download (``StorageLimits/evictsDownloads``), one that
    /// is not like what was merely played. One that is not pinned stays what it is.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` where the vault knows nothing of it.
    public func unpin(_ reference: MediaReference) async throws {
        try requireOwner(to: "changes what stays")
        guard let summary = try await summary(of: reference) else { throw Self.unknown(reference) }
        try await setClass(summary.isComplete ? .download : .cache, of: reference, only: .pinned)
    }

    private func setClass(
        _ resourceClass: ResourceClass, of reference: MediaReference, only: ResourceClass? = nil
    ) async throws {
        try requireOwner(to: "changes what stays")
        let (store, id) = (store, try await name(reference).id)
        let isKnown = try await pool.run { try store.setClass(resourceClass, of: id, only: only) }
        guard isKnown else { throw Self.unknown(reference) }
        loader(of: id)?.change { state in
            state.isPinned = resourceClass == .pinned
            return Effects()
        }
    }

    static func unknown(_ reference: MediaReference) -> VaultError {
        VaultError(.notHeld, "the vault knows nothing of \(reference.url); list shows what it knows")
    }
}

/// What pruning let go, or would let go.
public struct PruneReport: Hashable, Sendable {
    /// Titles that went whole, with all that was known of them.
    public let resources: Int
    /// Segment files that went.
    public let segments: Int
    /// The bytes of those files.
    public let bytes: Int64
    /// The bytes of segment files that are left.
    public let used: Int64
}
