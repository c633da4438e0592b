import Foundation
import GRDB
import GRDBSQLite
import SeededRandom
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("The index connection is durable, private and erases deleted rows")
struct IndexConnectionTests {
    @Test("The connection syncs every commit, overwrites deleted rows and enforces foreign keys")
    func pragmas() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        func pragma(_ name: String) throws -> String? {
            try store.index.read { try String.fetchOne($0, sql: "PRAGMA \(name)") }
        }
        #expect(try pragma("synchronous") == "2")
        #expect(try pragma("secure_delete") == "1")
        #expect(try pragma("journal_mode") == "wal")
        #expect(try pragma("foreign_keys") == "1")
        #expect(try pragma("temp_store") == "2", "temporary tables must stay in memory")
        #expect(try pragma("application_id") == "\(0x4D56_4C54)")
        #expect(try pragma("user_version") == "6")
        // A write uses the same connection and must not change its settings.
        _ = try store.addMedia("film", length: 1)
        #expect(try pragma("synchronous") == "2")
    }

    @Test("A statement stays compiled from one read of an owner to the next")
    func compiledOnce() throws {
        let store = try TemporaryVault().open()
        for _ in 0..<3 {
            let compilations = try store.index.read { db in
                let statement = try db.cachedStatement(sql: "SELECT count(*) FROM resource WHERE id > ?")
                #expect(try Int.fetchOne(statement, arguments: [Data()]) == 0)
                return unsafe sqlite3_stmt_status(statement.sqliteStatement, SQLITE_STMTSTATUS_REPREPARE, 0)
            }
            #expect(compilations == 0)
        }
    }

    @Test("GRDB alone sets synchronous to NORMAL, after it prepares the database")
    func premise() throws {
        let folder = try TemporaryFolder()
        var configuration = Configuration()
        configuration.journalMode = .wal
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        let queue = try DatabaseQueue(path: folder.path + "/plain.sqlite", configuration: configuration)
        #expect(try queue.read { try Int.fetchOne($0, sql: "PRAGMA synchronous") } == 1)
    }

    @Test("The schema has exactly the tables and indexes of the format")
    func schema() throws {
        let vault = try TemporaryVault()
        let names = try vault.open().index.read { db in
            try String.fetchAll(
                db, sql: "SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
        }
        #expect(
            names == [
                "accessGrant", "badBlock", "cover", "coverByResource", "doomed", "download", "erased", "generation",
                "network", "owed", "packedPart", "packedPartByPack", "part", "partByResource", "position",
                "representation",
                "representationByResource", "resource", "resourceKey", "resourceKeyByGeneration", "segment",
                "segmentByPlace", "share", "subscription", "vault", "viewer",
            ])
    }

    @Test("Files and folders are accessible only to their owner")
    func modes() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let resource = try store.addMedia("film", length: 100_000)
        _ = try store.store(SeededGenerator.bytes(100_000, seed: 1), at: 0, of: resource)
        let names = try TemporaryFolder.files(below: vault.folder)
        let plain = names.map { $0.dropFirst(vault.folder.count + 1) }
        for name in ["lock", "index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "catalog.backup"] {
            #expect(plain.contains(Substring(name)), "\(plain)")
        }
        for file in names { #expect(try TemporaryFolder.mode(of: file) == 0o600, "\(file)") }
        let all = try FileManager.default.subpathsOfDirectory(atPath: vault.folder).map { vault.folder + "/" + $0 }
        let folders = Set(all).subtracting(names)
        #expect(folders.count == 258, "the folders are segments, 256 below it, and quarantine")
        for folder in folders + [vault.folder] { #expect(try TemporaryFolder.mode(of: folder) == 0o700, "\(folder)") }
    }

    @Test("Creating a vault never overwrites an existing one")
    func createTwice() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        _ = try store.addMedia("film", length: 1)
        try store.close()
        let error = #expect(throws: VaultError.self) {
            try VaultStore.create(at: vault.folder, keyring: TestKeyring.make())
        }
        #expect(error?.code == .invalidArgument)
        #expect(try vault.open().index.resources.totals().resources == 1)
    }

    @Test("The vault's folder reveals nothing about its contents")
    func nothingReadable() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let bytes = SeededGenerator.bytes(80_000, seed: 21)
        var resource = try store.addMedia("secret-name", length: 80_000)
        _ = try store.store(bytes, at: 0, of: resource)
        try store.resources.update(
            ContentInformation(
                length: 80_000, type: "video/x-telltale",
                validators: Validators(
                    entityTag: EntityTag(strong: "telltale-tag"), lastModified: "Sat, 21 Nov 2026 10:00:00 GMT"),
                supportsRanges: true),
            of: &resource)
        try store.catalogBackup.write()
        let windows = Set(stride(from: 0, to: bytes.count - 16, by: 1).map { Array(bytes[$0..<($0 + 16)]) })
        let texts = ["secret-name", "origin.example", "http", "telltale", "Nov 2026", "video/"].map { Array($0.utf8) }
        for file in try TemporaryFolder.files(below: vault.folder) {
            let content = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))
            for text in texts { #expect(!Self.contains(content, text), "\(file)") }
            guard content.count >= 16 else { continue }
            let hit = (0...(content.count - 16)).contains { windows.contains(Array(content[$0..<($0 + 16)])) }
            #expect(!hit, "\(file)")
        }
    }

    private static func contains(_ content: [UInt8], _ text: [UInt8]) -> Bool {
        guard content.count >= text.count else { return false }
        return (0...(content.count - text.count)).contains { content[$0..<($0 + text.count)].elementsEqual(text) }
    }
}
