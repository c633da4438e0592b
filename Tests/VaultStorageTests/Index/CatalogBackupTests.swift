import Foundation
import GRDB
import SeededRandom
import Synchronization
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("The vault backs up its catalog")
struct CatalogBackupTests {
    static func resourceCount(_ path: String) throws -> Int {
        try open(path).read { try Int.fetchOne($0, sql: "SELECT count(*) FROM resource") } ?? -1
    }

    private static func open(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    private static func backup(of vault: TemporaryVault) -> String { vault.folder + "/catalog.backup" }

    @Test("A new vault has a backup that only its owner can read")
    func atCreation() throws {
        let vault = try TemporaryVault()
        let path = Self.backup(of: vault)
        #expect(try Self.resourceCount(path) == 0)
        #expect(try TemporaryFolder.mode(of: path) == 0o600)
        #expect(!PosixFileSystem().exists(path + ".new"))
        #expect(!PosixFileSystem().exists(path + "-wal"), "the backup must be a single file")
        let backup = try Self.open(path)
        #expect(try backup.read { try Int.fetchOne($0, sql: "PRAGMA application_id") } == 0x4D56_4C54)
        #expect(try backup.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 6)
        #expect(try backup.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "delete")
    }

    @Test("Closing backs up changes, including counters, so that the backup has exactly the rows of the index")
    func atClose() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        for number in 0..<5 {
            let resource = try store.addMedia("film\(number)", length: 100)
            store.countFetched(100)
            _ = try store.store(SeededGenerator.bytes(100, seed: 1), at: 0, of: resource)
        }
        try store.close()
        try Self.expectSameRows(vault)
        let again = try vault.open()
        again.countFetched(7)
        try again.close()
        try Self.expectSameRows(vault)
    }

    @Test(
        "Damage to the index does not reach the backup, which brings the title back",
        arguments: [
            "UPDATE resource SET metadata = substr(metadata, 1, 40) || x'0000' || substr(metadata, 43)",
            "UPDATE resourceKey SET wrapped = zeroblob(60)", "UPDATE representation SET info = x''",
        ])
    func damage(_ sql: String) throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let film = try store.addMedia("film", length: 100)
        _ = try store.store(SeededGenerator.bytes(100, seed: 1), at: 0, of: film)
        try store.close()
        let queue = try DatabaseQueue(path: vault.folder + "/index.sqlite")
        try queue.write { try $0.execute(sql: sql) }
        try queue.close()
        for name in ["other", "third"] {
            let again = try vault.open()
            #expect(try again.index.read { (try? again.index.resources.opens(film.id, $0)) != true }, "premise")
            #expect(try CatalogRestore(again).canRestore(film.id))
            _ = try again.addMedia(name, length: 10)
            try again.close()
            #expect(try Self.resourceCount(Self.backup(of: vault)) == (name == "other" ? 2 : 3))
        }
        let rebuild = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: true)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        _ = try rebuild.finish()
        let rebuilt = try vault.open()
        let resource = try #require(try rebuilt.index.resources.find(film.id))
        #expect(resource.serving?.held == ByteRanges(0..<100))
        #expect(try rebuilt.index.resources.page(after: nil, limit: 10).count == 3)
        try rebuilt.close()
    }

    @Test("The backup keeps all rows of a damaged title, also one that another title claims and does not open")
    func wholeTitles() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let films = try (0..<6).map { try store.addMedia("film\($0)", length: 100) }
        try store.catalogBackup.write()
        let (film, later) = (films[0], try store.addMedia("later", length: 100))
        // All are damaged, and another title has the id of a row of the first one.
        try store.index.write { db in
            let former = try Data.fetchOne(
                db, sql: "SELECT id FROM representation WHERE resource = ?", arguments: [film.id.data])
            try db.execute(
                sql: "UPDATE representation SET id = zeroblob(16) WHERE resource = ?", arguments: [film.id.data])
            try db.execute(
                sql: "INSERT INTO representation VALUES (?, ?, 'filling', x'00')", arguments: [former, later.id.data])
            for film in films {
                try db.execute(
                    sql: "UPDATE resource SET metadata = x'00' WHERE id = ?", arguments: [film.id.data])
            }
        }
        try store.catalogBackup.write()
        let (index, backup) = (store.index, try Self.open(Self.backup(of: vault)))
        let opening = try backup.read { db in
            films.filter { (try? index.resources.opens($0.id, db)) == true }.map(\.id)
        }
        #expect(opening == films.map(\.id))
        try backup.close()
        try store.close()
    }

    @Test("Concurrent requests for a backup all succeed, one after the other")
    func together() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        _ = try store.addMedia("film", length: 100)
        let failed = Atomic(0)
        let threads = DispatchGroup()
        for _ in 0..<4 {
            threads.enter()
            Thread.detachNewThread {
                for _ in 0..<16 {
                    do { try store.catalogBackup.write() } catch { failed.add(1, ordering: .relaxed) }
                }
                threads.leave()
            }
        }
        threads.wait()
        #expect(failed.load(ordering: .relaxed) == 0)
        #expect(try Self.resourceCount(Self.backup(of: vault)) == 1)
        try store.close()
    }

    @Test(
        "A change reaches the backup within ten minutes, even if the wall clock is wrong",
        arguments: [-1, 0, 1])
    func intervals(years: Int64) throws {
        let (vault, clock) = (try TemporaryVault(), TestClock())
        let store = try vault.open(now: { clock.now })
        let start = ContinuousClock.now
        try store.catalogBackup.write(now: start)
        clock.advance(by: years * 365 * 86_400)
        _ = try store.addMedia("film", length: 100)
        try store.catalogBackup.writeIfDue(now: start + .seconds(599))
        #expect(try Self.resourceCount(Self.backup(of: vault)) == 0)
        try store.catalogBackup.writeIfDue(now: start + .seconds(600))
        #expect(try Self.resourceCount(Self.backup(of: vault)) == 1)
        try store.close()
    }

    private static func expectSameRows(_ vault: TemporaryVault) throws {
        let index = try vault.open(.reader).index
        let backup = try open(backup(of: vault))
        for table in ["vault", "generation", "resource", "resourceKey", "representation"] {
            let sql = "SELECT * FROM \(table)"
            let (mine, theirs) = (
                try index.read { try Row.fetchAll($0, sql: sql) }, try backup.read { try Row.fetchAll($0, sql: sql) }
            )
            #expect(mine == theirs, "\(table)")
            #expect(!mine.isEmpty, "\(table)")
        }
        let names = try backup.read {
            try String.fetchAll($0, sql: "SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
        }
        #expect(
            names == [
                "accessGrant", "cover", "coverByResource", "download", "generation", "network", "packedPart",
                "packedPartByPack", "position", "representation", "representationByResource", "resource",
                "resourceKey", "resourceKeyByGeneration", "share", "subscription", "vault", "viewer",
            ])
    }

    @Test("Closing without a change writes no backup")
    func unchanged() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem()
        try vault.open(fileSystem: disk).close()
        #expect(disk.count(.create, of: "catalog.backup") == 0)
    }

    @Test("The next owner backs up the changes of a killed owner")
    func afterKill() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        _ = try store.addMedia("film", length: 1)
        let copy = vault.above.path + "-killed"
        defer { try? TemporaryFolder.remove(copy) }
        try disk.loseEverythingUnsynced(tearing: 0, into: copy)
        let backup = copy + "/vault/catalog.backup"
        #expect(try Self.resourceCount(backup) == 0)
        try VaultStore.open(at: copy + "/vault", keyring: vault.keyring, access: .owner).close()
        #expect(try Self.resourceCount(backup) == 1)
    }

    @Test("With a change, a backup is due after 10 minutes and not before, even if the clock is set back")
    func byTime() throws {
        let vault = try TemporaryVault()
        let clock = TestClock()
        let store = try vault.open(now: { clock.now })
        let path = Self.backup(of: vault)
        let start = ContinuousClock.now
        _ = try store.addMedia("film", length: 1)
        clock.advance(by: 100_000)
        try store.catalogBackup.writeIfDue(now: start + .seconds(590))
        #expect(try Self.resourceCount(path) == 0)
        clock.advance(by: -200_000)
        try store.catalogBackup.writeIfDue(now: start + .seconds(601))
        #expect(try Self.resourceCount(path) == 1)
    }

    @Test("No backup is written while nothing changes")
    func idle() throws {
        let vault = try TemporaryVault()
        let clock = TestClock()
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk, now: { clock.now })
        clock.advance(by: 100_000)
        try store.catalogBackup.writeIfDue()
        try store.close()
        #expect(disk.count(.create, of: "catalog.backup") == 0)
    }

    @Test("A backup is due after 1 000 changes")
    func byChanges() throws {
        let vault = try TemporaryVault()
        let clock = TestClock()
        let store = try vault.open(now: { clock.now })
        var resource = try store.addMedia("film", length: nil)
        let information = try #require(resource.serving).info.information
        try store.catalogBackup.write()
        for _ in 0..<998 { try store.resources.update(information, of: &resource) }
        _ = try store.resources.add(
            try #require(vault.keyring.resourceID(cacheKey: [1], locator: store.index.locator)),
            url: "http://origin.example/x", cacheKey: [1], resourceClass: .cache)
        try store.catalogBackup.writeIfDue()
        #expect(try Self.resourceCount(Self.backup(of: vault)) == 1)
        try store.resources.update(information, of: &resource)
        try store.catalogBackup.writeIfDue()
        #expect(try Self.resourceCount(Self.backup(of: vault)) == 2)
    }

    @Test("A failed backup is still due", arguments: [FileOperation.create, .synchronize, .rename])
    func failed(operation: FileOperation) throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        _ = try store.addMedia("film", length: 1)
        disk.fail(operation, of: "catalog.backup", with: FileFailure(.noSpace, "write: No space left on device"))
        let error = #expect(throws: VaultError.self) { try store.catalogBackup.write() }
        #expect(error?.code == .diskFull)
        #expect(try Self.resourceCount(Self.backup(of: vault)) == 0, "the old backup must be intact")
        try store.close()
        #expect(try Self.resourceCount(Self.backup(of: vault)) == 1)
    }
}
