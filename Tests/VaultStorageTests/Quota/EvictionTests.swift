import Foundation
import GRDB
import SeededRandom
import Synchronization
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("Eviction frees space for the bytes about to be written")
struct EvictionTests {
    private static let bytes = SeededGenerator.bytes(400_000, seed: 51)

    /// Stores that many segments of 40 000 bytes each, in order; each file has 40 120 bytes.
    @discardableResult
    private static func fill(
        _ store: VaultStore, _ name: String, segments: Int = 1, _ resourceClass: ResourceClass = .cache,
        ofLength length: Int64? = nil
    ) throws -> StoredResource {
        let resource = try store.addMedia(name, length: 400_000, resourceClass: resourceClass)
        for number in 0..<segments {
            let start = number * 40_000
            var writer = try store.segments.begin(at: Int64(start), of: resource, WriteEstimate(length: length))
            try writer.append(bytes[start..<(start + 40_000)], in: store, WriteEstimate(length: length))
            _ = try store.segments.close(writer)
        }
        return resource
    }
    private static let fileSize: Int64 = 40_960

    private static func held(_ store: VaultStore, _ resource: StoredResource) throws -> ByteRanges? {
        try store.index.resources.find(resource.id).map { $0.serving?.held ?? ByteRanges() }
    }

    @Test("The least recently read title is evicted, tail first, and its resource goes with its last byte")
    func oldest() throws {
        let vault = try TemporaryVault()
        let clock = TestClock()
        let disk = MeteredFileSystem()
        let store = try vault.open(fileSystem: disk, now: { clock.now })
        store.quota.enforce(StorageLimits(maxSize: 5 * Self.fileSize))
        let old = try Self.fill(store, "old", segments: 3)
        clock.advance(by: 3600)
        let kept = try Self.fill(store, "kept", segments: 2)
        clock.advance(by: 3600)
        let new = try Self.fill(store, "new", segments: 2)
        #expect(try Self.held(store, old) == ByteRanges(0..<40_000), "the start must stay")
        #expect(try Self.held(store, kept) == ByteRanges(0..<80_000))
        #expect(try Self.held(store, new) == ByteRanges(0..<80_000))
        #expect(store.quota.used == 5 * Self.fileSize && disk.total == store.quota.used)
        #expect(disk.most == 5 * Self.fileSize, "the limit must never be exceeded")
        clock.advance(by: 3600)
        try Self.fill(store, "newest")
        #expect(try Self.held(store, old) == nil, "a resource without bytes must be removed from the index")
        #expect(store.quota.evictions.bytes == 3 * Self.fileSize)
        #expect(try store.index.resources.totals().pendingDeletions == 0)
        try store.close()
        let reopened = try vault.open()
        #expect(reopened.quota.used == 5 * Self.fileSize, "opening must count the used space from the index")
    }

    @Test("What is read after it was chosen stays, with all its bytes; what was not read since goes")
    func readMeanwhile() throws {
        let vault = try TemporaryVault()
        let clock = TestClock()
        let store = try vault.open(now: { clock.now })
        let (read, unread) = (try Self.fill(store, "read"), try Self.fill(store, "unread"))
        let candidates = try [read, unread].compactMap { try EvictionRows(store.index).candidate($0.id) }
        let plan = EvictionPlan(freeing: 2 * Self.fileSize, of: candidates, inUse: [])
        #expect(Set(plan.victims.map(\.resource)) == [read.id, unread.id])
        clock.advance(by: 3600)
        try store.resources.touch([read.id])
        let evicted = try EvictionRows(store.index).evict(plan.victims) { _ in true }
        #expect(evicted.victims.map(\.resource) == [unread.id] && evicted.resources == 1)
        #expect(try Self.held(store, read) == ByteRanges(0..<40_000))
        #expect(try Self.held(store, unread) == nil)
    }

    @Test("Downloads are evicted after cached titles and keep their rows, and pinned titles and those in use stay")
    func classes() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let pinned = try Self.fill(store, "pinned", .pinned)
        let download = try Self.fill(store, "download", .download)
        let playing = try Self.fill(store, "playing")
        let cache = try Self.fill(store, "cache")
        #expect(
            try SegmentRows(store.index).fileBytesByClass()
                == [.pinned: Self.fileSize, .download: Self.fileSize, .cache: 2 * Self.fileSize])
        store.quota.setResourceUse(ResourceUse(all: { [playing.id] }, forget: { $0 != playing.id }))
        store.quota.enforce(StorageLimits(maxSize: 4 * Self.fileSize, evictsDownloads: true))
        try Self.fill(store, "one", .download)
        #expect(try Self.held(store, cache) == nil)
        #expect(try Self.held(store, download)?.isEmpty == false)
        try Self.fill(store, "two", .download)
        let left = try [pinned, playing].map { try Self.held(store, $0)?.byteCount }
        #expect(left == [40_000, 40_000])
        #expect(store.quota.used == 4 * Self.fileSize)
        // One of the two downloads was evicted, chosen by id, since both were last read in this hour.
        let downloads = try store.index.resources.page(after: nil, limit: 9).compactMap(\.resource)
            .filter { $0.resourceClass == .download }
        #expect(downloads.count == 3 && downloads.count { $0.serving?.held.isEmpty == true } == 1)
    }

    @Test("If all titles are pinned or in use, nothing is written and the error reports it")
    func quotaExceeded() throws {
        let vault = try TemporaryVault()
        let disk = MeteredFileSystem()
        let store = try vault.open(fileSystem: disk)
        try Self.fill(store, "pinned", segments: 2, .pinned)
        store.quota.enforce(StorageLimits(maxSize: 2 * Self.fileSize))
        let error = #expect(throws: VaultError.self) { try Self.fill(store, "film") }
        #expect(error?.code == .quotaExceeded)
        #expect(try store.index.resources.totals().segments == 2 && store.quota.used == 2 * Self.fileSize)
        #expect(disk.most == 2 * Self.fileSize)
    }

    @Test("A title larger than the limit uses only free space and evicts no other title")
    func oversize() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let other = try Self.fill(store, "other")
        store.quota.enforce(StorageLimits(maxSize: 3 * Self.fileSize))
        let error = #expect(throws: VaultError.self) { try Self.fill(store, "film", segments: 9, ofLength: 360_000) }
        #expect(error?.code == .quotaExceeded)
        #expect(try Self.held(store, other)?.byteCount == 40_000)
        #expect(try store.index.resources.totals().segments == 3)
    }

    @Test("A resource that comes into use right before its eviction stays")
    func claimed() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let wanted = try Self.fill(store, "wanted")
        store.quota.setResourceUse(ResourceUse(all: { [] }, forget: { $0 != wanted.id }))
        let gone = try store.quota.prune(StorageLimits(maxSize: 1))
        #expect(gone == EvictionCounters())
        #expect(try Self.held(store, wanted)?.byteCount == 40_000)
    }

    @Test("Pruning removes titles that are too old, even if empty, and then bytes over the limit")
    func prune() throws {
        let vault = try TemporaryVault()
        let clock = TestClock(at: 1_700_000_000 / 3600 * 3600)
        let store = try vault.open(now: { clock.now })
        let day: Int64 = 86_400
        let old = try Self.fill(store, "old", segments: 2)
        let empty = try store.addMedia("never stored", length: 9)
        let download = try Self.fill(store, "download", .download)
        clock.advance(by: 89 * day)
        let new = try Self.fill(store, "new", segments: 2)
        let limits = StorageLimits(maxAge: 90 * day)
        #expect(try store.quota.prune(limits) == EvictionCounters())
        clock.advance(by: day)
        #expect(
            try store.quota.previewPrune(limits)
                == EvictionCounters(resources: 2, segments: 2, bytes: 2 * Self.fileSize))
        #expect(try Self.held(store, old)?.byteCount == 80_000, "a preview must remove nothing")
        #expect(try store.quota.prune(limits) == EvictionCounters(resources: 2, segments: 2, bytes: 2 * Self.fileSize))
        #expect(try [old, empty].allSatisfy { try Self.held(store, $0) == nil })
        #expect(try Self.held(store, download)?.byteCount == 40_000)
        let less = StorageLimits(maxSize: 2 * Self.fileSize, evictsDownloads: true)
        let rehearsed = try store.quota.previewPrune(less)
        let gone = try store.quota.prune(less)
        #expect(gone == EvictionCounters(resources: 0, segments: 1, bytes: Self.fileSize) && rehearsed == gone)
        #expect(try Self.held(store, new) == ByteRanges(0..<40_000))
        #expect(try store.quota.prune(StorageLimits()) == EvictionCounters())
    }

    @Test("What would be evicted next is told in the order in which a limit evicts it, and evicts nothing")
    func next() throws {
        let vault = try TemporaryVault()
        let clock = TestClock(at: 1_700_000_000 / 3600 * 3600)
        let store = try vault.open(now: { clock.now })
        var names: [ResourceID] = [try Self.fill(store, "download", .download).id]
        for name in ["first", "second", "third"] {
            clock.advance(by: 3600)
            names.append(try Self.fill(store, name, segments: 2).id)
        }
        _ = try Self.fill(store, "pinned", .pinned)
        let played = try store.quota.next(10, of: [.cache])
        #expect(played.map(\.resource) == [names[1], names[2], names[3]])
        #expect(played.map(\.bytes) == Array(repeating: 2 * Self.fileSize, count: 3))
        #expect(try store.quota.next(10, of: [.cache, .download]).map(\.resource) == Array(names[1...]) + [names[0]])
        #expect(try store.quota.next(2, of: [.cache]).map(\.resource) == [names[1], names[2]])
        let used = store.quota.used
        _ = try store.quota.prune(StorageLimits(maxSize: used - 2 * Self.fileSize))
        #expect(try store.quota.next(10, of: [.cache]).map(\.resource) == [names[2], names[3]])
    }

    @Test("The minimum of free disk space is kept by evicting cached titles, but not downloads")
    func minFree() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        try Self.fill(store, "download", .download)
        let cache = try Self.fill(store, "cache", segments: 2)
        store.quota.enforce(StorageLimits(minFree: 1_000_000))
        disk.claimFree(1_000_000 + 50_000)
        try Self.fill(store, "fits", .download)
        #expect(try Self.held(store, cache)?.byteCount == 80_000)
        disk.claimFree(1_000_000 + 100)
        try Self.fill(store, "fits in its place", .download)
        #expect(try Self.held(store, cache)?.byteCount == 40_000)
        disk.claimFree(1_000_000 - 50_000)
        let error = #expect(throws: VaultError.self) { try Self.fill(store, "does not", .download) }
        #expect(error?.code == .quotaExceeded)
        #expect(try Self.held(store, cache) == nil)
        #expect(try store.index.resources.totals().bytes == 120_000, "the downloads must stay")
    }

    @Test("Files that cannot be removed free no space, and only rows of attempted removals are dropped")
    func stuck() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        for name in 0..<6 { try Self.fill(store, "film \(name)") }
        store.quota.enforce(StorageLimits(maxSize: 6 * Self.fileSize))
        disk.fail(.remove, of: "/segments/", lasting: true, with: FileFailure(.other(5), "unlink: Input/output error"))
        let error = #expect(throws: VaultError.self) { try Self.fill(store, "one more") }
        #expect(error?.code == .quotaExceeded)
        #expect(try store.index.resources.totals().segments >= 5)
        #expect(store.quota.used == 6 * Self.fileSize, "files that are still there must count")
        disk.mend()
        try store.removal.finish()
        try Self.fill(store, "one more still")
        #expect(store.quota.used <= 6 * Self.fileSize)
    }

    @Test("If the index cannot grow, cached titles are evicted, even if a file is removed before its row")
    func indexFull() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let cache = try Self.fill(store, "cache", segments: 3)
        try store.index.database.withoutTransaction { db in
            // The index cannot grow, as on a full disk.
            try db.execute(sql: "PRAGMA max_page_count = 1")
        }
        var added = 0
        while added < 200, (try? store.addMedia("title \(added)", length: 10)) != nil { added += 1 }
        #expect(added < 200, "the index never became full, so this test proves nothing")
        #expect(try Self.held(store, cache) == nil, "the cached title must be evicted for the index")
        #expect(store.quota.used == 0)
        try store.close()
        #expect(try vault.open().quota.used == 0)
    }

    @Test("Removal leaves no row, no file, and no key in the index, its log or the backup")
    func remove() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let title = try Self.fill(store, "film", segments: 3, .pinned)
        try store.catalogBackup.write()
        let wrapped = try store.index.read { db in
            try #require(
                try Data.fetchOne(
                    db, sql: "SELECT wrapped FROM resourceKey WHERE resource = ?", arguments: [title.id.data]))
        }
        func traces() throws -> Int {
            try TemporaryFolder.files(below: vault.folder).count {
                try PosixFileSystem().contents(of: $0, atMost: 1 << 24).firstRange(of: Array(wrapped)) != nil
            }
        }
        #expect(try traces() > 0)
        #expect(try store.resources.remove(title.id) == 3 * Self.fileSize)
        #expect(try traces() == 0)
        #expect(try store.index.resources.find(title.id) == nil && store.quota.used == 0)
        #expect(try TemporaryFolder.files(below: vault.folder + "/segments").isEmpty)
        #expect(try store.resources.remove(title.id) == nil)
    }

    @Test("A removal that leaves traces is reported, and finished later")
    func unfinished() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        let title = try Self.fill(store, "film")
        disk.fail(.rename, of: "catalog.backup", with: FileFailure(.other(5), "rename: Input/output error"))
        let error = #expect(throws: VaultError.self) { try store.resources.remove(title.id) }
        #expect(error?.code == .storage)
        #expect(try store.index.resources.find(title.id) == nil, "the title must be removed anyway")
        try store.erasure.carryOut()
        #expect(try CatalogBackupTests.resourceCount(vault.folder + "/catalog.backup") == 0)
    }

    @Test("After a power loss at any moment of an eviction the vault opens and has no file without a row")
    func powerLoss() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        let pinned = try Self.fill(store, "pinned", segments: 2, .pinned)
        for name in 0..<3 { try Self.fill(store, "film \(name)", segments: 2) }
        store.quota.enforce(StorageLimits(maxSize: 8 * Self.fileSize))
        let copies = try TemporaryFolder()
        let seed = UInt64.random(in: 0 ..< .max)
        let points = Mutex(0)
        disk.observe { call in
            let point = points.withLock {
                $0 += 1
                return $0
            }
            for outcome in UInt64(0)..<4 {
                let copy = copies.path + "/\(point)-\(outcome)"
                let comment: Comment = "before \(call.operation), point \(point), seed \(seed), outcome \(outcome)"
                do {
                    try disk.loseEverythingUnsynced(tearing: (seed &+ UInt64(point)) << 2 | outcome, into: copy)
                    let opened = try VaultStore.open(at: copy + "/vault", keyring: vault.keyring, access: .owner)
                    #expect(try Self.held(opened, pinned) == ByteRanges(0..<80_000), comment)
                    for resource in try opened.index.resources.page(after: nil, limit: 9).compactMap(\.resource) {
                        for run in try opened.read(resource) {
                            let first = Int(run.start)
                            #expect(run.bytes == Array(Self.bytes[first..<(first + run.bytes.count)]), comment)
                        }
                    }
                    let files = try TemporaryFolder.files(below: copy + "/vault/segments")
                    #expect(files.count == (try opened.index.resources.totals().segments), comment)
                    let size = try files.reduce(0) {
                        try $0 + SegmentDescription.diskSize(ofFile: PosixFileSystem().size(of: $1))
                    }
                    #expect(opened.quota.used == size, comment)
                    try opened.close()
                    try TemporaryFolder.remove(copy)
                } catch {
                    Issue.record(error, comment)
                }
            }
        }
        try Self.fill(store, "new", segments: 3)
        disk.observe(nil)
        #expect(points.withLock { $0 } > 15)
    }
}
