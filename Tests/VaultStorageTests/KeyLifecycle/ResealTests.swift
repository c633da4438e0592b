import SeededRandom
import Synchronization
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("While a reseal runs, each segment is readable with either the old or the new key")
struct ResealTests {
    private static let bytes = SeededGenerator.bytes(150_000, seed: 83)
    private static let held = ByteRanges([0..<32_768, 65_536..<150_000])

    private let vault: TemporaryVault
    private let id: ResourceID

    /// A title in two segments, with a bad second block in the first.
    init() throws {
        vault = try TemporaryVault()
        let store = try vault.open()
        let resource = try store.addMedia("film", length: 150_000, resourceClass: .pinned)
        id = resource.id
        let first = try #require(try store.store(Array(Self.bytes[..<100_000]), at: 0, of: resource))
        _ = try store.store(Array(Self.bytes[100_000...]), at: 100_000, of: resource)
        try store.segments.invalidate(first, for: .badBlock(1))
        try store.close()
    }

    /// Reseals a resource from its current state to the end.
    private static func reseal(_ id: ResourceID, in store: VaultStore, run: Int64) throws {
        var resource = try #require(try store.index.resources.find(id))
        guard try SegmentReseal(store).begin(&resource, run: run) == true else { return }
        try store.catalogBackup.write()
        while let task = try ResealRows(store.index).resealTasks(of: resource, limit: 1).first {
            let new = try #require(try SegmentReseal(store).reseal(task, of: resource))
            SegmentReseal(store).removeReplaced([task.segment], by: new)
        }
        #expect(try SegmentReseal(store).finish(&resource))
        try store.erasure.carryOut()
    }

    /// Requires that exactly the original bytes are held.
    private static func check(_ store: VaultStore, _ id: ResourceID, _ comment: Comment = "") throws {
        let resource = try #require(try store.index.resources.find(id), comment)
        #expect(resource.serving?.held == held, comment)
        for run in try store.read(resource) {
            #expect(run.bytes == Array(bytes[Int(run.start)..<(Int(run.start) + run.bytes.count)]), comment)
        }
    }

    @Test("A reseal keeps the bytes and gaps under a new key and new ids, and the used space equals the files")
    func whole() throws {
        let store = try vault.open()
        let before = try #require(try store.index.resources.find(id))
        try Self.reseal(id, in: store, run: 1)
        let after = try #require(try store.index.resources.find(id))
        #expect(before.keyNumber == 1 && after.keyNumber == 2 && Array(after.keys.keys) == [2])
        #expect(after.serving?.id == before.serving?.id && after.metadata.url == before.metadata.url)
        let ids = { (resource: StoredResource) in Set(resource.serving?.segments.map(\.id) ?? []) }
        #expect(ids(before).isDisjoint(with: ids(after)) && ids(after).count == 3)
        try Self.check(store, id)
        let files = try TemporaryFolder.files(below: vault.folder + "/segments")
        let size = try files.reduce(0) {
            try $0 + SegmentDescription.diskSize(ofFile: PosixFileSystem().size(of: $1))
        }
        #expect(try files.count == 3 && store.bytesUsed() == size)
        try Self.reseal(id, in: store, run: 1)
        #expect(try store.index.resources.find(id)?.keyNumber == 2, "a run must reseal a title only once")
        try Self.reseal(id, in: store, run: 2)
        #expect(try store.index.resources.find(id)?.keyNumber == 3)
        try store.close()
    }

    @Test("A segment that overlaps a neighbour cannot replace an old one, and nothing changes")
    func overlapping() throws {
        let store = try vault.open()
        let resource = try #require(try store.index.resources.find(id))
        let segments = try #require(resource.serving?.segments.sorted { $0.start < $1.start })
        try #require(segments.map(\.range) == [0..<100_000, 100_000..<150_000])
        let old = segments[0]
        // The new segment overlaps some, all, or one of the neighbour's bytes.
        for (start, length) in [(50_000, 60_000), (90_000, 60_000), (100_000, 50_000), (0, 100_001)] as [(Int64, Int64)]
        {
            var new = SegmentDescription(
                id: try SecureRandom.identifier("segment id"), representation: old.representation,
                keyNumber: old.keyNumber, blockSize: old.blockSize, start: start, length: 0)
            try SegmentRows(store.index).begin(new, now: 0)
            new.length = length
            let error = #expect(throws: VaultError.self) { try SegmentRows(store.index).exchange([old], for: [new]) }
            #expect(error?.code == .integrity, "\(start)")
            try store.segments.discard(new.id)
            try Self.check(store, id)
        }
        try store.close()
    }

    @Test(
        "No segment begins under a replaced key, and a growing segment keeps its key until it is closed"
    )
    func growing() throws {
        let store = try vault.open()
        let old = try #require(try store.index.resources.find(id))
        var writer = try store.segments.begin(at: 32_768, of: old)
        try writer.append(Self.bytes[32_768..<65_536])
        var resource = old
        #expect(try SegmentReseal(store).begin(&resource, run: 1) == true)
        let error = #expect(throws: VaultError.self) { _ = try store.segments.begin(at: 40_000, of: old) }
        #expect(error?.code == .changed)
        for task in try ResealRows(store.index).resealTasks(of: resource, limit: 9) where !task.isOpen {
            let new = try #require(try SegmentReseal(store).reseal(task, of: resource))
            SegmentReseal(store).removeReplaced([task.segment], by: new)
        }
        #expect(try !SegmentReseal(store).finish(&resource), "the open segment must still need the old key")
        #expect(try store.index.resources.find(id)?.keys.count == 2)
        _ = try store.segments.close(writer)
        let task = try #require(try ResealRows(store.index).resealTasks(of: resource, limit: 9).first)
        let new = try #require(try SegmentReseal(store).reseal(task, of: resource))
        SegmentReseal(store).removeReplaced([task.segment], by: new)
        #expect(try SegmentReseal(store).finish(&resource))
        let after = try #require(try store.index.resources.find(id))
        #expect(after.serving?.held == ByteRanges(0..<150_000))
        try store.close()
    }

    @Test("A segment that was evicted while it was resealed does not come back")
    func evicted() throws {
        let store = try vault.open()
        var resource = try #require(try store.index.resources.find(id))
        _ = try SegmentReseal(store).begin(&resource, run: 1)
        let task = try #require(try ResealRows(store.index).resealTasks(of: resource, limit: 1).first)
        try store.segments.discard(task.segment.id)
        #expect(throws: (any Error).self) { try SegmentReseal(store).reseal(task, of: resource) }
        #expect(try TemporaryFolder.files(below: vault.folder + "/segments").count == 1)
        try store.close()
    }

    @Test("After a power loss at any point of a reseal, all held bytes are held and the reseal can finish")
    func powerLoss() throws {
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        let copies = try TemporaryFolder()
        let seed = UInt64.random(in: 0 ..< .max)
        let points = Mutex(0)
        let id = id
        let keyring = vault.keyring
        disk.observe { call in
            let point = points.withLock {
                $0 += 1
                return $0
            }
            for outcome in UInt64(0)..<2 {
                let copy = copies.path + "/\(point)-\(outcome)"
                let comment: Comment = "before \(call.operation), point \(point), outcome \(outcome), seed \(seed)"
                do {
                    try disk.loseEverythingUnsynced(tearing: (seed &+ UInt64(point)) << 1 | outcome, into: copy)
                    let opened = try VaultStore.open(at: copy + "/vault", keyring: keyring, access: .owner)
                    try Self.check(opened, id, comment)
                    try Self.reseal(id, in: opened, run: 1)
                    try Self.check(opened, id, comment)
                    #expect(try opened.index.resources.find(id)?.keys.count == 1, comment)
                    let files = try TemporaryFolder.files(below: copy + "/vault/segments")
                    #expect(files.count == 3, comment)
                    try opened.close()
                } catch {
                    Issue.record(error, comment)
                }
                try? TemporaryFolder.remove(copy)
            }
        }
        try Self.reseal(id, in: store, run: 1)
        disk.observe(nil)
        #expect(points.withLock { $0 } > 25)
        try store.close()
    }

    @Test("An index lost during a reseal is rebuilt with all held bytes")
    func rebuiltMidway() throws {
        let store = try vault.open()
        var resource = try #require(try store.index.resources.find(id))
        _ = try SegmentReseal(store).begin(&resource, run: 1)
        try store.catalogBackup.write()
        let task = try #require(try ResealRows(store.index).resealTasks(of: resource, limit: 1).first)
        let new = try #require(try SegmentReseal(store).reseal(task, of: resource))
        SegmentReseal(store).removeReplaced([task.segment], by: new)
        try store.index.close()
        store.giveUpLock()
        for suffix in ["", "-wal", "-shm"] { try PosixFileSystem().remove(vault.folder + "/index.sqlite" + suffix) }
        let rebuild = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: false)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        _ = try rebuild.finish()
        let again = try vault.open()
        let rebuilt = try #require(try again.index.resources.find(id))
        #expect(Set(rebuilt.serving?.segments.map(\.keyNumber) ?? []) == [1, 2])
        // Only a row of the index marked the block as bad. Its bytes are good, and held again if its segment was not
        // resealed.
        let held = rebuilt.serving?.held ?? ByteRanges()
        #expect(Self.held.subtracting(held).isEmpty)
        try Self.reseal(id, in: again, run: 1)
        let resealed = try #require(try again.index.resources.find(id))
        #expect(resealed.serving?.held == held && resealed.keys.count == 1)
        try again.close()
    }

    @Test("The queue starts with begun titles, then by oldest generation, then by latest access")
    func order() throws {
        let clock = TestClock()
        let store = try vault.open(now: { clock.now })
        let old = try store.addMedia("old", length: 1).id
        clock.advance(by: 7200)
        let recent = try store.addMedia("recent", length: 1).id
        _ = try Generations(store).add(noting: vault.log(of: store))
        clock.advance(by: 7200)
        let newer = try store.addMedia("newer", length: 1)
        // The fixture's title was added by the wall clock, which is later than the test clock.
        #expect(try ResealRows(store.index).resealQueue() == [id, recent, old, newer.id])
        var begun = newer
        _ = try SegmentReseal(store).begin(&begun, run: 1)
        #expect(try ResealRows(store.index).resealQueue().first == newer.id)
        try store.close()
    }

    @Test(
        "A new reseal order is merged with an unfinished one",
        arguments: [
            (nil, nil, 4, nil), (["a"], nil, 4, ["a"]), (nil, ["a"], 4, nil), (["a"], ["b"], 3, ["a", "b"]),
        ] as [([String]?, [String]?, Int64, [String]?)])
    func orders(asked: [String]?, left: [String]?, run: Int64, together: [String]?) throws {
        func ids(_ names: [String]?) -> Set<ResourceID>? {
            names.map { Set($0.compactMap { ResourceID(hex: String(repeating: $0 + $0, count: 32)) }) }
        }
        let unfinished = left.map { ResealOrder(run: 3, resources: ids($0), bytesPerSecond: nil, after: 5) }
        let order = ResealOrder.order(for: ids(asked), bytesPerSecond: 9, unfinished: unfinished, lastRun: 3, after: 8)
        // If the run continues, some of its receipts may already be written.
        let after: Int64 = run == 3 ? 5 : 8
        #expect(order == ResealOrder(run: run, resources: ids(together), bytesPerSecond: 9, after: after))
        #expect(ResealOrder(order.object) == order)
        let whole = ResealOrder(run: 3, resources: nil, bytesPerSecond: 1, after: 5)
        let gone = ResealOrder.order(for: ids(asked), bytesPerSecond: 9, unfinished: whole, lastRun: 3, after: 8)
        #expect(gone == ResealOrder(run: 3, resources: nil, bytesPerSecond: 9, after: 5))
    }

    @Test("A reseal has no receipt while an old key may remain in the backup of the catalog")
    func receiptLast() throws {
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        let log = vault.log(of: store)
        let order = try SegmentReseal(store).order(of: [id], bytesPerSecond: nil, noting: log)
        try Self.reseal(id, in: store, run: order.run)
        let receipts = { try AuditLog.report(on: vault.folder, keyring: store.keyring).receipts.map(\.act) }
        store.noteChange()
        _ = try store.resources.remove(store.addMedia("other", length: 1).id)
        try store.index.write { db in try PendingErasure.record(db) }
        disk.fail(.create, of: "catalog.backup", with: FileFailure(.noSpace, "no space"))
        #expect(throws: VaultError.self) { try SegmentReseal(store).finishOrder(order, of: [id], noting: log) }
        #expect(try receipts().isEmpty && store.index.settings().resealOrder != nil)
        try SegmentReseal(store).finishOrder(order, of: [id], noting: log)
        #expect(try receipts() == [.reseal] && store.index.settings().resealOrder == nil)
        try store.close()
    }

    @Test("A replacement that overlaps another segment during a reseal is refused and changes nothing")
    func overlappingExchange() throws {
        let store = try vault.open()
        var resource = try #require(try store.index.resources.find(id))
        #expect(try SegmentReseal(store).begin(&resource, run: 1) == true)
        let old = try #require(try ResealRows(store.index).resealTasks(of: resource, limit: 1).first).segment
        #expect(old.range == 0..<100_000, "the other segment must begin where this one ends")
        var new = SegmentDescription(
            id: try SecureRandom.identifier("segment id"), representation: old.representation,
            keyNumber: resource.keyNumber,
            blockSize: VaultStore.blockSize, start: 65_536, length: 0)
        try SegmentRows(store.index).begin(new, now: 0)
        new.length = 34_465
        let error = #expect(throws: VaultError.self) { try SegmentRows(store.index).exchange([old], for: [new]) }
        #expect(error?.code == .integrity)
        #expect(try ResealRows(store.index).resealTasks(of: resource, limit: 9).contains { $0.segment == old })
        #expect(try SegmentRows(store.index).segmentsPendingDeletion(limit: 9).isEmpty)
        new.length = 34_464
        let isExchanged = try SegmentRows(store.index).exchange([old], for: [new])
        #expect(isExchanged, "a replacement that is one byte shorter must succeed")
        try store.close()
    }
}
