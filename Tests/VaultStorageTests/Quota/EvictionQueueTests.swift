import GRDB
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("The eviction queue finds the next title even if it must skip very many", .timeLimit(.minutes(2)))
struct EvictionQueueTests {
    /// More than the values that SQLite binds in one statement, and more than one page of the queue.
    private static let count = 10_100

    /// Creates a vault with that many cached titles of one segment each; none of them opens, and none has a file.
    private static func crowded() throws -> (TemporaryVault, VaultStore) {
        let vault = try TemporaryVault()
        let store = try vault.open()
        try store.index.write { db in
            try db.execute(
                sql: """
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
                    INSERT INTO resource SELECT CAST(printf('%032d', i) AS BLOB), 1, x'00', 'cache', 3600 * (i % 7) FROM n;
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
                    INSERT INTO representation
                        SELECT CAST(printf('%016d', i) AS BLOB), CAST(printf('%032d', i) AS BLOB), 'serving', x'00' FROM n;
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
                    INSERT INTO segment
                        SELECT CAST(printf('%016d', i) AS BLOB), CAST(printf('%016d', i) AS BLOB), 1, 32768, 0, 1000,
                            'closed', 0 FROM n;
                    """)
        }
        try #require(try store.index.resources.totals().segments == count)
        return (vault, store)
    }

    @Test("The search skips more titles in use than a statement can name, and ends")
    func inUse() throws {
        let (vault, store) = try Self.crowded()
        let all = Set(try VerificationRows(store.index).resourceIDs(after: nil, limit: .max))
        try #require(all.count == Self.count)
        store.quota.setResourceUse(ResourceUse(all: { all }, forget: { _ in false }))
        let wanted = StorageLimits(maxSize: 1)
        #expect(try store.quota.previewPrune(wanted) == EvictionCounters())
        var queue = EvictionQueue()
        queue.begin(inUse: all)
        #expect(try store.quota.evictor.next([.cache], &queue) == nil)
        // Only the last title in the order is not in use.
        let last = try #require(try EvictionRows(store.index).evictable(limit: .max, after: nil).last?.resource)
        queue.begin(inUse: all.subtracting([last]))
        #expect(try store.quota.evictor.next([.cache], &queue)?.resource == last)
        withExtendedLifetime(vault) {}
    }

    @Test("Pruning ends even if all titles refuse to be evicted")
    func refusing() throws {
        let (vault, store) = try Self.crowded()
        store.quota.setResourceUse(ResourceUse(all: { [] }, forget: { _ in false }))
        #expect(try store.quota.prune(StorageLimits(maxAge: 1)) == EvictionCounters())
        #expect(try store.index.resources.totals().segments == Self.count)
        withExtendedLifetime(vault) {}
    }

    @Test("Pages list each title once in the order of eviction, with downloads last")
    func pages() throws {
        let (vault, store) = try Self.crowded()
        try store.index.write { db in
            try db.execute(sql: "UPDATE resource SET class = 'download' WHERE substr(id, -1) IN (x'30', x'37')")
        }
        var places: [EvictionPosition] = []
        while true {
            let page = try EvictionRows(store.index).evictable(limit: 300, after: places.last)
            places += page
            if page.isEmpty { break }
        }
        #expect(places.count == Self.count && Set(places.map(\.resource)).count == Self.count)
        let isInOrder = zip(places, places.dropFirst()).allSatisfy { one, next in
            (one.isDownload ? 1 : 0, one.accessed, one.resource.hex)
                < (next.isDownload ? 1 : 0, next.accessed, next.resource.hex)
        }
        #expect(isInOrder && places.contains(where: \.isDownload))
        withExtendedLifetime(vault) {}
    }
}
