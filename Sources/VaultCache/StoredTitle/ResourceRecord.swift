import VaultCrypto
package import VaultModel
package import VaultStorage

/// The store's record of one resource, changed by one caller at a time.
///
/// Its throwing methods may block, so call them only on the pool.
package final class ResourceRecord: Sendable {
    package let id: ResourceID
    package let key: CacheKey
    let store: VaultStore
    private let imports: RunningImports
    /// The resource as the store has it. The lock is held while the store works.
    let stored = Locked<StoredResource?>(nil)
    /// The id of the representation being read, whether the store has it or refused it. It has its own lock, so that
    /// reading the id never waits.
    private let name = Locked<RepresentationID?>(nil)
    /// The place of the resource's bytes in a pack, if they lie in one. It has its own lock for the same reason.
    private let packed = Locked<PackPlace?>(nil)
    package let isRetired = Locked(false)
    /// The cache keys of the titles whose manifests led players to the resource. The resource joins these titles when
    /// it is first stored.
    package let playedTitles = Locked<[[UInt8]]>([])

    init(id: ResourceID, key: CacheKey, store: VaultStore, imports: RunningImports) {
        self.id = id
        self.key = key
        self.store = store
        self.imports = imports
    }

    /// The strong entity tag of the representation being read.
    var entityTag: EntityTag? { name.withLock { $0 }.map { EntityTag(strong: $0.hex) } }

    /// Loads the resource from the index.
    ///
    /// - Returns: the representation to read; nil if the store has none.
    func load() throws -> StoredRepresentation? {
        var resource = try store.index.resources.find(id)
        // Older versions of the vault did not record where bytes came from, but they fetched the resources that a
        // manifest names only from public addresses.
        if let read = resource, read.metadata.isDerived, read.serving?.info.information.privateHosts == nil {
            resource?.serving?.info.information.privateHosts = []
        }
        stored.withLock { [resource] in $0 = resource }
        name.withLock { $0 = resource?.serving?.id }
        packed.withLock { $0 = resource?.place }
        return resource?.serving
    }

    /// The place of the resource's bytes in a pack; nil if the resource has segments of its own.
    package var place: PackPlace? { packed.withLock(\.self) }

    /// The URL and fields of the last fetch, and the network addresses that the URL may lead to, as the index has them.
    var source: OriginURLs.Source? {
        guard let metadata = stored.withLock({ $0 })?.metadata, let url = try? MediaURL(metadata.url) else {
            return nil
        }
        return (url, metadata.fields, metadata.isDerived ? .publicOnly : .anywhere)
    }

    /// The mode set for this resource alone; nil if none is set, or if this version does not know the mode.
    var mode: VaultMode? { stored.withLock { $0?.metadata.mode } }

    /// Whether a manifest led a player to the resource. Reading this never waits for the store, which may read it
    /// itself.
    var isPlayedPart: Bool { !playedTitles.withLock(\.isEmpty) }

    /// Whether the resource is pinned, as loaded from the index or noted since then.
    var isPinned: Bool { stored.withLock { $0?.resourceClass } == .pinned }
    /// Whether the resource was requested by name, rather than only played.
    var isKept: Bool { stored.withLock { $0.map { $0.resourceClass != .cache } ?? false } }

    /// Sets or removes the resource's own mode, adding the resource if the vault does not have it.
    package func setMode(_ mode: VaultMode?, of source: OriginURLs.Source) throws {
        try stored.withLock { stored in
            guard !isRetired.withLock({ $0 }) else { throw Self.removed }
            guard mode != nil || stored != nil else { return }
            var resource = try stored ?? add(source)
            stored = resource
            try store.resources.setMode(mode, of: &resource)
            stored = resource
        }
    }

    /// Records that the origin still has the representation being read.
    func confirm(_ freshness: Freshness) throws {
        try changeServed { try store.resources.confirm(freshness, of: &$0) }
    }

    /// Records the URL at which the origin answered.
    func renew(_ source: OriginURLs.Source) throws {
        try stored.withLock { stored in
            guard var resource = stored else { return }
            let (url, isDerived) = (source.url.absoluteString, source.reach == .publicOnly)
            let metadata = resource.metadata
            guard metadata.url != url || metadata.fields != source.fields || metadata.isDerived != isDerived
            else { return }
            try store.resources.renew(&resource, url: url, fields: source.fields, isDerived: isDerived)
            stored = resource
        }
    }

    /// Begins a new representation, adding the resource if the vault does not have it.
    func begin(_ information: ContentInformation, _ freshness: Freshness, of source: OriginURLs.Source) throws {
        let begun = try start(information, freshness, of: source, id: nil)
        name.withLock { $0 = begun }
    }

    /// Makes the store accept a representation that it had refused, under the id with which it is being read.
    func takeIn(_ information: ContentInformation, _ freshness: Freshness?, of source: OriginURLs.Source) throws {
        guard let id = representation, stored.withLock({ $0?.serving?.id }) != id else { return }
        _ = try start(information, freshness, of: source, id: id)
    }

    private func start(
        _ information: ContentInformation, _ freshness: Freshness?, of source: OriginURLs.Source,
        id representation: RepresentationID?
    ) throws -> RepresentationID? {
        try stored.withLock { stored in
            guard !isRetired.withLock({ $0 }) else { throw Self.removed }
            try imports.requireNone(of: id)
            let new = NewRepresentation(information, freshness: freshness, id: representation)
            if var resource = stored, resource.place == nil {
                try store.resources.begin(new, of: &resource)
                stored = resource
            } else {
                // A new version of a file in a pack becomes a resource of its own.
                stored = try add(source, unpacking: stored, beginning: new)
                packed.withLock { $0 = nil }
            }
            return stored?.serving?.id
        }
    }

    private func add(
        _ source: OriginURLs.Source, unpacking packed: StoredResource? = nil, beginning first: NewRepresentation? = nil
    ) throws -> StoredResource {
        try imports.requireNone(of: id)
        return try store.resources.add(
            id, url: source.url.absoluteString, cacheKey: key.bytes, resourceClass: .cache, fields: source.fields,
            isDerived: source.reach == .publicOnly, partOf: playedTitles.withLock(\.self), unpacking: packed,
            beginning: first)
    }

    /// Marks the resource as removed, so that nothing more is written for it.
    package func retire() {
        isRetired.withLock { $0 = true }
        stored.withLock { $0 = nil }
    }

    /// The error for callers that still have a removed resource open.
    package static let removed = VaultError(.removed, "the resource was removed from the vault; open it again")

    /// Gives the representation being read an id that is not in the store.
    func useUnstoredID() throws {
        let id: RepresentationID = try SecureRandom.identifier("representation id")
        name.withLock { $0 = id }
    }

    /// Makes a representation that has durable bytes the one to read after a restart, if it is the newest.
    func serve(_ representation: RepresentationID) throws {
        try stored.withLock { stored in
            guard var resource = stored, resource.serving?.id == representation else { return }
            store.changes.note(id)
            try store.resources.serve(&resource)
            stored = resource
        }
    }

    /// Records newly learned facts about the representation.
    func learn(_ information: ContentInformation) throws {
        try changeServed { try store.resources.update(information, of: &$0) }
    }

    /// Changes the store's copy of the representation being read.
    ///
    /// A representation that the store refused does not overwrite the one that the store has.
    private func changeServed(_ change: (inout StoredResource) throws -> Void) throws {
        let read = name.withLock { $0 }
        try stored.withLock { stored in
            guard var resource = stored, resource.serving?.id == read else { return }
            try change(&resource)
            stored = resource
        }
    }

    /// Changes a cached resource's class to download, because the resource was requested by name.
    ///
    /// A part of a title then survives the title's removal, unless it lies in a pack.
    ///
    /// - Returns: whether the change becomes durable only with the next write to the index.
    func markAsDownload() throws -> Bool {
        guard let resource = stored.withLock({ $0 }) else { return false }
        if resource.place == nil, !resource.metadata.partOf.isEmpty, !resource.metadata.isOwn {
            try changeTitles(raisingTo: .download) { $0.isOwn = true }
            return false
        }
        guard resource.resourceClass == .cache else { return false }
        // The resource may have been pinned since it was loaded.
        try store.resources.setClass(.download, of: resource.id, only: .cache, isFollowed: true)
        noteClass(.download, only: .cache)
        return true
    }

    /// Adopts a class that was written to the index. May block.
    ///
    /// - Parameter only: as for ``ResourceTable/setClass(_:of:only:isFollowed:)``.
    package func noteClass(_ resourceClass: ResourceClass, only: ResourceClass?) {
        stored.withLock { stored in
            guard only == nil || stored?.resourceClass == only else { return }
            stored?.resourceClass = resourceClass
        }
    }

    /// The metadata that the index has for the resource; nil if the vault does not have the resource.
    package var metadata: ResourceMetadata? { stored.withLock { $0?.metadata } }

    /// Changes the metadata about the titles that the resource is or belongs to, if the vault has the resource.
    ///
    /// The parameters are those of the store's method of the same name.
    package func changeTitles(
        raisingTo resourceClass: ResourceClass? = nil, _ link: TitleLink? = nil,
        _ change: (inout ResourceMetadata) -> Void
    ) throws {
        try stored.withLock { stored in
            guard var resource = stored else { return }
            try store.resources.changeTitles(of: &resource, raisingTo: resourceClass, link, change)
            stored = resource
        }
    }

    /// Sets, replaces or removes the resource's cover, if the vault has the resource or can add it.
    ///
    /// - Parameter source: the source with which to add the resource if the vault does not have it; nil to do nothing
    ///   then.
    /// - Throws: as ``CoverRows/set(_:isOfFeed:of:)``.
    package func setCover(_ picture: [UInt8]?, adding source: OriginURLs.Source? = nil) throws {
        try stored.withLock { stored in
            guard source == nil || !isRetired.withLock({ $0 }) else { throw Self.removed }
            guard var resource = try stored ?? source.map({ try add($0) }) else { return }
            stored = resource
            try store.covers.set(picture, of: &resource)
            stored = resource
        }
    }

    /// Whether the resource can take a feed's picture as its cover, because it has no cover and has rows of its own.
    package var lacksCover: Bool {
        stored.withLock { stored in stored.map { $0.coverTag == nil && $0.place == nil } ?? false }
    }

    /// Makes a feed's picture the resource's cover, unless the resource has a cover by now.
    ///
    /// - Throws: as ``CoverRows/set(_:isOfFeed:of:)``.
    package func setFeedCover(_ picture: [UInt8]) throws {
        try stored.withLock { stored in
            guard var resource = stored, resource.coverTag == nil else { return }
            try store.covers.set(picture, isOfFeed: true, of: &resource)
            stored = resource
        }
    }

    /// The id of the representation being read.
    package var representation: RepresentationID? { name.withLock { $0 } }

    /// Begins a segment of a representation.
    ///
    /// - Throws: ``VaultError`` with code `changed` if the representation is no longer the newest.
    package func beginSegment(
        at start: Int64, of representation: RepresentationID, _ estimate: WriteEstimate
    ) throws -> SegmentWriter {
        do {
            return try store.segments.begin(at: start, of: try resource(reading: representation), estimate)
        } catch let error as VaultError where error.code == .changed {
            // The resource may just have been given another key. Read a pack's key again.
            if place != nil { _ = try load() }
            return try store.segments.begin(at: start, of: try resource(reading: representation), estimate)
        }
    }

    private func resource(reading representation: RepresentationID) throws -> StoredResource {
        try imports.requireNone(of: id)
        guard let resource = stored.withLock({ $0 }), resource.serving?.id == representation else {
            throw VaultError(.changed, "the content changed while it was being stored; open it again")
        }
        return resource
    }

    /// Opens a segment for reading.
    func reader(of segment: SegmentDescription) throws -> SegmentReader {
        guard let resource = stored.withLock({ $0 }), resource.mayHold(segment) else { throw SegmentFailure.missing }
        return try store.segments.reader(of: segment, resource: resource)
    }
}

// Calls that reseal or join segments; each may block. Writes to the resource wait for these calls, and are then sealed
// under the new key.
extension ResourceRecord {
    /// Gives the resource another key, once per reseal run.
    ///
    /// - Returns: whether segments are left to reseal; nil if the vault does not have the resource.
    package func beginReseal(run: Int64) throws -> Bool? {
        try stored.withLock { stored in
            guard var resource = stored else { return nil }
            let isLeft = try SegmentReseal(store).begin(&resource, run: run)
            stored = resource
            return isLeft
        }
    }

    /// Returns a batch of the segments that are left to reseal.
    package func resealTasks(limit: Int) throws -> [ResealTask] {
        guard let resource = stored.withLock({ $0 }) else { return [] }
        return try ResealRows(store.index).resealTasks(of: resource, limit: limit)
    }

    /// Reseals a segment.
    ///
    /// - Throws: as ``SegmentReseal/reseal(_:of:)``.
    package func reseal(_ task: ResealTask) throws -> [SegmentDescription]? {
        guard let resource = stored.withLock({ $0 }) else { return nil }
        return try SegmentReseal(store).reseal(task, of: resource)
    }

    /// Returns the segments to join now; nil if there are none.
    func neighbours(excluding excluded: Set<SegmentID>, isWhole: Bool) throws -> [SegmentDescription]? {
        guard let resource = stored.withLock({ $0 }) else { return nil }
        return try SegmentJoin(store).next(of: resource, excluding: excluded, isWhole: isWhole)
    }

    /// Joins segments.
    ///
    /// - Throws: as ``SegmentJoin/join(_:of:)``.
    func join(_ segments: [SegmentDescription]) throws -> SegmentDescription? {
        guard let resource = stored.withLock({ $0 }) else { return nil }
        return try SegmentJoin(store).join(segments, of: resource)
    }

    /// Removes the resource's older keys.
    ///
    /// - Returns: false if one of them is still needed; nil if the vault no longer has the resource.
    package func finishReseal() throws -> Bool? {
        try stored.withLock { stored in
            guard var resource = stored else { return nil }
            defer { stored = resource }
            return try SegmentReseal(store).finish(&resource)
        }
    }
}
