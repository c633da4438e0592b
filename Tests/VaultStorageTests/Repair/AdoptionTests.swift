import SeededRandom
import Synchronization
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("A segment file is adopted only if it is durable, and only once")
struct AdoptionTests {
    private static let bytes = SeededGenerator.bytes(100_000, seed: 81)

    /// A vault with one segment whose row was lost.
    private struct Orphaned {
        let vault = try? TemporaryVault()
        let resource: StoredResource
        let segment: SegmentDescription

        init() throws {
            let store = try #require(vault).open()
            resource = try store.addMedia("film", length: 100_000)
            segment = try #require(try store.store(bytes, at: 0, of: resource))
            try SegmentRows(store.index).drop(segment.id, deletesFile: false)
            try store.close()
        }
    }

    @Test("An adopted file's content and name are synced before its row is committed")
    func order() throws {
        let orphaned = try Orphaned()
        let vault = try #require(orphaned.vault)
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        let order = Mutex<[String]>([])
        disk.observe { call in
            let isCommitted = (try? VerificationRows(store.index).hasSegment(orphaned.segment.id)) ?? true
            order.withLock { $0.append("\(call.operation) \(isCommitted)") }
        }
        #expect(try UnindexedFiles(store).adopt(orphaned.segment))
        disk.observe(nil)
        #expect(order.withLock { $0 } == ["open false", "synchronize false", "synchronizeDirectory false"])
        try store.close()
    }

    @Test("A power loss at any point of an adoption leaves the orphan or the adopted segment, with the right bytes")
    func powerLoss() throws {
        let orphaned = try Orphaned()
        let vault = try #require(orphaned.vault)
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        let copies = try TemporaryFolder()
        let adopted = Mutex(0)
        @Sendable func losePower(_ name: String) {
            for seed in UInt64(0)..<4 {
                let copy = copies.path + "/\(name)-\(seed)"
                do {
                    try disk.loseEverythingUnsynced(tearing: seed, into: copy)
                    let opened = try VaultStore.open(at: copy + "/vault", keyring: vault.keyring, access: .owner)
                    let resource = try #require(try opened.index.resources.find(orphaned.resource.id))
                    for run in try opened.read(resource) {
                        #expect(run.bytes == Self.bytes)
                        adopted.withLock { $0 += 1 }
                    }
                    if resource.serving?.held.isEmpty == true {
                        let claimed = try #require(try UnindexedFiles(opened).claim(of: orphaned.segment.id))
                        #expect(claimed.fits && claimed.segment == orphaned.segment)
                    }
                    try opened.close()
                } catch {
                    Issue.record(error, "\(name), seed \(seed)")
                }
            }
        }
        disk.observe { losePower("before \($0.operation)") }
        #expect(try UnindexedFiles(store).adopt(orphaned.segment))
        disk.observe(nil)
        losePower("after")
        #expect(adopted.withLock { $0 } == 4)
        try store.close()
    }

    @Test("A file that cannot be synced is quarantined, because a later sync could succeed although bytes are lost")
    func failedSync() throws {
        let orphaned = try Orphaned()
        let vault = try #require(orphaned.vault)
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        disk.fail(.synchronize, of: orphaned.segment.id.hex, with: FileFailure(.other(5), "fdatasync: I/O error"))
        #expect(throws: VaultError.self) { try UnindexedFiles(store).adopt(orphaned.segment) }
        #expect(PosixFileSystem().exists(vault.folder + "/quarantine/" + orphaned.segment.id.hex))
        #expect(try !VerificationRows(store.index).hasSegment(orphaned.segment.id))
        try store.close()
    }

    @Test("A file that is pending deletion, or whose bytes are held, is not adopted")
    func refused() throws {
        let orphaned = try Orphaned()
        let store = try #require(orphaned.vault).open()
        _ = try store.store(Array(Self.bytes[500..<600]), at: 500, of: orphaned.resource)
        #expect(try !VerificationRows(store.index).isGap(orphaned.segment))
        #expect(try !UnindexedFiles(store).adopt(orphaned.segment))
        let id = try #require(try store.index.resources.find(orphaned.resource.id)?.serving?.segments.first?.id)
        try SegmentRows(store.index).drop(id, deletesFile: true)
        #expect(try UnindexedFiles(store).adopt(orphaned.segment))
        try SegmentRows(store.index).drop(orphaned.segment.id, deletesFile: true)
        let unindexed = try VerificationRows(store.index).unindexed([orphaned.segment.id])
        #expect(unindexed.isEmpty, "a file pending deletion must not be listed")
        #expect(try !UnindexedFiles(store).adopt(orphaned.segment))
        try store.close()
    }

    @Test(
        "Segment rows are read page by page in the order of their ranges, each exactly once",
        arguments: [1, 2, 7, 100])
    func pages(limit: Int) throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let resource = try store.addMedia("film", length: 1000)
        for number in [7, 2, 9, 0, 4, 1, 8, 3, 6, 5] {
            _ = try store.store([UInt8](repeating: 1, count: 10), at: Int64(number * 10), of: resource)
        }
        let representation = try #require(resource.serving).id
        var starts: [Int64] = []
        var place: StoredSegment.Place?
        while true {
            let page = try VerificationRows(store.index).segments(of: representation, after: place, limit: limit)
            #expect(page.count <= limit)
            guard let last = page.last else { break }
            starts += page.compactMap(\.range?.lowerBound)
            place = last.place
        }
        #expect(starts == (0..<10).map { Int64($0 * 10) })
        try store.close()
    }

    @Test("A segment is described by its header and file size, and an impossible size does not fit")
    func claims() throws {
        let orphaned = try Orphaned()
        let vault = try #require(orphaned.vault)
        let store = try vault.open()
        let file = try PosixFileSystem().open(vault.path(of: orphaned.segment.id), writable: true)
        let size = try file.size()
        for cut in Int64(1)...40 {
            try file.truncate(to: size - cut)
            let claimed = try #require(try UnindexedFiles(store).claim(of: orphaned.segment.id))
            #expect(claimed.segment.length == max(98_304, 100_000 - cut), "the last block must hold 1 696 bytes")
            #expect(claimed.fits, "a shorter last block must fit until its tag is checked")
            #expect(try claimed.reader.badBlocks(in: 0..<claimed.segment.blockCount, of: claimed.segment) == [3])
        }
        for rest in Int64(1)...16 {
            try file.truncate(to: 88 + 3 * 32_784 + rest)
            let claimed = try #require(try UnindexedFiles(store).claim(of: orphaned.segment.id))
            #expect(claimed.segment.length == 98_304 && !claimed.fits)
        }
        try file.truncate(to: 88 + 5)
        #expect(try UnindexedFiles(store).claim(of: orphaned.segment.id)?.fits == false)
        try file.truncate(to: 80)
        #expect(try UnindexedFiles(store).claim(of: orphaned.segment.id) == nil)
        try store.close()
    }
}
