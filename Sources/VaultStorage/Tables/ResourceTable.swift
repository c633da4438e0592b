import VaultCrypto
package import VaultModel

/// The resources: what is recorded about them apart from their segments.
///
/// ``VaultIndex/resources`` reads the same rows.
package struct ResourceTable {
    let store: VaultStore

    // MARK: Adding and removing

    /// Adds a resource.
    ///
    /// - Parameters:
    ///   - titles: the cache keys of the titles that the resource is a part of. Titles that the vault does not have are
    ///     left out.
    ///   - packed: the file in a pack that the resource replaces. The resource gets its class, titles and mode.
    ///   - first: the representation to begin in the same transaction.
    package func add(
        _ id: ResourceID, url: String, cacheKey: [UInt8], resourceClass: ResourceClass, fields: OriginFields? = nil,
        isDerived: Bool = false, partOf titles: [[UInt8]] = [], unpacking packed: StoredResource? = nil,
        beginning first: NewRepresentation? = nil
    ) throws -> StoredResource {
        var metadata = ResourceMetadata(url: url, cacheKey: cacheKey, created: store.index.now())
        metadata.fields = fields
        metadata.isDerived = isDerived
        metadata.mode = packed?.metadata.mode
        metadata.partOf = try packed?.metadata.partOf ?? store.index.titles.known(titles, except: id)
        let representation = try first.map { try StoredRepresentation($0, sequence: 1, now: store.index.now()) }
        defer { store.changes.note(id) }
        return try store.mutate { index in
            try index.resources.add(
                id, metadata: metadata, resourceClass: packed?.resourceClass ?? resourceClass, now: store.index.now(),
                isUnpacked: packed != nil, beginning: representation)
        }
    }

    /// Adds an empty pack to a title.
    ///
    /// Each fetch of a title that stores small files begins a pack of its own, so that no offset in a pack is ever used
    /// for two different files. A row that is restored after a removal therefore names its own bytes, or none.
    ///
    /// - Parameters:
    ///   - title: the cache key of the title's manifest.
    ///   - url: the URL of the manifest.
    ///   - resourceClass: the class of the title.
    /// - Throws: ``VaultError`` with code `removed` if the vault does not have the title, because nothing would ever
    ///   remove the pack.
    package func addPack(
        of title: [UInt8], url: String, resourceClass: ResourceClass
    ) throws -> StoredResource {
        let key = ResourceMetadata.packKey(try SecureRandom.bytes(16, "pack"))
        guard let id = store.keyring.resourceID(cacheKey: key, locator: store.index.locator),
            let titleID = store.keyring.resourceID(cacheKey: title, locator: store.index.locator)
        else { throw IndexError.damaged }
        var metadata = ResourceMetadata(url: url, cacheKey: key, created: store.index.now())
        metadata.partOf = [title]
        let content = ContentInformation(length: nil, type: nil, validators: Validators(), supportsRanges: true)
        let representation = try StoredRepresentation(NewRepresentation(content), sequence: 1, now: store.index.now())
        defer { store.changes.note(id) }
        return try store.mutate { index in
            try index.resources.add(
                id, metadata: metadata, resourceClass: resourceClass, now: store.index.now(), of: titleID,
                beginning: representation)
        }
    }

    /// Removes a resource with all its held bytes, its metadata and its keys. If it is a title, also removes the parts
    /// that belong only to it.
    ///
    /// The metadata and keys are also erased from the index's log and from `catalog.backup`. If there was an erasure
    /// within the last minute, this one is left pending; see ``KeyErasure/isPending()``.
    ///
    /// - Returns: the disk space of the resource's files in bytes; nil if there is no such resource.
    /// - Throws: ``VaultError`` if a copy of the sealed key may remain; erasing is retried until no copy remains.
    package func remove(_ id: ResourceID) throws -> Int64? {
        let removed = try store.withDiskSpace(orReserve: true) { try store.index.resources.remove(id) }
        guard let segments = removed else { return nil }
        store.noteChange()
        store.changes.note(id)
        store.quota.account.track(segments)
        // Files that cannot be removed now remain listed as pending deletions.
        _ = try? store.removal.removeFiles(of: segments.map(\.id))
        do {
            if store.erasure.isDue { try store.erasure.carryOut() }
        } catch {
            throw VaultError(
                .storage,
                "the resource was removed, but its sealed key may remain in the index, its log or catalog.backup; "
                    + "erasing it is retried every minute: \(error)")
        }
        return segments.reduce(0) { $0 + $1.diskSize }
    }

    // MARK: Representations

    /// Begins a new representation of a resource.
    ///
    /// The bytes that are already held of the resource are kept until the new representation has bytes to serve; see
    /// ``serve(_:)``.
    package func begin(_ new: NewRepresentation, of resource: inout StoredResource) throws {
        let sequence = (resource.serving?.info.sequence ?? 0) + 1
        let representation = try StoredRepresentation(new, sequence: sequence, now: store.index.now())
        try store.mutate { index in try index.representations.add(representation, to: resource) }
        let isFirst = resource.serving == nil
        resource.serving = representation
        if isFirst || new.information.length == 0 { try serve(&resource) }
    }

    /// Makes the representation that was begun last the serving one, which is read even after a restart.
    ///
    /// The segments of earlier representations become pending deletions.
    package func serve(_ resource: inout StoredResource) throws {
        guard let serving = resource.serving, resource.metadata.serving != serving.id else { return }
        resource.metadata = try store.mutate { index in try index.representations.serve(serving.id, of: resource) }
        store.changes.note(resource.id)
        try store.removal.finish()
    }

    /// Writes new information about the serving representation.
    package func update(_ information: ContentInformation, of resource: inout StoredResource) throws {
        guard var serving = resource.serving else { return }
        serving.info.information = information
        try store.mutate { index in try index.representations.update(serving.info, of: serving.id, resource: resource) }
        store.changes.note(resource.id)
        resource.serving = serving
    }

    /// Records that the serving representation was found to be current.
    package func confirm(_ freshness: Freshness, of resource: inout StoredResource) throws {
        guard var serving = resource.serving else { return }
        serving.info.freshness = freshness
        try store.mutate { index in try index.representations.update(serving.info, of: serving.id, resource: resource) }
        resource.serving = serving
    }

    // MARK: Classes, modes and titles

    /// Changes the class of a resource, which determines how long it is kept.
    ///
    /// The parameters are those of ``ResourceRows/setClass(_:of:only:isFollowed:)``.
    ///
    /// - Returns: whether there is such a resource.
    @discardableResult
    package func setClass(
        _ resourceClass: ResourceClass, of id: ResourceID, only: ResourceClass? = nil, isFollowed: Bool = false
    ) throws -> Bool {
        defer { store.changes.note(id) }
        return try store.mutate { index in
            try index.resources.setClass(resourceClass, of: id, only: only, isFollowed: isFollowed)
        }
    }

    /// Changes the class of all parts of a title. Parts of another title that is pinned stay pinned.
    ///
    /// - Returns: the parts whose class has changed.
    package func setClass(
        _ resourceClass: ResourceClass, ofPartsOf title: ResourceID, only: ResourceClass? = nil
    ) throws -> [ResourceID] {
        let ids = try store.mutate { index in try index.titles.setClass(resourceClass, ofPartsOf: title, only: only) }
        store.changes.note(ids)
        return ids
    }

    /// Sets a resource's own mode; nil removes it.
    package func setMode(_ mode: VaultMode?, of resource: inout StoredResource) throws {
        var metadata = resource.metadata
        metadata.mode = mode
        try store.mutate { index in try index.resources.write(metadata, of: resource) }
        store.changes.note(resource.id)
        resource.metadata = metadata
    }

    /// Changes what a resource's metadata records about it as a title, or about the titles that it is a part of.
    ///
    /// - Parameters:
    ///   - resourceClass: the lowest class that the resource may have afterwards; nil for no change.
    ///   - link: the title that the resource joins or leaves, as `change` records it in the metadata; nil for neither.
    package func changeTitles(
        of resource: inout StoredResource, raisingTo resourceClass: ResourceClass? = nil, _ link: TitleLink? = nil,
        _ change: (inout ResourceMetadata) -> Void
    ) throws {
        var metadata = resource.metadata
        change(&metadata)
        let changed = metadata
        try store.mutate { index in try index.resources.write(changed, of: resource, raisingTo: resourceClass, link) }
        store.changes.note(resource.id)
        resource.metadata = metadata
    }

    /// Records the URL and the request fields with which a resource was last fetched.
    package func renew(
        _ resource: inout StoredResource, url: String, fields: OriginFields?, isDerived: Bool = false
    ) throws {
        var metadata = resource.metadata
        metadata.url = url
        metadata.fields = fields
        metadata.isDerived = isDerived
        try store.index.resources.write(metadata, of: resource)
        store.noteChange()
        store.changes.note(resource.id)
        resource.metadata = metadata
    }

    // MARK: Access times

    /// Records that resources were read in this hour.
    package func touch(_ ids: [ResourceID]) throws {
        guard store.isOwner, !ids.isEmpty else { return }
        try store.index.resources.touch(ids, now: store.index.now())
        store.changes.noteAccess(to: ids)
    }

    /// Sets the last-access times from `first` through `last`, which came from a wrong wall clock, to `time`.
    package func correctAccessTimes(from first: Int64, through last: Int64, to time: Int64) throws {
        guard store.isOwner else { return }
        try store.index.resources.moveAccessTimes(from: first, through: last, to: time)
        store.changes.noteAll()
    }
}
