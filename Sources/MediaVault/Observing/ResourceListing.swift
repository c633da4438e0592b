import VaultStorage

/// The resources of a vault, read page by page: memory holds one page at a time.
public struct ResourceListing: AsyncSequence, Sendable {
    /// One resource.
    public typealias Element = ResourceSummary

    let store: VaultStore
    let pool: BlockingPool
    /// Whether parts of titles are listed, too.
    let hasParts: Bool

    /// Starts at the first resource.
    public func makeAsyncIterator() -> Iterator { Iterator(store: store, pool: pool, hasParts: hasParts) }

    /// Iterates over the resources.
    public struct Iterator: AsyncIteratorProtocol {
        let store: VaultStore
        let pool: BlockingPool
        private let hasParts: Bool
        private var page: ArraySlice<StoredResource> = []
        private var damagedCount = 0
        private var last: ResourceID?
        private var isAtEnd = false

        private static let pageSize = 128

        init(store: VaultStore, pool: BlockingPool, hasParts: Bool) {
            self.store = store
            self.pool = pool
            self.hasParts = hasParts
        }

        /// Returns the next resource; nil at the end.
        ///
        /// - Throws: ``VaultError`` if the index cannot be read; after the last resource, with code `integrity` if rows
        ///   failed authentication and were skipped.
        public mutating func next() async throws -> ResourceSummary? {
            while page.isEmpty, !isAtEnd { try await turnPage() }
            if let resource = page.popFirst() { return ResourceSummary(resource) }
            guard damagedCount > 0 else { return nil }
            defer { damagedCount = 0 }
            throw VaultError(
                .integrity,
                damagedCount == 1
                    ? "1 title is not listed, because no key opens its rows; a repair removes it"
                    : "\(damagedCount) titles are not listed, because no key opens their rows; a repair removes them",
                hint: .repair)
        }

        private mutating func turnPage() async throws {
            let (store, after, hasParts) = (store, last, hasParts)
            let rows = try await pool.run {
                try store.index.resources(after: after, limit: Self.pageSize, parts: hasParts)
            }
            isAtEnd = rows.count < Self.pageSize
            last = rows.last?.id
            page = rows.compactMap(\.resource)[...]
            damagedCount += rows.count { $0.resource == nil }
        }
    }
}

/// One page of a listing, and where to continue.
package struct ResourcePage: Sendable {
    package let resources: [ResourceSummary]
    /// The number of rows on the page that failed authentication.
    package let damagedCount: Int
    /// The id to continue after; nil at the end.
    package let next: ResourceID?
}

/// What a vault holds of one resource.
public struct ResourceSummary: Hashable, Codable, Sendable {
    /// The URL as it was first given. It may carry a token in its query.
    public let url: String
    /// The length in bytes; nil while it is unknown.
    @OrNull public internal(set) var size: Int64?
    /// The ranges held, in ascending order.
    public let held: [ByteRange]
    /// The number of bytes held.
    public let bytes: Int64
    /// The media type, if known.
    @OrNull public internal(set) var type: String?
    /// The origin's entity tag, in HTTP syntax.
    @OrNull public internal(set) var etag: String?
    /// How long it is kept: `pinned`, `download` or `cache`.
    public let resourceClass: String
    /// The key generation that wraps its key.
    public let generation: Int
    /// Its own offline mode; nil if the mode of the vault applies.
    @OrNull public internal(set) var mode: VaultMode?

    /// The name that was given for it, or found in it when it was fetched; nil if there is none.
    @OrNull public internal(set) var name: String?
    /// The title that it is the manifest of; nil if it was not fetched as one.
    @OrNull public internal(set) var title: Title?
    /// Whether it was fetched as a part of a title, and is none itself.
    public let isPart: Bool

    private enum CodingKeys: String, CodingKey {
        case url, size, held, bytes, type, etag, generation, mode, name, title
        case resourceClass = "class"
        case isPart = "part"
    }

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
        mode = resource.metadata.mode
        name = resource.metadata.name
        title = resource.metadata.title.flatMap { Title($0) }
        isPart = resource.metadata.title == nil && !resource.metadata.partOf.isEmpty
    }
}
