import VaultCache
import VaultCrypto
import VaultManifest
import VaultModel
import VaultStorage

/// The resources of a vault, read page by page, so that at most two pages are in memory at a time.
public struct ResourceListing: AsyncSequence, Sendable {
    /// The summary of one resource.
    public typealias Element = ResourceSummary

    let store: VaultStore
    let pool: BlockingPool
    /// Whether parts of titles are also listed.
    let hasParts: Bool

    /// Returns an iterator that begins at the first resource.
    public func makeAsyncIterator() -> Iterator { Iterator(listing: self) }

    /// Returns the resources whose rows open, in no meaningful order.
    ///
    /// - Throws: ``VaultError`` if the index cannot be read.
    func sound() async throws -> [ResourceSummary] {
        var summaries: [ResourceSummary] = []
        do {
            for try await summary in self { summaries.append(summary) }
        } catch let error as VaultError where error.code == .integrity {
            // The listing throws this error only at its end, after it has listed every resource that opens.
        }
        return summaries
    }

    /// Iterates over the resources.
    public struct Iterator: AsyncIteratorProtocol {
        private let listing: ResourceListing
        /// The opened resources of the current page that have not been returned yet.
        private var page: ArraySlice<(id: ResourceID, summary: ResourceSummary)> = []
        /// The rows of the next page; nil before the first page.
        private var ahead: [SealedResource]?
        private(set) var damagedCount = 0
        private var isAtEnd = false

        init(listing: ResourceListing) { self.listing = listing }

        /// Returns the next resource; nil at the end.
        ///
        /// - Throws: ``VaultError`` if the index cannot be read; after the last resource, ``VaultError`` with code
        ///   `integrity` if rows failed authentication and were skipped.
        public mutating func next() async throws -> ResourceSummary? {
            while page.isEmpty, !isAtEnd { try await turnPage() }
            if let resource = page.popFirst() { return resource.summary }
            guard damagedCount > 0 else { return nil }
            defer { damagedCount = 0 }
            throw VaultError(
                .integrity,
                damagedCount == 1
                    ? "1 title is not listed, because no key opens its rows; a repair removes it"
                    : "\(damagedCount) titles are not listed, because no key opens their rows; a repair removes them",
                hint: .repair)
        }

        /// Returns the resources of the next page that has any whose rows open; nil at the end.
        mutating func nextPage() async throws -> ArraySlice<(id: ResourceID, summary: ResourceSummary)>? {
            while page.isEmpty, !isAtEnd { try await turnPage() }
            defer { page = [] }
            return page.isEmpty ? nil : page
        }

        /// Opens a page's rows on two threads, while a third thread reads the next page.
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
            try store.index.resources.sealed(after: last, limit: Self.pageSize, parts: hasParts)
        }
    }

    /// Returns the summaries of the resources whose rows open.
    private func open(
        _ rows: ArraySlice<SealedResource>
    ) async throws -> [(id: ResourceID, summary: ResourceSummary)] {
        let store = store
        return try await pool.run {
            let opened = try rows.compactMap { try store.index.resources.openIfSound($0) }
            return zip(opened.map(\.id), try store.summaries(of: opened)).map { ($0, $1) }
        }
    }
}

extension VaultStore {
    /// Returns what the vault holds of some resources. Blocks.
    func summaries(of resources: [StoredResource]) throws -> [ResourceSummary] {
        // If the limits cannot be read, they are not enforced, so nothing expires.
        let age = try? limitsInForce().age
        var summaries = resources.map { ResourceSummary($0, age: age) }
        let played = summaries.indices.filter { summaries[$0].title == nil && summaries[$0].isManifest }
        let bytes = try index.titles.partBytes(of: played.map { resources[$0].id })
        for index in played { summaries[index].partBytes = bytes[resources[index].id] }
        return summaries
    }

    /// Returns what the vault holds of a resource; nil if the vault does not have it. Blocks.
    func summary(of id: ResourceID) throws -> ResourceSummary? {
        try index.resources.find(id).flatMap { try summaries(of: [$0]).first }
    }
}

/// One page of a listing, with the place at which the next page begins.
public struct ResourcePage: Sendable {
    /// The resources, in the order of their ids.
    public let resources: [ResourceSummary]
    /// The number of rows on the page that failed authentication.
    public let damagedCount: Int
    /// The id after which the listing continues; nil at the end.
    public let next: ResourceID?
}

/// What a vault holds of one resource.
public struct ResourceSummary: Hashable, Codable, Sendable {
    /// The short id that identifies the resource while the vault has it; nil for a small part of a title, which has no
    /// id of its own.
    @OrNull public internal(set) var id: TitleID?
    /// The caller's own name for the resource; nil if it was not stored under one.
    @OrNull public internal(set) var contentID: String?
    /// The URL as it was first given. Its query may contain a token.
    public let url: String
    /// The length in bytes; nil while it is unknown.
    @OrNull public internal(set) var size: Int64?
    /// The ranges held, in ascending order.
    public let held: [ByteRange]
    /// The number of bytes held.
    public let bytes: Int64
    /// The number of bytes held of the parts that were played through this manifest; nil unless the resource is the
    /// manifest of a title that was not fetched.
    @OrNull public internal(set) var partBytes: Int64?
    /// The media type, if known.
    @OrNull public internal(set) var type: String?
    /// The origin's entity tag, in HTTP syntax.
    @OrNull public internal(set) var etag: String?
    /// The class, which decides how long the resource is kept: `pinned`, `download` or `cache`.
    public let resourceClass: String
    /// The generation that wraps the resource's key.
    public let generation: Int
    /// The resource's own offline mode; nil if the vault's mode applies.
    @OrNull public internal(set) var mode: VaultMode?

    /// The name that was set for the resource, or found in it when it was fetched; nil if there is none.
    @OrNull public internal(set) var name: String?
    /// A name made from the name of the file, or from the folder of a playlist, for a title without a name; nil if that
    /// says nothing to people. It contains nothing else of the URL.
    @OrNull public internal(set) var fallbackName: String?
    /// What the media, or else the name of the file, state about the album or series; nil if neither states anything.
    @OrNull public internal(set) var tags: TitleTags?
    /// The name of the collection into which the owner moved the title; nil if it was not moved.
    @OrNull public internal(set) var collection: String?
    /// The name that the owner gave to the collection to which the title belongs by itself; nil if it has none.
    @OrNull var collectionName: String?
    /// How long the resource plays, in milliseconds. This is stated by its manifest, or by its media when they were
    /// fetched or imported; nil if neither states it.
    @OrNull public internal(set) var duration: Int64?
    /// A tag of 16 hex digits that differs from one cover to another; nil if no cover is known. A picture within the
    /// resource's bytes becomes known once all of them are fetched or imported, but ``Titles/cover(of:)`` always finds
    /// it.
    @OrNull public internal(set) var cover: String?
    /// The languages of the subtitles that were added to the title, in ascending order.
    public let subtitles: [String]
    /// The title of which this resource is the manifest; nil if it was not fetched as one.
    @OrNull public internal(set) var title: Title?
    /// Whether the resource was fetched as a part of a title and is not a title itself.
    public let isPart: Bool
    /// When the vault first stored any of the resource.
    public let added: Timestamp
    /// The hour in which the resource was last read, or stored if it was never read. For a part, reading its title also
    /// counts.
    public let accessed: Timestamp
    /// When the age limit will remove the resource; nil if no limit applies, as for pinned and downloaded titles.
    @OrNull public internal(set) var expires: Timestamp?

    /// When a feed says that the title was published, in seconds since 1970; nil if none does. It orders the titles of a
    /// feed, and is in no answer.
    var published: Int64?

    private enum CodingKeys: String, CodingKey {
        case id, contentID, added, accessed, expires, url, size, held, bytes, partBytes, type, etag, generation, mode,
            name
        case title, duration, cover, subtitles, fallbackName, tags, collection, collectionName
        case resourceClass = "class"
        case isPart = "part"
    }

    /// Whether every byte of the resource, or of its whole title, is held. A title that was only played never counts as
    /// whole.
    public var isWhole: Bool { isManifest ? title.map { $0.isComplete && isComplete } ?? false : isComplete }

    /// The number of bytes held of the resource, or of all its title's resources.
    public var wholeBytes: Int64 { title?.bytes ?? bytes + (partBytes ?? 0) }

    /// Whether the resource is the manifest of a title of several resources, according to its type and URL.
    public var isManifest: Bool {
        title != nil || ManifestDetection.kind(type: type, path: url.prefix { $0 != "?" && $0 != "#" }) != nil
    }

    /// The kind of manifest that the resource is, according to its type and URL; nil if it is not a manifest.
    public var manifestKind: ManifestKind? {
        title?.kind ?? ManifestDetection.kind(type: type, path: url.prefix { $0 != "?" && $0 != "#" })
    }

    /// Whether every byte of the resource itself is held.
    public var isComplete: Bool { size == bytes }

    /// Summarizes a resource.
    ///
    /// - Parameters:
    ///   - resource: the resource as stored.
    ///   - age: the age limit in force, in seconds; nil if there is none.
    init(_ resource: StoredResource, age: Int64? = nil) {
        let held = resource.serving?.held ?? ByteRanges()
        let information = resource.serving?.info.information
        id = resource.titleID
        contentID = CacheKey(bytes: resource.metadata.cacheKey).contentID
        added = Timestamp(seconds: resource.metadata.created)
        accessed = Timestamp(seconds: resource.accessed)
        // As in eviction, only a resource that was merely played expires.
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
        published = resource.metadata.published
        (collection, collectionName) = (resource.metadata.collection, resource.metadata.collectionName)
        cover = resource.coverTag?.hex
        subtitles = resource.metadata.subtitles.keys.sorted()
        let title = resource.metadata.title.flatMap { Title($0) }
        self.title = title
        duration = title?.duration ?? resource.metadata.duration
        isPart = resource.metadata.title == nil && !resource.metadata.partOf.isEmpty
        let file = FileName(ofURL: url, isManifest: isManifest)
        fallbackName = name == nil ? file.name : nil
        let tags = (resource.metadata.tags ?? TitleTags()).completed(by: file.tags)
        self.tags = tags.isEmpty ? nil : tags
    }
}

extension ResourceSummary {
    /// What the name of the resource's file says to people; nil if it says nothing.
    public var fileName: String? { FileName(ofURL: url, isManifest: isManifest).name }
}

/// Checks how many entries a page may have.
enum PageLimit {
    /// Returns the limit.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the limit is not positive.
    static func checked(_ limit: Int) throws -> Int {
        guard limit > 0 else {
            throw VaultError(.invalidArgument, "a page has at least one entry; give a higher limit")
        }
        return limit
    }
}
