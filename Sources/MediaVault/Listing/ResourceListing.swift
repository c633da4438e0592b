import VaultStorage

/// The resources of a vault, read a page at a time: none is held in memory longer than its page.
public struct ResourceListing: AsyncSequence, Sendable {
    public typealias Element = ResourceSummary

    let store: VaultStore
    let pool: BlockingPool

    public func makeAsyncIterator() -> Iterator { Iterator(store: store, pool: pool) }

    /// Walks through the resources.
    public struct Iterator: AsyncIteratorProtocol {
        let store: VaultStore
        let pool: BlockingPool
        private var page: ArraySlice<StoredResource> = []
        private var last: ResourceID?
        private var isAtEnd = false

        private static let pageSize = 128

        init(store: VaultStore, pool: BlockingPool) {
            self.store = store
            self.pool = pool
        }

        /// The next resource; nil at the end.
        ///
        /// - Throws: ``VaultError`` where the index cannot be read.
        public mutating func next() async throws -> ResourceSummary? {
            if page.isEmpty, !isAtEnd {
                let (store, after) = (store, last)
                page = try await pool.run { try store.index.resources(after: after, limit: Self.pageSize) }[...]
                isAtEnd = page.count < Self.pageSize
                last = page.last?.id
            }
            return page.popFirst().map { ResourceSummary($0) }
        }
    }
}
