package import VaultModel
import VaultStorage

// Lists and summarizes the vault's resources, and reports changes to them.
extension Vault {
    /// Returns all resources. They are read page by page, in no meaningful order.
    public func resources() -> ResourceListing { ResourceListing(store: store, pool: pool, hasParts: true) }

    /// Returns the titles that a person would list: all resources except the parts of titles, which are not even read.
    public func titles() -> ResourceListing { ResourceListing(store: store, pool: pool, hasParts: false) }

    /// Returns a summary of what the vault holds of a resource; nil if the vault does not know the resource.
    public func summary(of reference: MediaReference) async throws -> ResourceSummary? {
        let store = store
        let id = try await name(reference).id
        return try await pool.run {
            try store.summary(of: id)
        }
    }

    /// Returns the summary as ``summary(of:)-(MediaReference)`` does, for the resource with this URL.
    public func summary(of url: MediaURL) async throws -> ResourceSummary? {
        try await summary(of: MediaReference(url))
    }

    /// Returns a page of at most `limit` resources after a given one, without the parts of titles.
    package func page(after last: ResourceID?, limit: Int) async throws -> ResourcePage {
        let store = store
        return try await pool.run {
            let rows = try store.index.resources.page(after: last, limit: limit, parts: false)
            let known = rows.compactMap(\.resource)
            return ResourcePage(
                resources: try store.summaries(of: known), damagedCount: rows.count - known.count,
                next: rows.count < limit ? nil : rows.last?.id)
        }
    }

    /// Starts listening for changes to resources and to their held bytes.
    ///
    /// - Parameter wake: called for each change, on the thread that makes the change. It must only forward the signal.
    package func changes(_ wake: @escaping @Sendable () -> Void) -> ResourceChanges {
        ResourceChanges(store.changes, wake: wake)
    }

    /// Returns a resource's id in this vault.
    package func id(of reference: MediaReference) async throws -> ResourceID { try await name(reference).id }

    /// Returns a summary of what the vault holds of the resource with this id; nil if the vault does not have it.
    package func summary(of id: ResourceID) async throws -> ResourceSummary? {
        let store = store
        return try await pool.run { try store.summary(of: id) }
    }

    /// Returns a reference to the title with an id. The reference can be passed to any method that takes one.
    ///
    /// It names exactly the stored title, with the URL or content id and the user for whom it was stored, regardless of
    /// the key policy.
    ///
    /// - Parameters:
    ///   - id: the title's id.
    ///   - fields: the request header fields for its origin; empty to use those with which it was stored.
    /// - Throws: ``VaultError`` with code `notHeld` if the vault has no such title, or has it for a user other than the
    ///   one that the fields stand for; `invalidArgument` if two titles have the id, which is rare.
    public func reference(of id: TitleID, fields: HeaderFields = HeaderFields()) async throws -> MediaReference {
        var reference = try await reference(storedAs: id)
        reference.fields = fields
        if !fields.fields.isEmpty { _ = try await name(reference) }
        return reference
    }

    private func reference(storedAs id: TitleID) async throws -> MediaReference {
        let names = names
        return try await pool.run { try names.reference(storedAs: id) }
    }

    /// Returns the path and query of a playback link for a reference, as
    /// ``TokenIssuer/playbackPath(for:expires:)-(MediaReference,_)`` does.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if no link can name the title with the reference's id. A
    ///   link contains the title's URL, and the key policy may have been changed to give that URL another name.
    package func playbackPath(for reference: MediaReference, expires: Int64) async throws -> String {
        let path = try tokens.playbackPath(for: reference, expires: expires)
        // A caller who requests a link to a title that was just removed wants the title back.
        let removed = loaders.environment.removed
        if !removed.isEmpty { removed.end(try await name(reference).id) }
        guard let id = reference.titleID else { return path }
        var linked = reference
        (linked.titleID, linked.stored) = (nil, nil)
        guard try await name(linked).id == name(reference).id else {
            throw VaultError(
                .invalidArgument,
                "no link can name the title with the id \(id), because the key policy has changed since it was stored; "
                    + "change it back, or fetch the title's URL again")
        }
        return path
    }

    /// Returns the title id of a resource, even if the resource was removed.
    package func titleID(of id: ResourceID) async throws -> TitleID {
        let store = store
        return try await pool.run { try store.index.titleIDs.id(of: id) }
    }

    /// Returns the titles to which a resource belongs as a part; the resource itself if it is a title, or part of none.
    package func titles(of id: ResourceID) async throws -> [ResourceID] {
        let store = store
        return try await pool.run { try store.index.titles.named(for: id) }
    }

    /// Returns the sources of a resource's latest answers. Running answers come first, then ended ones, the latest
    /// first.
    package func lastAnswers(of reference: MediaReference) async throws -> [AnswerTrace] {
        let id = try await name(reference).id
        let running = loader(of: id)?.look { $0.runningTraces } ?? []
        return running.map { AnswerTrace(ended: nil, trace: $0) } + answers.answers(of: id)
    }
}

// Retains and removes resources by reference.
extension Vault {
    /// Removes a resource: its bytes, its metadata and its key, both from the index and from `catalog.backup`.
    ///
    /// A title is removed with all its parts, except for those that another title also needs.
    ///
    /// The resource's readers and downloads end with code `removed`, and it leaves the download queue, even if the
    /// vault holds nothing of it yet. It can be opened again as a new resource. For a minute, an earlier playback link
    /// to it opens nothing, unless the title is requested in another way, or another link to it is created. Its key is
    /// erased from the index and from `catalog.backup` at once, or together with the keys of resources that were
    /// removed within the last minute; see ``hasPendingErasure()``.
    ///
    /// - Returns: the size of the removed files in bytes.
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not hold the resource; `storage` or `diskFull` if
    ///   the queue cannot be changed, in which case nothing is removed; `storage` if the resource was removed but a
    ///   copy of its sealed key may remain. The vault then retries the erasure until it succeeds.
    @discardableResult
    public func remove(_ reference: MediaReference) async throws -> Int64 {
        try requireOwner(to: "removes titles")
        let resource = try await name(reference)
        // Empty the queue first, so that the removed title is not fetched again, whatever happens in between.
        try await downloads.forget(resource)
        return try await loaders.remove(resource, byOwner: true) { store, id in try store.resources.remove(id) }
    }

    /// Returns whether the key of a removed resource may still be in the index, its log or `catalog.backup`.
    ///
    /// The key is erased within a minute, or when the vault is closed. If that fails, the next owner erases it.
    public func hasPendingErasure() async throws -> Bool {
        let store = store
        return try await pool.run { try store.erasure.isPending() }
    }

    /// Exempts a resource, or a title with all its parts, from all limits. Missing bytes are stored when they are read
    /// or downloaded.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not know the resource.
    public func pin(_ reference: MediaReference) async throws { try await setClass(.pinned, of: reference) }

    /// Makes a resource subject to the limits again. If it is complete, or is a title that was fetched, it is treated
    /// as a download (``StorageLimits/evictsDownloads``), otherwise as merely played. A resource that is not pinned is
    /// not changed.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not know the resource.
    public func unpin(_ reference: MediaReference) async throws {
        try requireOwner(to: "pins and unpins titles")
        guard let summary = try await summary(of: reference) else { throw reference.notHeld }
        // A manifest can be complete although its title is not.
        let isDownload = summary.isManifest ? summary.title != nil : summary.isComplete
        try await setClass(isDownload ? .download : .cache, of: reference, only: .pinned)
    }

    /// Sets the display name of a resource, or of the title whose manifest it is; nil or an empty name removes the
    /// name.
    ///
    /// The name is sealed like everything else about a resource. It is kept if the resource is fetched again.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not know the resource; `owned` if this process is
    ///   not the owner.
    public func setName(_ name: String?, of reference: MediaReference) async throws {
        try requireOwner(to: "renames titles")
        let (loader, lease) = try await use(reference)
        defer { withExtendedLifetime(lease) {} }
        try await loader.ready()
        let record = loader.record
        guard record.metadata != nil else { throw reference.notHeld }
        let cleaned = name.flatMap(MediaName.cleaned)
        try await pool.run { try record.changeTitles { $0.name = cleaned } }
    }

    private func setClass(
        _ resourceClass: ResourceClass, of reference: MediaReference, only: ResourceClass? = nil
    ) async throws {
        try requireOwner(to: "pins and unpins titles")
        let (store, resource) = (store, try await name(reference))
        let id = resource.id
        try await loaders.requireOwnRows(of: resource)
        let reading = loader(of: id)
        let isKnown = try await pool.run {
            let isKnown = try store.resources.setClass(resourceClass, of: id, only: only)
            reading?.record.noteClass(resourceClass, only: only)
            return isKnown
        }
        guard isKnown else { throw reference.notHeld }
        try await TitleParts(loaders: loaders).setClass(resourceClass, of: resource, only: only)
        reading?.change { state in
            state.isPinned = resourceClass == .pinned
            return Effects()
        }
    }

    /// Removes what exceeds the limits, once.
    ///
    /// Resources that were merely played, and not read for the maximum age, are removed first. If the size is still
    /// exceeded, merely played resources are removed before downloads, and downloads only if the limits allow it.
    /// Pinned titles and titles in use are kept.
    ///
    /// - Parameters:
    ///   - limits: the limits to apply; nil for those in force, as far as they can be kept.
    ///   - isDryRun: whether to report what would be removed without removing it.
    /// - Throws: ``VaultError`` with code `owned` if this process is not the owner; `invalidArgument` if the size could
    ///   be kept only by removing pinned titles or downloads, in which case nothing is removed.
    public func prune(_ limits: StorageLimits? = nil, isDryRun: Bool = false) async throws -> PruneReport {
        try await quota.prune(limits, isDryRun: isDryRun)
    }

    /// Returns the number of bytes to keep free on the disk if no setting states one; nil if the system does not report
    /// the size of the disk.
    package func standardFree() async throws -> Int64? {
        let store = store
        return try await pool.run { store.quota.standardFree }
    }

    /// Returns what the limits would evict next. None of it is evicted until a limit is reached.
    ///
    /// - Parameter limit: the maximum number of candidates, from 1 to ``EvictionForecast/most``.
    /// - Throws: ``VaultError`` with code `invalidArgument` if `limit` is out of bounds; `owned` if this process is
    ///   not the owner; `storage` if the index cannot be read.
    package func evictionForecast(limit: Int) async throws -> EvictionForecast {
        guard (1...EvictionForecast.most).contains(limit) else {
            throw VaultError(.invalidArgument, "the limit must be between 1 and \(EvictionForecast.most)")
        }
        try store.requireOwner(to: "knows what it evicts next")
        let (store, limits) = (store, try await quota.limitsInForce())
        return try await pool.run {
            let evicted: Set<ResourceClass> = limits.evictsDownloads == true ? [.cache, .download] : [.cache]
            let classes = try SegmentRows(store.index).fileBytesByClass()
            let next = try store.quota.next(limit, of: evicted).compactMap { candidate in
                try store.summary(of: candidate.resource).map {
                    EvictionForecast.Candidate(summary: $0, bytes: candidate.bytes)
                }
            }
            return EvictionForecast(
                used: store.quota.used,
                classes: (classes[.pinned] ?? 0, classes[.download] ?? 0, classes[.cache] ?? 0),
                free: store.quota.freeBytes, limits: limits, next: next)
        }
    }

    /// Returns a stream that reports when bytes begin to pass through unstored, when all are stored again, and
    /// evictions. It ends when the vault is closed.
    public func storeEvents() -> AsyncStream<StoreEvent> { quota.events() }

    /// Reports the evictions that have not been reported yet, and ends the streams of ``storeEvents()``.
    package func endStoreEvents() { quota.end() }

    /// Returns the evictions that have not been reported yet, without sending them to the listeners.
    package func takeEvictions() -> StoreEvent? { quota.takeEvictions() }
}
