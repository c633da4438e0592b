import Synchronization
import VaultCrypto
import VaultModel
import VaultStorage

/// What the store keeps of one resource, changed by one caller at a time. Calls that throw may block: only on the pool.
final class ResourceRecord: Sendable {
    let id: ResourceID
    private let url: MediaURL
    private let cacheKey: [UInt8]
    private let store: VaultStore
    /// Held while the store works.
    private let stored = Mutex<StoredResource?>(nil)
    /// The name of the representation that is read, the store's or one that it refused. Apart, so that asking never waits.
    private let name = Mutex<RepresentationID?>(nil)
    private let isRetired = Mutex(false)

    init(id: ResourceID, url: MediaURL, cacheKey: [UInt8], store: VaultStore) {
        self.id = id
        self.url = url
        self.cacheKey = cacheKey
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

    /// A new representation begins; the resource itself is added where the vault has not seen it.
    func begin(_ information: ContentInformation) throws {
        let begun = try start(information, id: nil)
        name.withLock { $0 = begun }
    }

    /// The store takes in what it had refused, under the name that it has been read by.
    func takeIn(_ information: ContentInformation) throws {
        guard let id = representation, stored.withLock({ $0?.serving?.id }) != id else { return }
        _ = try start(information, id: id)
    }

    private func start(_ information: ContentInformation, id representation: RepresentationID?) throws -> RepresentationID? {
        try stored.withLock { stored in
            guard !isRetired.withLock({ $0 }) else { throw Self.removed }
            var resource =
                try stored
                ?? store.addResource(id, url: url.absoluteString, cacheKey: cacheKey, resourceClass: .cache)
            stored = resource
            try store.startRepresentation(information, of: &resource, id: representation)
            stored = resource
            return resource.serving?.id
        }
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
        let id: RepresentationID = try Fresh.identifier("representation id")
        name.withLock { $0 = id }
    }

    /// Bytes of a representation are durable: if it is the newest, it is from now on read after a restart too.
    func serve(_ representation: RepresentationID) throws {
        try stored.withLock { stored in
            guard var resource = stored, resource.serving?.id == representation else { return }
            try store.serve(&resource)
            stored = resource
        }
    }

    /// More has become known of the representation.
    func learn(_ information: ContentInformation) throws {
        let read = name.withLock { $0 }
        try stored.withLock { stored in
            // What the store refused is not written over what it has.
            guard var resource = stored, resource.serving?.id == read else { return }
            try store.update(information, of: &resource)
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
        at start: Int64, of representation: RepresentationID, _ outlook: Outlook
    ) throws -> SegmentWriter {
        guard let resource = stored.withLock({ $0 }), resource.serving?.id == representation else {
            throw VaultError(.changed, "the content changed while it was stored; open it again")
        }
        return try store.beginSegment(at: start, of: resource, outlook)
    }

    /// Opens a segment for reading.
    func reader(of segment: SegmentDescription) throws -> SegmentReader {
        guard let resource = stored.withLock({ $0 }) else { throw SegmentFailure.missing }
        return try store.reader(of: segment, resource: resource)
    }
}
