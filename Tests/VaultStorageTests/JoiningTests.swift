import SeededRandom
import Synchronization
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("Joining: small neighbours become one segment, and at any moment all that was held is")
struct JoiningTests {
    private static let bytes = SeededGenerator.bytes(150_000, seed: 84)
    private static let cuts = [0, 1, 2, 40_000, 72_768, 72_778, 150_000]

    private let vault: TemporaryVault
    private let id: ResourceID

    /// A title in six segments side by side.
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

    /// Joins what can be joined.
    private static func join(_ id: ResourceID, in store: VaultStore) throws {
        let resource = try #require(try store.index.resource(id))
        while let old = try store.neighbours(of: resource, excluding: []) {
            let new = try #require(try store.join(old, of: resource))
            store.removeReplaced(old, by: [new])
        }
    }

    private static func check(_ store: VaultStore, _ id: ResourceID, _ comment: Comment = "") throws {
        let resource = try #require(try store.index.resource(id), comment)
        #expect(resource.serving?.held == ByteRanges(0..<150_000), comment)
        for run in try store.read(resource) {
            #expect(run.bytes == Array(bytes[Int(run.start)..<(Int(run.start) + run.bytes.count)]), comment)
        }
    }

    @Test("One file holds the bytes of six, and the room that is counted is what it takes")
    func whole() throws {
        let store = try vault.open()
        let before = try #require(try store.index.resource(id)?.serving)
        try Self.join(id, in: store)
        try Self.check(store, id)
        let after = try #require(try store.index.resource(id)?.serving)
        #expect(before.segments.count == 6 && after.segments.count == 1 && after.id == before.id)
        #expect(!before.segments.map(\.id).contains(after.segments[0].id), "it has an id of its own")
        let files = try TemporaryFolder.files(below: vault.folder + "/segments")
        let size = try files.reduce(0) { try $0 + SegmentDescription.diskSize(ofFile: PosixFileSystem().size(of: $1)) }
        #expect(try files.count == 1 && store.bytesUsed() == size && size == after.segments[0].diskSize)
        try store.close()
    }

    @Test("A reader that has one of them open goes on, and a segment with a bad block stays as it is")
    func beside() throws {
        let store = try vault.open()
        let resource = try #require(try store.index.resource(id))
        let open = try #require(resource.serving?.segments.first { $0.start == 2 })
        let reader = try store.reader(of: open, resource: resource)
        let bad = try #require(resource.serving?.segments.first { $0.start == 40_000 })
        try store.condemn(bad, for: .badBlock(0))
        try Self.join(id, in: store)
        #expect(try reader.bytes(open.range, of: open) == Array(Self.bytes[2..<40_000]))
        let starts = try #require(try store.index.resource(id)?.serving).segments.map(\.start)
        #expect(starts.sorted() == [0, 40_000, 72_768])
        try store.close()
    }

    @Test("A segment that was evicted while it was joined does not come back, and one that does not open costs nothing")
    func changed() throws {
        let store = try vault.open()
        let resource = try #require(try store.index.resource(id))
        let old = try #require(try store.neighbours(of: resource, excluding: []))
        let evicted = try #require(old.last)
        _ = try store.index.drop(evicted.id, doomed: false)
        #expect(try store.join(old, of: resource) == nil)
        #expect(try store.index.resource(id)?.serving?.segments.count == 5)
        try store.segments.remove(old[1].id)
        #expect(throws: SegmentFailure.self) { try store.join(Array(old.dropLast()), of: resource) }
        #expect(try store.index.resource(id)?.serving?.segments.count == 5)
        try store.close()
    }

    @Test("Where the limit leaves no room for the new one beside the old ones, they stay")
    func noRoom() throws {
        let store = try vault.open()
        let resource = try #require(try store.index.resource(id))
        let old = try #require(try store.neighbours(of: resource, excluding: []))
        store.enforce(RoomLimits(maxSize: try store.bytesUsed() + 4096))
        #expect(try store.join(old, of: resource) == nil)
        store.enforce(RoomLimits())
        #expect(try store.join(old, of: resource) != nil)
        try store.close()
    }

    @Test("Power lost at any point: all that was held is, and nothing is left over (C19)")
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

    @Test("Only what lies side by side and fits 8 MiB is joined, and few segments are left")
    func choice() throws {
        let seed = UInt64.random(in: 0 ..< .max)
        print("JoiningTests.choice: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            var segments: [SegmentDescription] = []
            var (position, runs) = (Int64(0), 1)
            for _ in 0..<Int.random(in: 1...600, using: &random) {
                if Int.random(in: 0..<40, using: &random) == 0, !segments.isEmpty {
                    position += .random(in: 1...9, using: &random)
                    runs += 1
                }
                let sizes: [Int64] = [1, 40_000, SegmentDescription.mostBytes]
                let most = sizes.randomElement(using: &random) ?? 1
                let length = Int64.random(in: 1...most, using: &random)
                segments.append(try Self.segment(position, length))
                position += length
            }
            let held = segments.reduce(into: ByteRanges()) { $0.insert(contentsOf: $1.range) }
            while let old = SegmentJoin.next(of: segments) {
                let length = old.reduce(0) { $0 + $1.length }
                #expect((2...SegmentJoin.mostFiles).contains(old.count) && length <= SegmentDescription.mostBytes)
                let first = try #require(segments.firstIndex(of: old[0]))
                #expect(Array(segments[first..<(first + old.count)]) == old, "they are neighbours")
                segments.replaceSubrange(first..<(first + old.count), with: [try Self.segment(old[0].start, length)])
            }
            #expect(segments.reduce(into: ByteRanges()) { $0.insert(contentsOf: $1.range) } == held, "seed \(seed)")
            let bytes = held.byteCount
            #expect(segments.count <= 2 * Int(bytes / SegmentDescription.mostBytes) + 2 * runs, "seed \(seed)")
        }
    }

    private static func segment(_ start: Int64, _ length: Int64) throws -> SegmentDescription {
        SegmentDescription(
            id: try Fresh.identifier("segment id"),
            representation: try #require(
                RepresentationID(bytes: [UInt8](repeating: 1, count: RepresentationKind.byteCount))),
            keyNumber: 1, blockSize: 32 << 10, start: start, length: length)
    }
}
