package import VaultModel
import VaultStorage

// What the vault holds: listings, summaries and changes.
extension Vault {
    /// Returns all resources, read page by page, in no meaningful order.
    public func resources() -> ResourceListing { ResourceListing(store: store, pool: pool, hasParts: true) }

    /// Returns what a person would list: all resources but the parts of titles, which are not even read.
    public func titles() -> ResourceListing { ResourceListing(store: store, pool: pool, hasParts: false) }

    /// Returns what the vault holds of a resource; nil if the vault does not know it.
    public func summary(of reference: MediaReference) async throws -> ResourceSummary? {
        let store = store
        let id = try await name(reference).id
        return try await pool.run {
            try store.summary(of: id)
        }
    }

    /// ``summary(of:)-(MediaReference)`` for the resource with this URL.
    public func summary(of url: MediaURL) async throws -> ResourceSummary? {
        try await summary(of: MediaReference(url))
    }

    /// Returns a page of at most `limit` resources without the parts of titles, after a given one.
    package func page(after last: ResourceID?, limit: Int) async throws -> ResourcePage {
        let store = store
        return try await pool.run {
            let rows = try store.index.resources(after: last, limit: limit, parts: false)
            let known = rows.compactMap(\.resource)
            return ResourcePage(
                resources: try store.summaries(of: known), damagedCount: rows.count - known.count,
                next: rows.count < limit ? nil : rows.last?.id)
        }
    }

    /// Listens for changes to resources and to which of their bytes are held.
    ///
    /// - Parameter wake: called for each change, on the thread that makes it; it must only forward the signal.
    package func changes(_ wake: @escaping @Sendable () -> Void) -> ResourceChanges {
        ResourceChanges(store.changes, wake: wake)
    }

    /// Returns the id of a resource in this vault.
    package func id(of reference: MediaReference) async throws -> ResourceID { try await name(reference).id }

    /// Returns what the vault holds of the resource with this id; nil if it has none.
    package func summary(of id: ResourceID) async throws -> ResourceSummary? {
        let store = store
        return try await pool.run { try store.summary(of: id) }
    }

    /// Returns a reference to the title with an id, for every call that takes one.
    ///
    /// It names exactly what is stored: under which URL or content id, and for which user, with whatever key policy.
    ///
    /// - Parameters:
    ///   - id: the id.
    ///   - fields: request fields for its origin; none to use those that it was stored with.
    /// - Throws: ``VaultError`` with code `notHeld` if the vault has no such title, or not for the user whom the fields
    ///   stand for; `invalidArgument` if two have the id, by a rare chance.
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

    /// Returns the path and query of a playback link for a reference, as ``TokenIssuer/playbackPath(for:expires:)-(MediaReference,_)``
    /// does.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if a link cannot name the title with the reference's id,
    ///   because a link has its URL, and the key policy gives that another name by now.
    package func playbackPath(for reference: MediaReference, expires: Int64) async throws -> String {
        let path = try tokens.playbackPath(for: reference, expires: expires)
        // Whoever wants a link to a title that was removed a moment ago wants the title.
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

    /// Returns the id by which people know a resource, also if it was removed.
    package func titleID(of id: ResourceID) async throws -> TitleID {
        let store = store
        return try await pool.run { try store.index.titleID(of: id) }
    }

    /// Returns the titles that a resource is a part of; itself if it is a title, or a part of none.
    package func titles(of id: ResourceID) async throws -> [ResourceID] {
        let store = store
        return try await pool.run { try store.index.titles(of: id) }
    }

    /// Returns the sources of the latest answers of a resource: running answers first, then ended ones, latest first.
    package func lastAnswers(of reference: MediaReference) async throws -> [AnswerTrace] {
        let id = try await name(reference).id
        let running = loader(of: id)?.look { $0.runningTraces } ?? []
        return running.map { AnswerTrace(ended: nil, trace: $0) } + answers.answers(of: id)
    }
}

// What is kept and what is removed, by name.
extension Vault {
    /// Removes a resource: its bytes, its metadata and its key, from the index and from `catalog.backup`.
    ///
    /// A title goes with all its parts, except for those that another title needs, too.
    ///
    /// Its readers and downloads end with code `removed`, and it leaves the download queue, also if the vault holds
    /// nothing of it yet. It can be opened again as a new resource; a playback link that was made before opens nothing of
    /// it for a minute, unless the title is asked for otherwise, or another link to it is made. Its key is erased
    /// from the index and from `catalog.backup` at once, or together with those of resources that were removed within
    /// the last minute: ``hasPendingErasure()``.
    ///
    /// - Returns: the size of the removed files in bytes.
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not hold the resource; `storage` or `diskFull` if
    ///   the queue cannot be changed: then nothing is removed; `storage` if it was removed but a copy of its sealed key may remain: erasing the key is tried again until it succeeds.
    @discardableResult
    public func remove(_ reference: MediaReference) async throws -> Int64 {
        try requireOwner(to: "removes titles")
        let resource = try await name(reference)
        // First, so that what was removed is not fetched again, whatever happens in between.
        try await downloads.forget(resource)
        return try await loaders.remove(resource, byOwner: true) { store, id in try store.remove(id) }
    }

    /// Returns whether the key of a removed resource may still be in the index, its log or `catalog.backup`.
    ///
    /// It is erased within a minute, or when the vault is closed; if that fails, by the next owner.
    public func hasPendingErasure() async throws -> Bool {
        let store = store
        return try await pool.run { try store.hasPendingErasure() }
    }

    /// Exempts a resource, or a title with all its parts, from all limits. What it lacks is stored as it is read or downloaded.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not know the resource.
    public func pin(_ reference: MediaReference) async throws { try await setClass(.pinned, of: reference) }

    /// Makes a resource subject to limits again. If it is complete, or a title that was fetched, it is treated as a
    /// download (``StorageLimits/evictsDownloads``), otherwise as merely played. A resource that is not pinned is not changed.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not know the resource.
    public func unpin(_ reference: MediaReference) async throws {
        try requireOwner(to: "pins and unpins titles")
        guard let summary = try await summary(of: reference) else { throw reference.notHeld }
        // That a manifest is complete says nothing of its title.
        let isDownload = summary.isManifest ? summary.title != nil : summary.isComplete
        try await setClass(isDownload ? .download : .cache, of: reference, only: .pinned)
    }

    /// Gives a resource, or the title that it is the manifest of, another name for people; nil or an empty one takes
    /// its name away.
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
            let isKnown = try store.setClass(resourceClass, of: id, only: only)
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

    /// Removes what exceeds limits, once.
    ///
    /// First what was merely played and has not been read for the maximum age; then, if the size is exceeded, what was
    /// merely played before downloads, and downloads only if the limits allow it. Pinned titles and titles in use are
    /// kept.
    ///
    /// - Parameters:
    ///   - limits: nil for the limits in force, as far as they can be kept.
    ///   - isDryRun: whether to report what would be removed without removing it.
    /// - Throws: ``VaultError`` with code `owned` if this process is not the owner; `invalidArgument` if the size could
    ///   only be kept by removing pinned titles or downloads: then nothing is removed.
    public func prune(_ limits: StorageLimits? = nil, isDryRun: Bool = false) async throws -> PruneReport {
        try await quota.prune(limits, isDryRun: isDryRun)
    }

    /// Returns the bytes to leave free if no setting says how many; nil if the system does not tell how large the disk is.
    package func standardFree() async throws -> Int64? {
        let store = store
        return try await pool.run { store.quota.standardFree }
    }

    /// Returns what the limits would evict next. Nothing of it is evicted before a limit is reached.
    ///
    /// - Parameter limit: the most candidates, from 1 to ``EvictionForecast/most``.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the limit is out of bounds; `owned` if this process is not
    ///   the owner; `storage`.
    package func evictionForecast(limit: Int) async throws -> EvictionForecast {
        guard (1...EvictionForecast.most).contains(limit) else {
            throw VaultError(.invalidArgument, "the limit must be between 1 and \(EvictionForecast.most)")
        }
        try store.requireOwner(to: "knows what it evicts next")
        let (store, limits) = (store, try await quota.limitsInForce())
        return try await pool.run {
            let evicted: Set<ResourceClass> = limits.evictsDownloads == true ? [.cache, .download] : [.cache]
            let classes = try store.index.fileBytesByClass()
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

    /// Reports when bytes begin to pass through unstored, when all are stored again, and evictions; ends with the
    /// vault.
    public func storeEvents() -> AsyncStream<StoreEvent> { quota.events() }

    /// Reports evictions that have not been reported yet, and ends the events.
    package func endStoreEvents() { quota.end() }

    /// Returns the evictions that have not been reported yet; listeners do not receive them.
    package func takeEvictions() -> StoreEvent? { quota.takeEvictions() }
}
