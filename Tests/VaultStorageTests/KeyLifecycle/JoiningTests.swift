import SeededRandom
import Synchronization
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("Joining merges small adjacent segments into one and loses no held byte at any moment")
struct JoiningTests {
    private static let bytes = SeededGenerator.bytes(150_000, seed: 84)
    private static let cuts = [0, 1, 2, 40_000, 72_768, 72_778, 150_000]

    private let vault: TemporaryVault
    private let id: ResourceID

    /// A title in six adjacent segments.
    init() throws {
        vault = try TemporaryVault()
        let store = try vault.open()
        let resource = try store.addMedia("film", length: 150_000, resourceClass: .pinned)
        id = resource.id
        for (first, end) in zip(Self.cuts, Self.cuts.dropFirst()) {
            _ = try store.store(Array(Self.bytes[first..<end]), at: Int64(first), of: resource)
        }
        try store.close()
    }

    /// Joins all segments that can be joined.
    private static func join(_ id: ResourceID, in store: VaultStore) throws {
        let resource = try #require(try store.index.resources.find(id))
        while let old = try SegmentJoin(store).next(of: resource, excluding: [], isWhole: true) {
            let new = try #require(try SegmentJoin(store).join(old, of: resource))
            SegmentReseal(store).removeReplaced(old, by: [new])
        }
    }

    private static func check(_ store: VaultStore, _ id: ResourceID, _ comment: Comment = "") throws {
        let resource = try #require(try store.index.resources.find(id), comment)
        #expect(resource.serving?.held == ByteRanges(0..<150_000), comment)
        for run in try store.read(resource) {
            #expect(run.bytes == Array(bytes[Int(run.start)..<(Int(run.start) + run.bytes.count)]), comment)
        }
    }

    @Test("One file replaces six, and the used space equals its size")
    func whole() throws {
        let store = try vault.open()
        let before = try #require(try store.index.resources.find(id)?.serving)
        try Self.join(id, in: store)
        try Self.check(store, id)
        let after = try #require(try store.index.resources.find(id)?.serving)
        #expect(before.segments.count == 6 && after.segments.count == 1 && after.id == before.id)
        #expect(!before.segments.map(\.id).contains(after.segments[0].id), "the joined segment must have a new id")
        let files = try TemporaryFolder.files(below: vault.folder + "/segments")
        let size = try files.reduce(0) { try $0 + SegmentDescription.diskSize(ofFile: PosixFileSystem().size(of: $1)) }
        #expect(try files.count == 1 && store.bytesUsed() == size && size == after.segments[0].diskSize)
        try store.close()
    }

    @Test("A reader with an open old segment continues, and a segment with a bad block is not joined")
    func beside() throws {
        let store = try vault.open()
        let resource = try #require(try store.index.resources.find(id))
        let open = try #require(resource.serving?.segments.first { $0.start == 2 })
        let reader = try store.segments.reader(of: open, resource: resource)
        let bad = try #require(resource.serving?.segments.first { $0.start == 40_000 })
        try store.segments.invalidate(bad, for: .badBlock(0))
        try Self.join(id, in: store)
        #expect(try reader.bytes(open.range, of: open) == Array(Self.bytes[2..<40_000]))
        let starts = try #require(try store.index.resources.find(id)?.serving).segments.map(\.start)
        #expect(starts.sorted() == [0, 40_000, 72_768])
        try store.close()
    }

    @Test("Segments evicted during a join do not come back, and a join with an unreadable segment changes nothing")
    func changed() throws {
        let store = try vault.open()
        let resource = try #require(try store.index.resources.find(id))
        let old = try #require(try SegmentJoin(store).next(of: resource, excluding: [], isWhole: true))
        let evicted = try #require(old.last)
        _ = try SegmentRows(store.index).drop(evicted.id, deletesFile: false)
        #expect(try SegmentJoin(store).join(old, of: resource) == nil)
        #expect(try store.index.resources.find(id)?.serving?.segments.count == 5)
        try store.segmentFiles.remove(old[1].id)
        #expect(throws: SegmentFailure.self) { try SegmentJoin(store).join(Array(old.dropLast()), of: resource) }
        #expect(try store.index.resources.find(id)?.serving?.segments.count == 5)
        try store.close()
    }

    @Test("Segments are not joined if the limit leaves no space for the new one next to the old ones")
    func noSpace() throws {
        let store = try vault.open()
        let resource = try #require(try store.index.resources.find(id))
        let old = try #require(try SegmentJoin(store).next(of: resource, excluding: [], isWhole: true))
        let played = try store.addMedia("played", length: 200_000)
        _ = try store.store([UInt8](repeating: 1, count: 200_000), at: 0, of: played)
        for more: Int64 in [0, 4096, 100_000] {
            store.quota.enforce(StorageLimits(maxSize: try store.bytesUsed() + more))
            #expect(try SegmentJoin(store).join(old, of: resource) == nil)
        }
        #expect(
            try store.index.resources.find(played.id)?.serving?.segments.count == 1,
            "no title may be evicted for a join")
        store.quota.enforce(StorageLimits(maxSize: try store.bytesUsed() + 200_000))
        #expect(try SegmentJoin(store).join(old, of: resource) != nil)
        try store.close()
    }

    @Test("After a power loss at any point of a join, all held bytes are held and no file is left over")
    func powerLoss() throws {
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        let copies = try TemporaryFolder()
        let seed = UInt64.random(in: 0 ..< .max)
        let points = Mutex(0)
        let (id, keyring) = (id, vault.keyring)
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
                    try Self.join(id, in: opened)
                    try Self.check(opened, id, comment)
                    let files = try TemporaryFolder.files(below: copy + "/vault/segments")
                    #expect(files.count == 1, comment)
                    try opened.close()
                } catch {
                    Issue.record(error, comment)
                }
                try? TemporaryFolder.remove(copy)
            }
        }
        try Self.join(id, in: store)
        disk.observe(nil)
        #expect(points.withLock { $0 } > 10)
        try store.close()
    }

    @Test(
        "A full disk during a join changes nothing, and no title is evicted for it",
        arguments: [0, 4096, 20_000, 60_000, 100_000, 140_000, 160_000] as [Int64])
    func fullDisk(room: Int64) throws {
        let disk = vault.simulatedFileSystem(seesIndex: true)
        let store = try vault.open(fileSystem: disk)
        let played = try store.addMedia("played", length: 40_000)
        _ = try store.store(Array(Self.bytes[0..<40_000]), at: 0, of: played)
        store.quota.keepReserve()
        let resource = try #require(try store.index.resources.find(id))
        let old = try #require(try SegmentJoin(store).next(of: resource, excluding: [], isWhole: true))
        let used = try store.bytesUsed()
        disk.fill(leaving: room)
        let joined = try? SegmentJoin(store).join(old, of: resource)
        disk.fill(leaving: nil)
        Recovery(store).finishPendingWork()
        try #require(joined == nil || room > 150_000)
        if let joined { SegmentReseal(store).removeReplaced(old, by: [joined]) }
        try Self.check(store, id)
        #expect(try store.index.resources.find(played.id)?.serving?.held == ByteRanges(0..<40_000))
        #expect(try joined != nil || store.bytesUsed() == used)
        try Self.join(id, in: store)
        try Self.check(store, id)
        let files = try TemporaryFolder.files(below: vault.folder + "/segments")
        let size = try files.reduce(0) { try $0 + SegmentDescription.diskSize(ofFile: PosixFileSystem().size(of: $1)) }
        #expect(try files.count == 2 && store.bytesUsed() == size)
        try store.close()
    }

    @Test("Only adjacent segments that fit into 8 MiB are joined, and a complete title ends in few segments")
    func choice() throws {
        let seed = UInt64.random(in: 0 ..< .max)
        print("JoiningTests.choice: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            var ranges: [ByteRange] = []
            var (position, runs) = (Int64(0), 1)
            for _ in 0..<Int.random(in: 1...600, using: &random) {
                if Int.random(in: 0..<40, using: &random) == 0, !ranges.isEmpty {
                    position += .random(in: 1...9, using: &random)
                    runs += 1
                }
                let sizes: [Int64] = [1, 40_000, SegmentDescription.maxBytes]
                let length = Int64.random(in: 1...(sizes.randomElement(using: &random) ?? 1), using: &random)
                ranges.append(position..<position + length)
                position += length
            }
            let held = ranges.reduce(into: ByteRanges()) { $0.insert(contentsOf: $1) }
            while let chosen = SegmentJoin.next(of: ranges, isWhole: true) { try Self.join(chosen, of: &ranges) }
            #expect(ranges.reduce(into: ByteRanges()) { $0.insert(contentsOf: $1) } == held, "seed \(seed)")
            let most = 2 * Int(held.byteCount / SegmentDescription.maxBytes) + 2 * runs
            #expect(ranges.count <= most, "seed \(seed)")
        }
    }

    @Test(
        "A title that arrives block by block is joined repeatedly, and each byte is sealed only a few times",
        arguments: [
            true, false,
        ])
    func growth(inOrder: Bool) throws {
        let seed = UInt64.random(in: 0 ..< .max)
        print("JoiningTests.growth: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let block: Int64 = 32 << 10
        let count = 2 * SegmentDescription.maxBytes / block
        var order = Array(0..<count)
        if !inOrder { order.shuffle(using: &random) }
        var ranges: [ByteRange] = []
        var sealed: Int64 = 0
        for index in order {
            let place = ranges.firstIndex { $0.lowerBound > index * block } ?? ranges.endIndex
            ranges.insert(index * block..<(index + 1) * block, at: place)
            while let chosen = SegmentJoin.next(of: ranges, isWhole: false) {
                sealed += try Self.join(chosen, of: &ranges)
            }
        }
        let held = count * block
        #expect(sealed <= 14 * held, "each join must make a byte's segment at least half as large again, seed \(seed)")
        #expect(ranges.count <= 32, "seed \(seed)")
        while let chosen = SegmentJoin.next(of: ranges, isWhole: true) { try Self.join(chosen, of: &ranges) }
        #expect(ranges.count <= 4, "seed \(seed)")
    }

    /// Joins ranges, and requires that they are adjacent and fit into one segment.
    ///
    /// - Returns: The number of bytes that the join seals.
    @discardableResult
    private static func join(_ chosen: Range<Int>, of ranges: inout [ByteRange]) throws -> Int64 {
        let old = ranges[chosen]
        let joined = try #require(old.first).lowerBound..<(try #require(old.last).upperBound)
        #expect((2...SegmentJoin.maxFiles).contains(old.count) && joined.length <= SegmentDescription.maxBytes)
        #expect(old.reduce(0) { $0 + $1.length } == joined.length, "the ranges must be adjacent")
        ranges.replaceSubrange(chosen, with: [joined])
        return joined.length
    }
}
