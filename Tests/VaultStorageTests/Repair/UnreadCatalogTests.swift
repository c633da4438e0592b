import Foundation
import GRDB
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("A catalog that cannot be read now, or not all of it, costs nothing that the other copy or the index has")
struct UnreadCatalogTests {
    private let vault: TemporaryVault
    private let store: VaultStore
    private let film: ResourceID
    private var newest: String { vault.folder + "/catalog.backup" }
    private var former: String { newest + ".1" }

    init() throws {
        (vault, store, film) = try EveryRecord.backedUp()
    }

    private func opens(_ id: ResourceID) throws -> Bool {
        try store.index.read { try store.index.resources.opens(id, $0) }
    }

    /// Makes SQLite refuse a database, as it does without a free descriptor, until the returned path is removed.
    private func obstruct(_ path: String) throws -> String {
        let obstacle = path + "-journal"
        try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
        return obstacle
    }

    @Test("A repair changes nothing while a copy cannot be read, and nothing counts as lost", arguments: ["", ".1"])
    func unread(suffix: String) throws {
        _ = try store.addMedia("second", length: 10)
        try store.catalogBackup.write()
        #expect(!CatalogFiles(in: vault.folder).areSame(), "premise: one may have what the other lacks")
        try store.damage("UPDATE resource SET metadata = zeroblob(284)")
        let obstacle = try obstruct(newest + suffix)
        if suffix.isEmpty {
            let error = #expect(throws: VaultError.self) { try CatalogRestore(store).run() }
            #expect(error?.code == .storage)
            #expect(throws: VaultError.self) { try CatalogRestore(store).canRestore(film) }
        } else {
            #expect(throws: VaultError.self) { try CatalogRestore(store).run() }
            #expect(try CatalogRestore(store).canRestore(film), "the newest brings it back")
        }
        try FileManager.default.removeItem(atPath: obstacle)
        _ = try CatalogRestore(store).run()
        #expect(try opens(film))
        try store.close()
    }

    @Test(
        "A new copy waits for one that cannot be read now, and at last takes the place of none",
        arguments: ["", ".1", "both"])
    func keptUnread(place: String) throws {
        _ = try store.addMedia("second", length: 10)
        try store.catalogBackup.write()
        let copies = try [newest, former].map { try Data(contentsOf: URL(filePath: $0)) }
        #expect(copies[0] != copies[1], "premise")
        _ = try store.addMedia("third", length: 10)
        let obstacles = try [newest, former].filter { place == "both" || $0 == newest + place }.map(obstruct)
        for _ in 0..<5 { #expect(throws: VaultError.self) { try store.catalogBackup.write() } }
        #expect(try Data(contentsOf: URL(filePath: newest)) == copies[0])
        try store.catalogBackup.write()
        for obstacle in obstacles { try FileManager.default.removeItem(atPath: obstacle) }
        #expect(try Data(contentsOf: URL(filePath: former)) == copies[place.isEmpty ? 0 : 1])
        #expect(try CatalogBackupTests.resourceCount(newest) == 3)
        try store.close()
    }

    @Test("While the newest copy cannot be read, the one before lets nobody in")
    func rights() throws {
        let share = try #require(try store.viewers.all().shares[film])
        try store.viewers.write([film: TitleShare(title: share.title, viewers: [])])
        try store.catalogBackup.write()
        #expect(try CatalogBackupTests.resourceCount(former) == 1, "premise: it has the wider share")
        try store.damage("UPDATE share SET record = x'00'")
        let obstacle = try obstruct(newest)
        for _ in 0..<5 { #expect(throws: VaultError.self) { try store.catalogBackup.write() } }
        try store.catalogBackup.write()
        try FileManager.default.removeItem(atPath: obstacle)
        _ = try CatalogRestore(store).run()
        #expect(try store.viewers.all().shares[film]?.viewers.isEmpty ?? true)
        try store.close()
    }

    @Test("A rebuild changes nothing while a copy cannot be read", arguments: ["", ".1"])
    func rebuildUnread(suffix: String) throws {
        try store.catalogBackup.write()
        try store.damage("UPDATE vault SET settings = zeroblob(400)")
        try store.index.close()
        store.giveUpLock()
        let obstacle = try obstruct(newest + suffix)
        let error = #expect(throws: VaultError.self) { try EveryRecord.rebuild(vault) }
        #expect(error?.code == .storage && error?.message.contains(newest + suffix) == true)
        try FileManager.default.removeItem(atPath: obstacle)
        try EveryRecord.rebuild(vault)
        let again = try vault.open()
        #expect(try again.index.settings().mode == .offline)
        try again.close()
    }

    @Test("A catalog of an older version, which lacks tables, brings back what it has")
    func olderVersion() throws {
        let queue = try DatabaseQueue(path: newest)
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "DROP TABLE packedPart; DROP TABLE cover; DROP TABLE position; PRAGMA user_version = 3")
        }
        try queue.close()
        try store.damage("UPDATE resource SET metadata = zeroblob(284); UPDATE subscription SET record = x''")
        let restored = try CatalogRestore(store).run()
        #expect(restored.resources == 1 && restored.records == 1)
        try store.close()
    }

    @Test("A backup that cannot be written is tried again a minute later, not at once")
    func failedBackup() throws {
        let now = ContinuousClock.now
        for _ in 0..<1000 { store.noteChange() }
        try store.damage("ALTER TABLE resource RENAME TO resources")
        #expect(throws: VaultError.self) { try store.catalogBackup.writeIfDue(now: now) }
        #expect(throws: Never.self) { try store.catalogBackup.writeIfDue(now: now + .seconds(59)) }
        #expect(throws: VaultError.self) { try store.catalogBackup.writeIfDue(now: now + .seconds(61)) }
        try store.damage("ALTER TABLE resources RENAME TO resource")
        try store.catalogBackup.writeIfDue(now: now + .seconds(200))
        try store.close()
    }

    /// Overwrites a page of a catalog that has some bytes of a row.
    ///
    /// - Returns: what the page held; nil if the row is in a page above others, which stays as it is.
    private func spoil(_ path: String, pageWith text: [UInt8]) throws -> [UInt8]? {
        var bytes = Array(try Data(contentsOf: URL(filePath: path)))
        let page = 4096
        let place = stride(from: page, to: bytes.count, by: page).first { start in
            bytes[start] == 0x0A && bytes[start..<(start + page)].firstRange(of: text) != nil
        }
        guard let place else { return nil }
        let held = Array(bytes[place..<(place + page)])
        bytes.replaceSubrange(place..<(place + page), with: repeatElement(0xEE, count: page))
        try Data(bytes).write(to: URL(filePath: path))
        return held
    }

    @Test("A page of the newest copy that cannot be read costs only what is on it, or next to it, and in no other copy")
    func badPage() throws {
        for number in 0..<60 { _ = try store.addMedia("title \(number)", length: 10) }
        try store.catalogBackup.write()
        let known = try store.index.resources.page(after: nil, limit: 100).map(\.id)
        for number in 0..<60 { _ = try store.addMedia("late \(number)", length: 10) }
        try store.catalogBackup.write()
        let metadata = try store.index.resources.page(after: nil, limit: 200).map { title in
            (title.id, try #require(try store.index.read { try ResourceRow.fetch(title.id, $0)?.metadata?.prefix(24) }))
        }
        // Ids are random, and a few rows are in pages above the others.
        var spoiled: (title: ResourceID, page: [UInt8])?
        for (id, text) in metadata where known.contains(id) && spoiled == nil {
            spoiled = try spoil(newest, pageWith: Array(text)).map { (id, $0) }
        }
        let (victim, page) = try #require(spoiled)
        let lost = metadata.filter { page.firstRange(of: $0.1) != nil }.map(\.0)
        #expect(lost.contains(victim) && lost.count < 40, "premise")
        try store.damage("UPDATE resource SET metadata = zeroblob(284)")
        try store.catalogBackup.write()
        #expect(try CatalogBackupTests.resourceCount(former) == 61, "the damaged copy did not take its place")
        _ = try CatalogRestore(store).run()
        for id in known { #expect(try opens(id), "\(id)") }
        // SQLite passes through the page to find the row that follows it, if that is in the page above.
        let others = try metadata.map(\.0).filter { try !lost.contains($0) && !opens($0) }
        #expect(others.count <= 1)
        try store.close()
    }

    @Test(
        "A rebuild without an index takes from the copy before what the newest does not open",
        arguments: ["zeroblob(284)", "'text'", "x''"])
    func rebuild(metadata: String) throws {
        try store.catalogBackup.write()
        try store.close()
        let queue = try DatabaseQueue(path: newest)
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA ignore_check_constraints = ON; UPDATE resource SET metadata = \(metadata)")
            try db.execute(sql: "UPDATE subscription SET record = \(metadata)")
        }
        try queue.close()
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: vault.folder + "/index.sqlite" + suffix)
        }
        try EveryRecord.rebuild(vault)
        let again = try vault.open()
        #expect(try again.index.read { try again.index.resources.opens(film, $0) })
        #expect(try again.subscriptions.all().subscriptions.count == 1)
        try again.close()
    }

    @Test("A record with an impossible value does not count as deleted, however many backups are written")
    func impossible() throws {
        try store.catalogBackup.write()
        // Only the previous copy still has them, and it has no record of a deletion.
        try Data(repeating: 7, count: 9000).write(to: URL(filePath: newest))
        try store.damage("UPDATE subscription SET record = 'text'; UPDATE resource SET metadata = 'text', key = 'text'")
        for _ in 0..<3 { try store.catalogBackup.write() }
        let restored = try CatalogRestore(store).run()
        #expect(restored.resources == 1 && restored.records == 1)
        #expect(try opens(film))
        try store.close()
    }

    @Test("A title that was fetched again keeps its metadata when an older copy opens another of its keys")
    func fetchedAgain() throws {
        try store.catalogBackup.write()
        _ = try store.index.resources.remove(film)
        #expect(try store.addMedia("film", length: 40_000).id == film)
        let serving = try #require(try store.index.resources.find(film)?.metadata.serving)
        try store.damage("INSERT INTO resourceKey SELECT resource, 2, generation, zeroblob(60) FROM resourceKey")
        try store.catalogBackup.write()
        #expect(try CatalogBackupTests.resourceCount(former) == 1, "premise")
        #expect(try !opens(film), "premise")
        _ = try CatalogRestore(store).run()
        #expect(try store.index.resources.find(film)?.metadata.serving == serving)
        try store.close()
    }

    /// What ends a generation.
    enum Ending: CaseIterable {
        case resumed, retired, rewrapped
    }

    @Test("A lost row of a generation destroys no key that the backup alone still has", arguments: Ending.allCases)
    func lostGeneration(ending: Ending) throws {
        let log = vault.log(of: store)
        #expect(try Generations(store).add(noting: log) == 2)
        try store.catalogBackup.write()
        try store.damage("DELETE FROM generation WHERE number = 1")
        try store.damage("UPDATE resourceKey SET generation = 'text'")
        switch ending {
        case .resumed: #expect(try Shreds(store).finish(noting: log) == [])
        case .retired:
            let error = #expect(throws: VaultError.self) { try Generations(store).retire(1, noting: log) }
            #expect(error?.code == .inUse && error?.hint == .rewrap, "its key has come back")
            fallthrough
        case .rewrapped:
            var rewrap = try Generations(store).rewrap()
            while try rewrap.step() {}
            try Generations(store).finishRewrap()
            try Generations(store).retire(1, noting: log)
        }
        #expect(store.keyring.activeGenerations == [2])
        #expect(try opens(film))
        try store.close()
    }

    @Test("A file of a pack that neither the index nor the newest copy opens comes back from the copy before")
    func packedPart() throws {
        let files = PackedFiles()
        _ = try files.store(in: store)
        for _ in 0..<2 { try store.catalogBackup.write() }
        let part = try PackedFiles.id(of: files.names[0], in: store)
        let damage = "UPDATE packedPart SET entry = zeroblob(284) WHERE id = x'\(part.hex)'"
        try store.damage(damage)
        let queue = try DatabaseQueue(path: newest)
        try queue.write { db in try db.execute(sql: damage) }
        try queue.close()
        #expect(throws: VaultError.self, "premise") { try store.index.resources.find(part) }
        #expect(try CatalogRestore(store).run().rows == 1)
        let again = try #require(try store.index.resources.find(part))
        #expect(try store.read(again).map(\.bytes) == [files.contents[0]])
        try store.close()
    }

    @Test("What belongs to a resource that the copy before gave back comes back from the newest")
    func belongings() throws {
        let files = PackedFiles()
        let pack = try files.store(in: store)
        for _ in 0..<2 { try store.catalogBackup.write() }
        let part = try PackedFiles.id(of: files.names[0], in: store)
        let damage = "UPDATE resourceKey SET wrapped = zeroblob(60) WHERE resource = x'\(pack.id.hex)'"
        try store.damage(damage)
        try store.damage("DELETE FROM packedPart WHERE id = x'\(part.hex)'")
        let queue = try DatabaseQueue(path: newest)
        try queue.write { db in try db.execute(sql: damage) }
        try queue.close()
        #expect(try store.index.resources.find(part) == nil, "premise")
        let restored = try CatalogRestore(store).run()
        #expect(restored.resources == 1 && restored.rows == 1)
        let again = try #require(try store.index.resources.find(part))
        #expect(try store.read(again).map(\.bytes) == [files.contents[0]])
        try store.close()
    }
}
