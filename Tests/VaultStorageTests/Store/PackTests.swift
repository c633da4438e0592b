import Foundation
import GRDB
import SeededRandom
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("Small files of a title lie in one pack")
struct PackTests {
    private let files = PackedFiles()

    @Test("Each file is found by its own URL and read alone, from one segment under one key, after a restart, too")
    func alone() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let pack = try files.store(in: store)
        try files.check(store)
        try store.close()
        let again = try vault.open()
        try files.check(again)
        let totals = try again.index.resources.totals()
        #expect(totals.segments == 1)
        let file = try #require(try again.index.resources.find(PackedFiles.id(of: "2.ts", in: again)))
        #expect(file.place?.pack == pack.id && file.resourceClass == .download)
        #expect(file.metadata.partOf == [PackedFiles.title] && file.metadata.url == "http://origin.example/2.ts")
        #expect(file.serving?.info.information.validators.entityTag == EntityTag(strong: "2.ts"))
        #expect(
            Set(try files.names.map { try again.index.resources.find(PackedFiles.id(of: $0, in: again))?.serving?.id })
                .count == files.names.count, "each has an entity tag of its own")
        try again.close()
    }

    @Test("A file that has left its pack does not come back to it from the backup")
    func left() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let pack = try files.store(in: store)
        try store.catalogBackup.write()
        let id = try PackedFiles.id(of: "1.ts", in: store)
        try store.index.write { db in try store.index.packs.unpack(id, db) }
        #expect(try CatalogRestore(store).run() == Restored())
        #expect(try store.index.packs.parts(of: pack).parts.count == files.names.count - 1)
        try store.close()
    }

    @Test("A checkpoint records the files that end within whole blocks, and no others")
    func checkpoint() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let pack = try PackedFiles.addPack(to: store)
        var writer = try store.segments.begin(at: 0, of: pack)
        var waiting: [PackedPart] = []
        for index in 0..<3 {
            waiting.append(try files.part(index, at: writer.end, in: store))
            try writer.append(files.contents[index][...])
        }
        _ = try store.segments.checkpoint(&writer, recording: &waiting, in: pack.id)
        // 41 016 bytes were written, and one block of 32 768 is whole.
        #expect(waiting.count == 2)
        #expect(try files.count(in: store) == 1)
        _ = try store.segments.close(writer, recording: &waiting, in: pack.id)
        #expect(try waiting.isEmpty && files.count(in: store) == 3)
        try store.close()
    }

    @Test("Removing the pack removes its files; another title's copy stays")
    func removal() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let (one, other) = (try files.store(in: store), try files.store(in: store, title: [1, 2, 3]))
        let file = try #require(try store.index.resources.find(PackedFiles.id(of: "1.ts", in: store)))
        #expect(Set(file.metadata.partOf) == [PackedFiles.title, [1, 2, 3]])
        _ = try store.resources.remove(one.id)
        try files.check(store)
        _ = try store.resources.remove(other.id)
        #expect(try files.count(in: store) == 0)
        #expect(try store.index.resources.totals().segments == 0)
        try store.close()
    }

    /// A title with a pack, two parts with rows of their own, and one that another title has, too.
    private func title(in store: VaultStore) throws -> (title: ResourceID, pack: ResourceID, shared: ResourceID) {
        let titles = try ["master.m3u8", "other.m3u8"].map { try store.addMedia($0, length: 10).id }
        let pack = try files.store(in: store)
        var shared = pack.id
        for (number, owners) in [titles.prefix(1), titles.prefix(1), titles.prefix(2)].enumerated() {
            var part = try store.addMedia("large-\(number)", length: 50_000)
            _ = try store.store(SeededGenerator.bytes(50_000, seed: 5), at: 0, of: part)
            for owner in owners {
                let key = try #require(try store.index.resources.find(owner)?.metadata.cacheKey)
                try store.resources.changeTitles(of: &part, .join(owner)) { $0.partOf.append(key) }
            }
            shared = part.id
        }
        return (titles[0], pack.id, shared)
    }

    @Test("A title goes with its parts in one transaction; what another one has stays, and files are owed")
    func removedTitle() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let (title, pack, shared) = try self.title(in: store)
        #expect(try store.index.titles.parts(of: title).count == 4)
        let segments = try #require(try store.index.resources.remove(title))
        // As after a power loss before the first file is removed.
        #expect(segments.count == 3)
        let totals = try store.index.resources.totals()
        #expect(totals.pendingDeletions == 3 && totals.segments == 1 && totals.resources == 1)
        #expect(try store.index.resources.find(pack) == nil && files.count(in: store) == 0)
        #expect(try store.index.resources.find(shared)?.metadata.partOf.count == 1)
        #expect(try TemporaryFolder.files(below: vault.folder + "/segments").count == 4)
        try store.close()
        let again = try vault.open()
        #expect(try again.index.resources.totals().pendingDeletions == 0)
        #expect(try TemporaryFolder.files(below: vault.folder + "/segments").count == 1)
        try again.close()
    }

    @Test("Removing many files syncs each folder once")
    func removalSyncs() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        let film = try store.addMedia("film", length: 600_000)
        for start in 0..<600 {
            _ = try store.store(SeededGenerator.bytes(10, seed: 1), at: Int64(start * 1000), of: film)
        }
        let before = disk.count(.synchronizeDirectory, of: "/segments/")
        _ = try store.resources.remove(film.id)
        let synced = disk.count(.synchronizeDirectory, of: "/segments/") - before
        #expect(synced > 100 && synced <= 256)
        #expect(try store.index.resources.totals().pendingDeletions == 0)
        try store.close()
    }

    @Test("A part is not evicted by itself, not even as a title, unless its title is a part of it, too")
    func evictable() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        var titles = try ["a", "b", "c"].map { try store.addMedia($0, length: 10_000, resourceClass: .download) }
        for title in titles { _ = try store.store(SeededGenerator.bytes(10_000, seed: 1), at: 0, of: title) }
        func evictable() throws -> Set<ResourceID> {
            Set(try EvictionRows(store.index).evictable(limit: 9, after: nil).map(\.resource))
        }
        func link(_ part: Int, to title: Int) throws {
            let key = titles[title].metadata.cacheKey
            try store.resources.changeTitles(of: &titles[part], .join(titles[title].id)) { $0.partOf.append(key) }
        }
        let ids = titles.map(\.id)
        #expect(try evictable() == Set(ids))
        // A circle of three.
        try link(1, to: 0)
        #expect(try evictable() == [ids[0], ids[2]])
        try link(2, to: 1)
        #expect(try evictable() == [ids[0]])
        try link(0, to: 2)
        #expect(try evictable() == Set(ids))
        try store.resources.setClass(.pinned, of: ids[1])
        #expect(try evictable().isEmpty, "each is a part of the pinned one")
        try store.resources.setClass(.download, of: ids[1])
        store.quota.enforce(StorageLimits(maxSize: 1, evictsDownloads: true))
        // A part that one title leaves to another changes what is evicted with the latter, which is examined again the
        // next time.
        for _ in 0..<3 { _ = try store.quota.prune(store.quota.limits) }
        #expect(try store.index.resources.totals().segments == 0)
        try store.close()
    }

    @Test("A file that becomes a resource of its own keeps its titles and class; nothing else may take its place")
    func unpacked() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        _ = try files.store(in: store)
        let id = try PackedFiles.id(of: "2.ts", in: store)
        let file = try #require(try store.index.resources.find(id))
        let (url, key) = (file.metadata.url, file.metadata.cacheKey)
        let error = #expect(throws: VaultError.self) {
            try store.resources.add(id, url: url, cacheKey: key, resourceClass: .cache)
        }
        #expect(error?.code == .changed)
        let own = try store.resources.add(id, url: url, cacheKey: key, resourceClass: .cache, unpacking: file)
        #expect(own.place == nil && own.resourceClass == .download && own.metadata.partOf == [PackedFiles.title])
        #expect(try store.index.resources.find(id)?.serving == nil)
        #expect(try files.count(in: store) == files.names.count)
        try store.close()
    }

    @Test("A file that is a resource by the time its bytes are durable is not recorded")
    func overtaken() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let own = try store.addMedia("1.ts", length: 5)
        let pack = try PackedFiles.addPack(to: store)
        var writer = try store.segments.begin(at: 0, of: pack)
        var waiting = [try files.part(0, at: 0, in: store)]
        try writer.append(files.contents[0][...])
        #expect(try store.segments.close(writer, recording: &waiting, in: pack.id) == [own.id])
        #expect(try store.index.resources.find(own.id)?.place == nil)
        try store.close()
    }

    @Test("What is learnt of a file is recorded in its pack; reading a file keeps the pack from eviction")
    func learnt() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let pack = try files.store(in: store)
        var file = try #require(try store.index.resources.find(PackedFiles.id(of: "2.ts", in: store)))
        try store.resources.setMode(.offline, of: &file)
        try store.resources.confirm(Freshness(checked: 9, lifetime: 8, isStrict: true), of: &file)
        let after = try #require(try store.index.resources.find(file.id))
        #expect(after.metadata.mode == .offline && after.serving?.info.freshness?.checked == 9)
        try store.index.resources.touch([file.id], now: 7200 * 1_000_000)
        #expect(try store.index.resources.find(pack.id)?.accessed == 7200 * 1_000_000)
        try files.check(store)
        try store.close()
    }

    @Test("What is missing of a file is written into its pack, at its place")
    func filled() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        _ = try files.store(in: store)
        let id = try PackedFiles.id(of: "4.ts", in: store)
        let whole = try #require(try store.index.resources.find(id))
        let segment = try #require(whole.serving?.segments.first)
        try store.segments.invalidate(segment, for: .badBlock(segment.block(holding: 30_000)))
        let hurt = try #require(try store.index.resources.find(id))
        let gap = try #require(hurt.serving?.held.gaps(in: 0..<70_001).first)
        #expect(gap.length < 70_001 && gap.contains(30_000))
        _ = try store.store(
            Array(files.contents[3][Int(gap.lowerBound)..<Int(gap.upperBound)]), at: gap.lowerBound, of: hurt)
        try #expect(store.index.resources.find(id)?.serving?.held == ByteRanges(0..<70_001))
        let bytes = try store.read(try #require(try store.index.resources.find(id))).sorted { $0.start < $1.start }
        #expect(bytes.flatMap(\.bytes) == files.contents[3])
        try store.close()
    }

    @Test("Nothing is packed for a title that is not there, because nothing would ever remove it")
    func withoutTitle() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let error = #expect(throws: VaultError.self) {
            try store.resources.addPack(of: PackedFiles.title, url: "http://origin.example/x", resourceClass: .download)
        }
        #expect(try error?.code == .removed && store.index.resources.totals().resources == 0)
        try store.close()
    }

    // MARK: Keys

    @Test("After a reseal, rewrapping, and a new locator the files open, under the new key alone")
    func keys() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        var pack = try files.store(in: store)
        let before = try store.index.read { try PackedPartRow.fetch(in: pack.id, $0) }
        #expect(try SegmentReseal(store).begin(&pack, run: 1) == true)
        try files.check(store, "between the keys")
        while let task = try ResealRows(store.index).resealTasks(of: pack, limit: 1).first {
            let new = try #require(try SegmentReseal(store).reseal(task, of: pack))
            SegmentReseal(store).removeReplaced([task.segment], by: new)
        }
        #expect(try SegmentReseal(store).finish(&pack))
        try files.check(store, "resealed")
        let oldKey = try #require(before.first)
        #expect(oldKey.open(under: try pack.metadataKey()) == nil, "the entries have the new key")

        _ = try Generations(store).add(noting: vault.log(of: store))
        var rewrap = try Rewrap(store)
        while try rewrap.step() {}
        try files.check(store, "rewrapped")

        #expect(
            try LocatorChange(store).run(noting: vault.log(of: store), queued: { _, _ in nil }) { _, _ in [:] } == 0)
        #expect(store.index.locator == 2)
        try files.check(store, locator: 2, "renamed")
        #expect(
            try store.index.resources.find(PackedFiles.id(of: "1.ts", in: store))?.metadata.partOf == [
                PackedFiles.title
            ])
        try store.close()
        let again = try vault.open()
        try files.check(again, "opened again")
        try again.close()
    }

    @Test("A lost index is rebuilt with the files of packs")
    func rebuilt() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        _ = try files.store(in: store)
        try store.close()
        for suffix in ["", "-wal", "-shm"] { try PosixFileSystem().remove(vault.folder + "/index.sqlite" + suffix) }
        let rebuild = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: false)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        #expect(try rebuild.finish().segments == 1)
        let again = try vault.open()
        try files.check(again)
        try again.close()
    }

    // MARK: Old vaults

    @Test("A vault without packs opens for readers as it is; an owner adds the table, and older programs refuse it")
    func older() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let film = try store.addMedia("film", length: 10)
        _ = try store.store(Array(0..<10), at: 0, of: film)
        try store.close()
        for name in ["index.sqlite", "catalog.backup"] {
            let queue = try DatabaseQueue(path: vault.folder + "/" + name)
            try queue.write {
                try $0.execute(sql: "DROP TABLE packedPart; DROP TABLE accessGrant; PRAGMA user_version = 1")
            }
            try queue.close()
        }
        let reader = try vault.open(.reader)
        #expect(try reader.index.resources.find(film.id)?.serving?.held == ByteRanges(0..<10))
        #expect(try files.count(in: reader) == 0)
        try reader.close()
        let owner = try vault.open()
        #expect(try owner.index.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 6)
        _ = try files.store(in: owner)
        try files.check(owner)
        try owner.close()
    }
}
