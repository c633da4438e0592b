import VaultStorage

/// The resources of a vault, read a page at a time: none is held in memory longer than its page.
public struct ResourceListing: AsyncSequence, Sendable {
    /// One resource.
    public typealias Element = ResourceSummary

    let store: VaultStore
    let pool: BlockingPool

    /// A walk from the first resource on.
    public func makeAsyncIterator() -> Iterator { Iterator(store: store, pool: pool) }

    /// Walks through the resources.
    public struct Iterator: AsyncIteratorProtocol {
        let store: VaultStore
        let pool: BlockingPool
        private var page: ArraySlice<StoredResource> = []
        private var damagedCount = 0
        private var last: ResourceID?
        private var isAtEnd = false

        private static let pageSize = 128

        init(store: VaultStore, pool: BlockingPool) {
            self.store = store
            self.pool = pool
        }

        /// The next resource; nil at the end.
        ///
        /// - Throws: ``VaultError`` where the index cannot be read; after the last resource, with code `integrity`,
        ///   where rows of some fail their tags and were passed over.
        public mutating func next() async throws -> ResourceSummary? {
            while page.isEmpty, !isAtEnd { try await turnPage() }
            if let resource = page.popFirst() { return ResourceSummary(resource) }
            guard damagedCount > 0 else { return nil }
            defer { damagedCount = 0 }
            throw VaultError(
                .integrity,
                "\(damagedCount) resources are not listed: their rows fail their tags; make the index anew with index rebuild"
            )
        }

        private mutating func turnPage() async throws {
            let (store, after) = (store, last)
            let rows = try await pool.run { try store.index.resources(after: after, limit: Self.pageSize) }
            isAtEnd = rows.count < Self.pageSize
            last = rows.last?.id
            page = rows.compactMap(\.resource)[...]
            damagedCount += rows.count { $0.resource == nil }
        }
    }
}

/// Some resources of a listing, and where to go on.
package struct ResourcePage: Sendable {
    package let resources: [ResourceSummary]
    /// How many rows of the page failed their tags.
    package let damagedCount: Int
    /// What comes after is asked for by this; nil at the end.
    package let next: ResourceID?
}

extension Vault {
    /// The resources after one of them, as many as a page has.
    package func page(after last: ResourceID?, limit: Int) async throws -> ResourcePage {
        let store = store
        return try await pool.run {
            let rows = try store.index.resources(after: last, limit: limit)
            let known = rows.compactMap(\.resource)
            return ResourcePage(
                resources: known.map { ResourceSummary($0) }, damagedCount: rows.count - known.count,
                next: rows.count < limit ? nil : rows.last?.id)
        }
    }
}

/// What a vault holds of one resource.
public struct ResourceSummary: Hashable, Sendable {
    /// The URL as it was given first. It may carry a token in its query.
    public let url: String
    /// The length in bytes; nil while nobody knows.
    public let size: Int64?
    /// The ranges held, in ascending order.
    public let held: [ByteRange]
    /// The bytes held.
    public let bytes: Int64
    /// The media type, where it is known.
    public let type: String?
    /// The origin's entity tag, as HTTP spells it.
    public let etag: String?
    /// How long it is kept: `pinned`, `download` or `cache`.
    public let resourceClass: String
    /// The key generation that wraps its key.
    public let generation: Int
    /// The mode that it has for itself; nil where it has the vault's.
    public let mode: VaultMode?

    /// Whether every byte is held.
    public var isComplete: Bool { size == bytes }

    init(_ resource: StoredResource) {
        let held = resource.serving?.held ?? ByteRanges()
        let information = resource.serving?.info.information
        url = resource.metadata.url
        size = information?.length
        self.held = Array(held.ranges)
        bytes = held.byteCount
        type = information?.type
        etag = information?.validators.entityTag?.description
        resourceClass = resource.resourceClass.rawValue
        generation = resource.generation
        mode = resource.metadata.mode.flatMap { VaultMode(rawValue: $0) }
    }
}
