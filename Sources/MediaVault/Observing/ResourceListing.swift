import VaultCrypto
import VaultManifest
import VaultModel
import VaultStorage

/// The resources of a vault, read page by page: memory holds two pages at a time.
public struct ResourceListing: AsyncSequence, Sendable {
    /// One resource.
    public typealias Element = ResourceSummary

    let store: VaultStore
    let pool: BlockingPool
    /// Whether parts of titles are listed, too.
    let hasParts: Bool

    /// Starts at the first resource.
    public func makeAsyncIterator() -> Iterator { Iterator(listing: self) }

    /// Iterates over the resources.
    public struct Iterator: AsyncIteratorProtocol {
        private let listing: ResourceListing
        /// The opened resources of the page that are yet to be returned.
        private var page: ArraySlice<ResourceSummary> = []
        /// The next page; nil before the first.
        private var ahead: [SealedResource]?
        private var damagedCount = 0
        private var isAtEnd = false

        init(listing: ResourceListing) { self.listing = listing }

        /// Returns the next resource; nil at the end.
        ///
        /// - Throws: ``VaultError`` if the index cannot be read; after the last resource, with code `integrity` if rows
        ///   failed authentication and were skipped.
        public mutating func next() async throws -> ResourceSummary? {
            while page.isEmpty, !isAtEnd { try await turnPage() }
            if let resource = page.popFirst() { return resource }
            guard damagedCount > 0 else { return nil }
            defer { damagedCount = 0 }
            throw VaultError(
                .integrity,
                damagedCount == 1
                    ? "1 title is not listed, because no key opens its rows; a repair removes it"
                    : "\(damagedCount) titles are not listed, because no key opens their rows; a repair removes them",
                hint: .repair)
        }

        /// Opens a page on two threads, while a third reads the next page.
        private mutating func turnPage() async throws {
            let listing = listing
            let rows = if let ahead { ahead } else { try await listing.read(after: nil) }
            let (middle, end) = (rows.count / 2, rows.last?.id)
            let isLast = rows.count < ResourceListing.pageSize
            async let next = isLast ? [] : listing.read(after: end)
            async let front = listing.open(rows[..<middle])
            let back = try await listing.open(rows[middle...])
            page = try await (front + back)[...]
            ahead = try await next
            isAtEnd = isLast
            damagedCount += rows.count - page.count
        }
    }

    private static let pageSize = 256

    private func read(after last: ResourceID?) async throws -> [SealedResource] {
        let (store, hasParts) = (store, hasParts)
        return try await pool.run {
            try store.index.sealedResources(after: last, limit: Self.pageSize, parts: hasParts)
        }
    }

    /// Returns the resources whose rows open.
    private func open(_ rows: ArraySlice<SealedResource>) async throws -> [ResourceSummary] {
        let store = store
        return try await pool.run {
            try store.summaries(of: rows.compactMap { try store.index.openIfSound($0) })
        }
    }
}

extension VaultStore {
    /// Returns what the vault holds of resources. Blocks.
    func summaries(of resources: [StoredResource]) throws -> [ResourceSummary] {
        // Limits that cannot be read are not enforced, so nothing expires.
        let age = try? limitsInForce().age
        var summaries = resources.map { ResourceSummary($0, age: age) }
        let played = summaries.indices.filter { summaries[$0].title == nil && summaries[$0].isManifest }
        let bytes = try index.partBytes(of: played.map { resources[$0].id })
        for index in played { summaries[index].partBytes = bytes[resources[index].id] }
        return summaries
    }

    /// Returns what the vault holds of a resource; nil if it has no such resource. Blocks.
    func summary(of id: ResourceID) throws -> ResourceSummary? {
        try index.resource(id).flatMap { try summaries(of: [$0]).first }
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
    /// The short id that names it while the vault has it; nil for a small part of a title, which has no id of its own.
    @OrNull public internal(set) var id: TitleID?
    /// The caller's own name for it, if it was stored under one.
    @OrNull public internal(set) var contentID: String?
    /// The URL as it was first given. It may carry a token in its query.
    public let url: String
    /// The length in bytes; nil while it is unknown.
    @OrNull public internal(set) var size: Int64?
    /// The ranges held, in ascending order.
    public let held: [ByteRange]
    /// The number of bytes held.
    public let bytes: Int64
    /// The number of bytes held of the parts that were played through it; nil unless it is the manifest of a title that
    /// was not fetched.
    @OrNull public internal(set) var partBytes: Int64?
    /// The media type, if known.
    @OrNull public internal(set) var type: String?
    /// The origin's entity tag, in HTTP syntax.
    @OrNull public internal(set) var etag: String?
    /// What decides how long it is kept: `pinned`, `download` or `cache`.
    public let resourceClass: String
    /// The key generation that wraps its key.
    public let generation: Int
    /// Its own offline mode; nil if the vault's mode applies.
    @OrNull public internal(set) var mode: VaultMode?

    /// The name that was set for it, or found in it when it was fetched; nil if there is none.
    @OrNull public internal(set) var name: String?
    /// How long it plays, in milliseconds, as stated by its manifest, or by the media when it was fetched or imported;
    /// nil if neither states it.
    @OrNull public internal(set) var duration: Int64?
    /// A tag that differs from one cover to another: 16 hex digits. Nil if no cover is known: a picture within its
    /// bytes becomes known once it is fetched or imported whole, but ``Vault/cover(of:)`` finds it in any case.
    @OrNull public internal(set) var cover: String?
    /// The title that it is the manifest of; nil if it was not fetched as one.
    @OrNull public internal(set) var title: Title?
    /// Whether it was fetched as a part of a title, and is not a title itself.
    public let isPart: Bool
    /// When the vault first stored any of it.
    public let added: Timestamp
    /// The hour in which it was last read, or else stored; for a part, reading its title counts, too.
    public let accessed: Timestamp
    /// When the age limit will remove it; nil if no limit applies, as for pinned and downloaded titles.
    @OrNull public internal(set) var expires: Timestamp?

    private enum CodingKeys: String, CodingKey {
        case id, contentID, added, accessed, expires, url, size, held, bytes, partBytes, type, etag, generation, mode,
            name
        case title, duration, cover
        case resourceClass = "class"
        case isPart = "part"
    }

    /// Whether every byte of the resource, or of its title, is held. A title that was only played is never complete.
    package var isWhole: Bool { isManifest ? title.map { $0.isComplete && isComplete } ?? false : isComplete }

    /// The number of bytes held of the resource, or of all resources of its title.
    package var wholeBytes: Int64 { title?.bytes ?? bytes + (partBytes ?? 0) }

    /// Whether it is the manifest of a title of several resources, judging by its type and URL.
    package var isManifest: Bool {
        title != nil || ManifestDetection.kind(type: type, path: url.prefix { $0 != "?" && $0 != "#" }) != nil
    }

    /// The kind of manifest that it is, judging by its type and URL; nil if it is not one.
    package var manifestKind: ManifestKind? {
        title?.kind ?? ManifestDetection.kind(type: type, path: url.prefix { $0 != "?" && $0 != "#" })
    }

    /// Whether every byte of the resource itself is held.
    public var isComplete: Bool { size == bytes }

    /// - Parameter age: the age limit in force, in seconds; nil if there is none.
    init(_ resource: StoredResource, age: Int64? = nil) {
        let held = resource.serving?.held ?? ByteRanges()
        let information = resource.serving?.info.information
        id = resource.titleID
        contentID = CacheKey(bytes: resource.metadata.cacheKey).contentID
        added = Timestamp(seconds: resource.metadata.created)
        accessed = Timestamp(seconds: resource.accessed)
        // As eviction computes it: only what was merely played expires.
        expires = resource.resourceClass == .cache ? age.map { Timestamp(seconds: resource.accessed + $0) } : nil
        url = resource.metadata.url
        size = information?.length
        self.held = Array(held.ranges)
        bytes = held.byteCount
        partBytes = nil
        type = information?.type
        etag = information?.validators.entityTag?.description
        resourceClass = resource.resourceClass.rawValue
        generation = resource.generation
        mode = resource.metadata.mode
        name = resource.metadata.name
        cover = resource.coverTag?.hex
        let title = resource.metadata.title.flatMap { Title($0) }
        self.title = title
        duration = title?.duration ?? resource.metadata.duration
        isPart = resource.metadata.title == nil && !resource.metadata.partOf.isEmpty
    }
}
