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
