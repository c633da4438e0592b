public import VaultCache
public import VaultModel
import VaultStorage

/// The titles of a vault, and all its other resources: what the vault knows about them, and what it does with them.
public struct Titles: Sendable {
    let loaders: LoaderTable
    let downloads: DownloadQueue
    let pictures: PictureCache
    let backgroundTasks: BackgroundTasks
    /// The collections of the titles, while these matter.
    let marks: TitleMarks

    var store: VaultStore { loaders.environment.store }
    var pool: BlockingPool { loaders.environment.pool }
    private var names: ResourceNames { loaders.environment.names }

    /// Returns all resources. They are read page by page, in no meaningful order.
    public func resources() -> ResourceListing { ResourceListing(store: store, pool: pool, hasParts: true) }

    /// Returns the titles that a person would list: all resources except the parts of titles, which are not even read.
    public func list() -> ResourceListing { ResourceListing(store: store, pool: pool, hasParts: false) }

    /// Returns a summary of what the vault holds of a resource; nil if the vault does not know the resource.
    public func summary(of reference: MediaReference) async throws -> ResourceSummary? {
        try await summary(of: loaders.name(reference).id)
    }

    /// Returns the summary as ``summary(of:)-(MediaReference)`` does, for the resource with this URL.
    public func summary(of url: MediaURL) async throws -> ResourceSummary? {
        try await summary(of: MediaReference(url))
    }

    /// Returns a summary of what the vault holds of the resource with this id; nil if the vault does not have it.
    public func summary(of id: ResourceID) async throws -> ResourceSummary? {
        let store = store
        return try await pool.run { try store.summary(of: id) }
    }

    /// Returns the chapters that a title's held media state, in the order of time; empty if they state none, as the
    /// manifest of a title never does.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not know the resource; `integrity` if a byte does
    ///   not open.
    public func chapters(of reference: MediaReference) async throws -> [MediaChapter] {
        let (store, id) = (store, try await loaders.name(reference).id)
        return try await pool.run {
            guard let resource = try store.index.resources.find(id) else { throw reference.notHeld }
            return try MediaBytes(resource, in: store).map { try MediaTags(of: $0).chapters } ?? []
        }
    }

    /// Returns summaries of the titles with some ids, in the same order, without those that the vault does not have, or
    /// whose rows do not open.
    package func summaries(of ids: [TitleID]) async throws -> [ResourceSummary] {
        let store = store
        return try await pool.run {
            let found = try store.index.titleIDs.resources(Set(ids))
            // If no title has an id, the parts with it are found.
            let titles = ids.compactMap { id in
                found[id]?.first { $0.metadata.title != nil || $0.metadata.partOf.isEmpty }
            }
            return try store.summaries(of: titles)
        }
    }

    /// Returns a page of at most `limit` resources after a given one, without the parts of titles.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the limit is not positive; `storage` if the index cannot
    ///   be read.
    public func page(after last: ResourceID?, limit: Int) async throws -> ResourcePage {
        let (store, limit) = (store, try PageLimit.checked(limit))
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
        if !fields.fields.isEmpty { _ = try await loaders.name(reference) }
        return reference
    }

    /// Returns references to the titles with some ids, as ``reference(of:fields:)`` does for each. The rows of the titles
    /// are read together.
    package func references(of ids: [TitleID]) async throws -> [TitleID: MediaReference] {
        let names = names
        return try await pool.run { try names.references(storedAs: ids) }
    }

    /// Runs work that looks up many titles on one of the threads for blocking calls, so that it does not change threads
    /// for each of them.
    package func onOneThread<Result>(_ work: () async throws -> Result) async rethrows -> Result {
        try await withTaskExecutorPreference(pool, operation: work)
    }

    private func reference(storedAs id: TitleID) async throws -> MediaReference {
        let names = names
        return try await pool.run { try names.reference(storedAs: id) }
    }

    /// Returns the id of a title, whether or not the title is held.
    public func titleID(of reference: MediaReference) async throws -> TitleID {
        if let id = reference.titleID { return id }
        let id = try await loaders.name(reference).id
        let store = store
        return try await pool.run { try store.index.resources.find(id)?.titleID } ?? TitleID(of: id)
    }

    /// Returns the title id of a resource, even if the resource was removed.
    public func titleID(of id: ResourceID) async throws -> TitleID {
        let store = store
        return try await pool.run { try store.index.titleIDs.id(of: id) }
    }

    /// Returns a resource's id in this vault.
    public func id(of reference: MediaReference) async throws -> ResourceID { try await loaders.name(reference).id }

    /// Returns the titles to which a resource belongs as a part; the resource itself if it is a title, or part of none.
    public func containing(_ id: ResourceID) async throws -> [ResourceID] {
        let store = store
        return try await pool.run { try store.index.titles.named(for: id) }
    }

    /// Returns whether the vault has a title with this id.
    public func hasTitle(_ id: TitleID) async throws -> Bool {
        let store = store
        return try await pool.run { try !store.index.titleIDs.resources(id).isEmpty }
    }

    /// Returns the held ranges of a resource, in ascending order, if the reference is allowed to use them.
    ///
    /// - Throws: ``VaultError`` if the index cannot be read, or if the vault is closed.
    public func heldRanges(of reference: MediaReference) async throws -> [ByteRange] {
        let (loader, lease) = try await loaders.use(reference)
        defer { withExtendedLifetime(lease) {} }
        try await loader.ready()
        guard DerivedAccess(to: loader, for: reference).mayGive(loader.information) else { return [] }
        return try await summary(of: reference)?.held ?? []
    }

    /// Returns the held ranges of a resource, in ascending order: first as they are, and then each time that they have
    /// changed, because bytes were stored, removed, or found to be damaged.
    ///
    /// A loop that is slower than the changes gets only the newest ranges. The sequence goes on until its loop is left;
    /// if the vault is closed, it throws ``VaultError`` with code `closed`.
    public func heldRangeUpdates(of reference: MediaReference) -> ProgressSequence<[ByteRange]> {
        ProgressSequence(among: backgroundTasks) { [self] tell in
            let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            let changes = changes { wake.yield() }
            var last: [ByteRange]?
            wake.yield()
            for await _ in wakes {
                let news = changes.take()
                let id = try await id(of: reference)
                guard last == nil || news.isIncomplete || news.resources.contains(id) else { continue }
                let held: [ByteRange]
                do {
                    held = try await heldRanges(of: reference)
                } catch let error as VaultError where error.code == .removed {
                    // The resource is being removed right now.
                    held = []
                }
                if held != last { tell(held) }
                last = held
            }
            throw loaders.isOpen ? CancellationError() : VaultError.vaultClosed
        }
    }

    /// Returns the sources of a resource's latest answers. Running answers come first, then ended ones, the latest
    /// first.
    package func lastAnswers(of reference: MediaReference) async throws -> [AnswerTrace] {
        let id = try await loaders.name(reference).id
        return loaders.answers(of: id)
    }

    /// Removes a resource: its bytes, its metadata and its key, both from the index and from `catalog.backup`.
    ///
    /// A title is removed with all its parts, except for those that another title also needs.
    ///
    /// The resource's readers and downloads end with code `removed`, and it leaves the download queue, even if the
    /// vault does not hold any of it yet. It can be opened again as a new resource. For a minute, an earlier playback
    /// link to it opens nothing, unless the title is requested in another way, or another link to it is created. Its
    /// key is erased from the index and from `catalog.backup` at once, or together with the keys of resources that were
    /// removed within the last minute; see ``hasPendingErasure()``.
    ///
    /// - Returns: the size of the removed files in bytes.
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not hold the resource; `storage` or `diskFull` if
    ///   the queue cannot be changed, in which case nothing is removed; `storage` if the resource was removed but a
    ///   copy of its sealed key may remain. The vault then retries the erasure until it succeeds.
    @discardableResult
    public func remove(_ reference: MediaReference) async throws -> Int64 {
        try store.requireOwner(to: "removes titles")
        let resource = try await loaders.name(reference)
        // Remove its queue entries first, so that the queue does not fetch the removed title again.
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
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not know the resource; `inUse` if it is pinned with
    ///   its collection.
    public func unpin(_ reference: MediaReference) async throws {
        try store.requireOwner(to: "pins and unpins titles")
        guard let summary = try await summary(of: reference) else { throw reference.notHeld }
        if let id = summary.id, marks.rule(of: id).isPinned {
            throw VaultError(
                .inUse,
                "the title \(id) is pinned with its collection; unpin the collection, or move the title out of it")
        }
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
        try store.requireOwner(to: "renames titles")
        let cleaned = name.flatMap(MediaName.cleaned)
        try await change(reference) { $0.name = cleaned }
    }

    /// Changes what the metadata of a resource record about it as a title.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not know the resource.
    func change(
        _ reference: MediaReference, _ change: @escaping @Sendable (inout ResourceMetadata) -> Void
    ) async throws {
        let (loader, lease) = try await loaders.use(reference)
        defer { withExtendedLifetime(lease) {} }
        try await loader.ready()
        let record = loader.record
        guard record.metadata != nil else { throw reference.notHeld }
        try await pool.run { try record.changeTitles { change(&$0) } }
    }

    private func setClass(
        _ resourceClass: ResourceClass, of reference: MediaReference, only: ResourceClass? = nil
    ) async throws {
        try store.requireOwner(to: "pins and unpins titles")
        let (store, resource) = (store, try await loaders.name(reference))
        let id = resource.id
        try await loaders.requireOwnRows(of: resource)
        let reading = loaders.loader(of: id)
        let isKnown = try await pool.run {
            let isKnown = try store.resources.setClass(resourceClass, of: id, only: only)
            reading?.record.noteClass(resourceClass, only: only)
            return isKnown
        }
        guard isKnown else { throw reference.notHeld }
        try await TitleParts(loaders: loaders).setClass(resourceClass, of: resource, only: only)
        reading?.note(isPinned: resourceClass == .pinned)
    }

    /// Returns a resource's own mode; nil if the vault's mode applies.
    public func mode(of reference: MediaReference) async throws -> VaultMode? {
        try await summary(of: reference)?.mode
    }

    /// Sets or removes a resource's own mode.
    ///
    /// The change takes effect at once, even for current readers. The mode is removed with the resource. If the vault's
    /// own mode is stricter, that mode applies; see ``VaultMode``.
    ///
    /// - Throws: ``VaultError`` if it cannot be written, with code `owned` if this process is not the owner; `inUse` if
    ///   the resource has the mode of its collection.
    public func setMode(_ mode: VaultMode?, for reference: MediaReference) async throws {
        try store.requireOwner(to: "changes its modes")
        if !marks.rules.isEmpty {
            let id = try await titleID(of: reference)
            guard marks.rule(of: id).isKept(isPinned: true, mode: mode) else {
                throw VaultError(
                    .inUse,
                    "the title \(id) has the mode of its collection; change that, or move the title out of it")
            }
        }
        let (loader, lease) = try await loaders.use(reference)
        defer { withExtendedLifetime(lease) {} }
        try await loader.ready()
        let (record, names, source) = (loader.record, names, loader.origin.urls.current)
        try await pool.run {
            if let principal = record.key.principal { try names.note(principal) }
            try record.setMode(mode, of: source)
        }
        await loader.setMode(own: .some(mode))
    }

    /// Returns the mode in force for a resource.
    public func modeInForce(for reference: MediaReference) async -> VaultMode {
        VaultMode.inForce(vault: loaders.environment.mode.current, own: (try? await mode(of: reference)) ?? nil)
    }

    /// Returns the mode as ``mode(of:)-(MediaReference)`` does, for the resource with this URL.
    public func mode(of url: MediaURL) async throws -> VaultMode? { try await mode(of: MediaReference(url)) }

    /// Sets the mode as ``setMode(_:for:)-(_,MediaReference)`` does, for the resource with this URL.
    public func setMode(_ mode: VaultMode?, for url: MediaURL) async throws {
        try await setMode(mode, for: MediaReference(url))
    }
}
