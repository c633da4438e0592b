import GRDB
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("What goes next is found however much is passed over", .timeLimit(.minutes(2)))
struct EvictionQueueTests {
    /// More than SQLite binds values in one statement, and than the queue asks for at a time.
    private static let count = 10_100

    /// A vault with so many titles of one segment each, which were merely played; nothing of them opens, and none has a
    /// file.
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
        try #require(try store.index.totals().segments == count)
        return (vault, store)
    }

    @Test("More titles in use than a statement names are passed over, and the search comes to an end")
    func inUse() throws {
        let (vault, store) = try Self.crowded()
        let all = Set(try store.index.resourceIDs(after: nil, limit: .max))
        try #require(all.count == Self.count)
        store.setResourceUse(ResourceUse(all: { all }, letGo: { _ in false }))
        let wanted = StorageLimits(maxSize: 1)
        #expect(try store.previewPrune(wanted) == EvictionCounters())
        var queue = EvictionQueue()
        queue.begin(inUse: all)
        #expect(try store.next([.cache], &queue) == nil)
        // One of them is free, at the very end of the order.
        let last = try #require(try store.index.evictable(limit: .max, after: nil).last?.resource)
        queue.begin(inUse: all.subtracting([last]))
        #expect(try store.next([.cache], &queue)?.resource == last)
        withExtendedLifetime(vault) {}
    }

    @Test("So are as many that refuse to go when their turn comes, and those that keep their row by age")
    func refusing() throws {
        let (vault, store) = try Self.crowded()
        store.setResourceUse(ResourceUse(all: { [] }, letGo: { _ in false }))
        #expect(try store.prune(StorageLimits(maxAge: 1)) == EvictionCounters())
        #expect(try store.index.totals().segments == Self.count)
        withExtendedLifetime(vault) {}
    }

    @Test("Pages follow one another in the order of going: each title once, downloads last")
    func pages() throws {
        let (vault, store) = try Self.crowded()
        try store.index.write { db in
            try db.execute(sql: "UPDATE resource SET class = 'download' WHERE substr(id, -1) IN (x'30', x'37')")
        }
        var places: [EvictionPosition] = []
        while true {
            let page = try store.index.evictable(limit: 300, after: places.last)
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
