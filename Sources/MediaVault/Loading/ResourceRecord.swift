import VaultCrypto
import VaultModel
import VaultStorage

/// What the store keeps of one resource, changed by one caller at a time. Calls that throw may block: only on the pool.
final class ResourceRecord: Sendable {
    let id: ResourceID
    let key: CacheKey
    let store: VaultStore
    /// Held while the store works.
    let stored = Locked<StoredResource?>(nil)
    /// The name of the representation that is read, the store's or one that it refused. Apart, so that asking never waits.
    private let name = Locked<RepresentationID?>(nil)
    let isRetired = Locked(false)

    init(id: ResourceID, key: CacheKey, store: VaultStore) {
        self.id = id
        self.key = key
        self.store = store
    }

    /// The strong tag of the representation that is read.
    var entityTag: EntityTag? { name.withLock { $0 }.map { EntityTag(strong: $0.hex) } }

    /// Reads what the index says.
    ///
    /// - Returns: the representation that is read, where the store has one.
    func load() throws -> StoredRepresentation? {
        let resource = try store.index.resource(id)
        stored.withLock { $0 = resource }
        name.withLock { $0 = resource?.serving?.id }
        return resource?.serving
    }

    /// By which address, and with which fields, the index says that the resource was last fetched, and where that may lie.
    var source: AddressBook.Source? {
        guard let metadata = stored.withLock({ $0 })?.metadata, let url = try? MediaURL(metadata.url) else {
            return nil
        }
        return (url, metadata.fields, metadata.isDerived ? .publicOnly : .anywhere)
    }

    /// The mode that the resource has for itself; one that this version does not know is none.
    var mode: VaultMode? { stored.withLock { $0?.metadata.mode }.flatMap { VaultMode(rawValue: $0) } }

    /// Whether the index says that it is kept for ever.
    var isPinned: Bool { stored.withLock { $0?.resourceClass } == .pinned }

    /// Gives the resource a mode of its own, or takes it back; it is added where the vault has not seen it.
    func setMode(_ mode: VaultMode?, of source: AddressBook.Source) throws {
        try stored.withLock { stored in
            guard !isRetired.withLock({ $0 }) else { throw Self.removed }
            guard mode != nil || stored != nil else { return }
            var resource = try stored ?? add(source)
            stored = resource
            try store.setMode(mode?.rawValue, of: &resource)
            stored = resource
        }
    }

    /// The origin still has the representation that is read.
    func confirm(_ freshness: Freshness) throws {
        try changeWhatIsRead { try store.confirm(freshness, of: &$0) }
    }

    /// The origin has answered to an address.
    func renew(_ source: AddressBook.Source) throws {
        try stored.withLock { stored in
            guard var resource = stored else { return }
            let (url, isDerived) = (source.url.absoluteString, source.reach == .publicOnly)
            let metadata = resource.metadata
            guard metadata.url != url || metadata.fields != source.fields || metadata.isDerived != isDerived
            else { return }
            try store.renew(&resource, url: url, fields: source.fields, isDerived: isDerived)
            stored = resource
        }
    }

    /// A new representation begins; the resource itself is added where the vault has not seen it.
    func begin(_ information: ContentInformation, _ freshness: Freshness, of source: AddressBook.Source) throws {
        let begun = try start(information, freshness, of: source, id: nil)
        name.withLock { $0 = begun }
    }

    /// The store takes in what it had refused, under the name that it has been read by.
    func takeIn(_ information: ContentInformation, _ freshness: Freshness?, of source: AddressBook.Source) throws {
        guard let id = representation, stored.withLock({ $0?.serving?.id }) != id else { return }
        _ = try start(information, freshness, of: source, id: id)
    }

    private func start(
        _ information: ContentInformation, _ freshness: Freshness?, of source: AddressBook.Source,
        id representation: RepresentationID?
    ) throws -> RepresentationID? {
        try stored.withLock { stored in
            guard !isRetired.withLock({ $0 }) else { throw Self.removed }
            var resource = try stored ?? add(source)
            stored = resource
            try store.startRepresentation(information, of: &resource, id: representation, freshness: freshness)
            stored = resource
            return resource.serving?.id
        }
    }

    private func add(_ source: AddressBook.Source) throws -> StoredResource {
        try store.addResource(
            id, url: source.url.absoluteString, cacheKey: key.bytes, resourceClass: .cache, fields: source.fields,
            isDerived: source.reach == .publicOnly)
    }

    /// The resource is removed: nothing is written of it any more.
    func retire() {
        isRetired.withLock { $0 = true }
        stored.withLock { $0 = nil }
    }

    /// What those learn who still have the resource open.
    static let removed = VaultError(.removed, "it was removed from the vault; open it again")

    /// The representation that is read is none of the store's.
    func passThrough() throws {
        let id: RepresentationID = try SecureRandom.identifier("representation id")
        name.withLock { $0 = id }
    }

    /// Bytes of a representation are durable: if it is the newest, it is from now on read after a restart too.
    func serve(_ representation: RepresentationID) throws {
        try stored.withLock { stored in
            guard var resource = stored, resource.serving?.id == representation else { return }
            store.changes.note(id)
            try store.serve(&resource)
            stored = resource
        }
    }

    /// More has become known of the representation.
    func learn(_ information: ContentInformation) throws {
        try changeWhatIsRead { try store.update(information, of: &$0) }
    }

    /// Changes what the store has of the representation that is read: what it refused is not written over what it has.
    private func changeWhatIsRead(_ change: (inout StoredResource) throws -> Void) throws {
        let read = name.withLock { $0 }
        try stored.withLock { stored in
            guard var resource = stored, resource.serving?.id == read else { return }
            try change(&resource)
            stored = resource
        }
    }

    /// Bytes are kept because they were asked for by name.
    func becomeDownload() throws {
        guard let resource = stored.withLock({ $0 }), resource.resourceClass == .cache else { return }
        // It may have been pinned since it was read.
        try store.setClass(.download, of: resource.id, only: .cache)
    }

    /// The name of the representation that is read.
    var representation: RepresentationID? { name.withLock { $0 } }

    /// Begins a segment of a representation.
    ///
    /// - Throws: ``VaultError`` with code `changed` where it is no longer the newest.
    func beginSegment(
        at start: Int64, of representation: RepresentationID, _ outlook: WriteEstimate
    ) throws -> SegmentWriter {
        do {
            return try store.beginSegment(at: start, of: try resource(reading: representation), outlook)
        } catch let error as VaultError where error.code == .changed {
            // It may have got another key in that moment.
            return try store.beginSegment(at: start, of: try resource(reading: representation), outlook)
        }
    }

    private func resource(reading representation: RepresentationID) throws -> StoredResource {
        guard let resource = stored.withLock({ $0 }), resource.serving?.id == representation else {
            throw VaultError(.changed, "the content changed while it was stored; open it again")
        }
        return resource
    }

    /// Opens a segment for reading.
    func reader(of segment: SegmentDescription) throws -> SegmentReader {
        guard let resource = stored.withLock({ $0 }), resource.mayHold(segment) else { throw SegmentFailure.missing }
        return try store.reader(of: segment, resource: resource)
    }
}

// Each call may block. What is written of the resource meanwhile waits, and is sealed under the new key.
extension ResourceRecord {
    /// Gives the resource another key, once in a run.
    ///
    /// - Returns: whether something is left to be sealed anew; nil where the vault does not have the resource.
    func beginReseal(run: Int64) throws -> Bool? {
        try stored.withLock { stored in
            guard var resource = stored else { return nil }
            let isLeft = try store.beginReseal(&resource, run: run)
            stored = resource
            return isLeft
        }
    }

    /// Segments that are to be sealed anew, a page of them.
    func resealTasks(limit: Int) throws -> [ResealTask] {
        guard let resource = stored.withLock({ $0 }) else { return [] }
        return try store.index.resealTasks(of: resource, limit: limit)
    }

    /// Seals a segment anew.
    ///
    /// - Throws: as ``VaultStore/reseal(_:of:)``.
    func reseal(_ task: ResealTask) throws -> [SegmentDescription]? {
        guard let resource = stored.withLock({ $0 }) else { return nil }
        return try store.reseal(task, of: resource)
    }

    /// Segments that are to be joined now; nil where there are none.
    func neighbours(excluding excluded: Set<SegmentID>, isWhole: Bool) throws -> [SegmentDescription]? {
        guard let resource = stored.withLock({ $0 }) else { return nil }
        return try store.neighbours(of: resource, excluding: excluded, isWhole: isWhole)
    }

    /// Joins segments.
    ///
    /// - Throws: as ``VaultStore/join(_:of:)``.
    func join(_ segments: [SegmentDescription]) throws -> SegmentDescription? {
        guard let resource = stored.withLock({ $0 }) else { return nil }
        return try store.join(segments, of: resource)
    }

    /// Lets go of the older keys.
    ///
    /// - Returns: false where something needs one; nil where the vault does not have the resource any more.
    func finishReseal() throws -> Bool? {
        try stored.withLock { stored in
            guard var resource = stored else { return nil }
            defer { stored = resource }
            return try store.finishReseal(&resource)
        }
    }
}
