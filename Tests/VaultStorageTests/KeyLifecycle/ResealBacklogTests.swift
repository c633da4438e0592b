import GRDB
import SeededRandom
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("The remaining work of a reseal is counted exactly")
struct ResealBacklogTests {
    private let vault: TemporaryVault
    private let store: VaultStore
    private let title: ResourceID
    private let other: ResourceID
    private let empty: ResourceID

    /// A title in two segments, one in one segment, and one that holds nothing.
    init() throws {
        vault = try TemporaryVault()
        store = try vault.open()
        let first = try store.addMedia("film", length: 150_000)
        _ = try store.store(SeededGenerator.bytes(100_000, seed: 1), at: 0, of: first)
        _ = try store.store(SeededGenerator.bytes(50_000, seed: 2), at: 100_000, of: first)
        let second = try store.addMedia("other", length: 60_000)
        _ = try store.store(SeededGenerator.bytes(60_000, seed: 3), at: 0, of: second)
        (title, other, empty) = (first.id, second.id, try store.addMedia("empty", length: 9).id)
    }

    private func begin(_ id: ResourceID, run: Int64) throws -> StoredResource {
        var resource = try #require(try store.index.resources.find(id))
        _ = try SegmentReseal(store).begin(&resource, run: run)
        return resource
    }

    private func sealNext(of resource: StoredResource) throws {
        let task = try #require(try ResealRows(store.index).resealTasks(of: resource, limit: 1).first)
        let new = try #require(try SegmentReseal(store).reseal(task, of: resource))
        SegmentReseal(store).removeReplaced([task.segment], by: new)
    }

    /// Removes the order, as a reseal does at its end, even if it could not reseal everything.
    private func end() throws { try store.index.changeSettings { $0.resealOrder = nil } }

    private func backlog() throws -> ResealBacklog? {
        try ResealRows(store.index).resealBacklog(of: store.index.settings().resealOrder)
    }

    private func expect(
        _ resources: Int, _ bytes: Int64, leaving: [Int: Int] = [:], isDue: Bool = true,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        var expected = ResealBacklog(isDue: isDue)
        (expected.resources, expected.bytes, expected.leaving) = (resources, bytes, leaving)
        #expect(try backlog() == expected, sourceLocation: sourceLocation)
    }

    @Test("A reseal of everything counts titles not yet begun, and segments of begun titles under an older key")
    func everything() throws {
        #expect(try backlog() == nil)
        let order = try SegmentReseal(store).order(of: nil, bytesPerSecond: nil, noting: vault.log(of: store))
        try expect(3, 210_000)
        _ = try Generations(store).add(noting: vault.log(of: store))
        var resource = try begin(title, run: order.run)
        try expect(3, 210_000, leaving: [1: 1])
        try sealNext(of: resource)
        let left = try ResealRows(store.index).resealTasks(of: resource, limit: 9).reduce(0) { $0 + $1.segment.length }
        #expect([50_000, 100_000].contains(left))
        try expect(3, 60_000 + left, leaving: [1: 1])
        try sealNext(of: resource)
        try expect(3, 60_000, leaving: [1: 1])
        #expect(try SegmentReseal(store).finish(&resource))
        try expect(2, 60_000)
        for id in [other, empty] {
            var resource = try begin(id, run: order.run)
            if id == other { try sealNext(of: resource) }
            #expect(try SegmentReseal(store).finish(&resource))
        }
        // Old keys still have to be erased from the log and the backup.
        try expect(0, 0)
        try end()
        #expect(try backlog() == nil)
        try store.close()
    }

    @Test(
        "A reseal of named titles counts only those, including one that an earlier run began")
    func named() throws {
        let first = try SegmentReseal(store).order(of: [title], bytesPerSecond: nil, noting: vault.log(of: store))
        _ = try begin(title, run: first.run)
        try end()
        let order = try SegmentReseal(store).order(
            of: [title, other], bytesPerSecond: nil, noting: vault.log(of: store))
        #expect(order.run > first.run)
        try expect(2, 210_000)
        let resource = try begin(title, run: order.run)
        try sealNext(of: resource)
        let left = try ResealRows(store.index).resealTasks(of: resource, limit: 9).reduce(0) { $0 + $1.segment.length }
        try expect(2, 60_000 + left)
        try store.close()
    }

    @Test("A title that does not open counts until the reseal ends, and a removed title does not count")
    func unopened() throws {
        _ = try SegmentReseal(store).order(of: nil, bytesPerSecond: nil, noting: vault.log(of: store))
        try store.index.write { db in
            try db.execute(
                sql: "UPDATE resourceKey SET wrapped = zeroblob(60) WHERE resource = ?", arguments: [other.data])
        }
        try expect(3, 210_000)
        _ = try store.resources.remove(title)
        try expect(2, 60_000)
        try end()
        #expect(try backlog() == nil)
        try store.close()
    }

    @Test("Segments that a finished reseal left behind are not due, and their generation is left to a rewrap")
    func leftBehind() throws {
        let order = try SegmentReseal(store).order(of: nil, bytesPerSecond: nil, noting: vault.log(of: store))
        _ = try Generations(store).add(noting: vault.log(of: store))
        _ = try begin(other, run: order.run)
        try end()
        try expect(1, 60_000, isDue: false)
        try store.close()
    }

    @Test("Titles on all pages are counted")
    func pages() throws {
        for name in 0..<1200 { _ = try store.addMedia("more-\(name)", length: 1) }
        _ = try SegmentReseal(store).order(of: nil, bytesPerSecond: nil, noting: vault.log(of: store))
        try expect(1203, 210_000)
        try store.close()
    }
}
