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
        let begun = try stored.withLock { stored in
            var resource =
                try stored
                ?? store.addResource(id, url: url.absoluteString, cacheKey: cacheKey, resourceClass: .cache)
            try store.startRepresentation(information, of: &resource)
            stored = resource
            return resource.serving?.id
        }
        name.withLock { $0 = begun }
    }

    /// The representation that is read is none of the store's.
    func passThrough() throws {
        let id: RepresentationID = try Fresh.identifier("representation id")
        name.withLock { $0 = id }
    }

    /// Bytes of the representation are durable: from now on it is the one that is read after a restart too.
    func serve() throws {
        try stored.withLock { stored in
            guard var resource = stored else { return }
            try store.serve(&resource)
            stored = resource
        }
    }

    /// More has become known of the representation.
    func learn(_ information: ContentInformation) throws {
        try stored.withLock { stored in
            guard var resource = stored else { return }
            try store.update(information, of: &resource)
            stored = resource
        }
    }

    /// Bytes are kept because they were asked for by name.
    func becomeDownload() throws {
        guard let resource = stored.withLock({ $0 }), resource.resourceClass == .cache else { return }
        try store.setClass(.download, of: resource.id)
    }

    /// Begins a segment.
    func beginSegment(at start: Int64) throws -> SegmentWriter {
        guard let resource = stored.withLock({ $0 }) else {
            throw VaultError(.storage, "a segment needs a resource; open it again")
        }
        return try store.beginSegment(at: start, of: resource)
    }

    /// Opens a segment for reading.
    func reader(of segment: SegmentDescription) throws -> SegmentReader {
        guard let resource = stored.withLock({ $0 }) else { throw SegmentFailure.missing }
        return try store.reader(of: segment, resource: resource)
    }
}
