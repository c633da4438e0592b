import Foundation
import GRDB
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("A value that is larger than any this program writes is never read into memory")
struct ValueSizeTests {
    private static let bytes = 11 << 20

    private let vault: TemporaryVault
    private let known: ResourceID
    private let newer: ResourceID

    /// A vault with every kind of record, and a title that is newer than its catalogs.
    init() throws {
        (vault, known, newer) = try EveryRecord.aheadOfCatalogs { store, _ in
            try store.addMedia("newer", length: 10).id
        }
    }

    private func change(_ file: String, _ sql: String) throws {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let queue = try DatabaseQueue(path: vault.folder + "/" + file, configuration: configuration)
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
            try db.execute(sql: sql)
            #expect(db.totalChangesCount > 0, "\(sql) did not change any row")
        }
        try queue.close()
    }

    static let damages = [
        "UPDATE resource SET metadata = zeroblob(\(bytes)) WHERE id = ?",
        "UPDATE resource SET metadata = CAST(zeroblob(\(bytes)) AS TEXT) WHERE id = ?",
        "UPDATE resource SET id = zeroblob(\(bytes)) WHERE id = ?",
        "UPDATE resourceKey SET wrapped = zeroblob(\(bytes)) WHERE resource = ?",
        "UPDATE representation SET info = zeroblob(\(bytes)) WHERE resource = ?",
        "UPDATE share SET record = zeroblob(\(bytes)) WHERE id = ?",
        "INSERT INTO viewer SELECT zeroblob(\(bytes)), record FROM viewer WHERE ? IS NOT NULL LIMIT 1",
        "UPDATE resource SET class = CAST(zeroblob(\(bytes)) AS TEXT) WHERE id = ?",
        "INSERT INTO owed SELECT CAST(zeroblob(\(bytes)) AS TEXT), 1 WHERE ? IS NOT NULL",
    ]

    @Test(
        "An index with one is refused, and a rebuilt one has everything else and what a catalog has", arguments: damages
    )
    func index(damage: String) throws {
        try change("index.sqlite", damage.replacing("?", with: "x'\(known.hex)'"))
        for readOnly in [true, false] {
            let error = try #require(throws: VaultError.self) {
                try VaultIndex.open(at: vault.folder + "/index.sqlite", keyring: vault.keyring, readOnly: readOnly)
            }
            #expect(error.code == .integrity && error.hint == .rebuildIndex, "\(error)")
        }
        try EveryRecord.rebuild(vault)
        let store = try vault.open()
        #expect(try store.index.read { try store.index.resources.opens(known, $0) })
        #expect(try store.index.read { try store.index.resources.opens(newer, $0) }, "only the index had it")
        #expect(try store.viewers.all().shares[known] != nil)
        #expect(try VerificationRows(store.index).unreadableRecords().isEmpty)
        try store.close()
        let names = try FileManager.default.contentsOfDirectory(atPath: vault.folder)
        #expect(!names.contains { $0.hasPrefix("index.sqlite.") && $0.hasSuffix(".new") }, "\(names)")
    }

    @Test("A catalog with one is passed over, and the next backup replaces it")
    func catalog() throws {
        try change("catalog.backup", "UPDATE resource SET metadata = zeroblob(\(Self.bytes))")
        let store = try vault.open()
        try store.index.database.withoutTransaction { db in
            try db.execute(sql: "UPDATE resource SET metadata = zeroblob(284) WHERE id = ?", arguments: [known.data])
        }
        let restored = try CatalogRestore(store).run()
        #expect(restored.resources == 1, "catalog.backup.1 has it")
        try store.catalogBackup.write()
        #expect(try CatalogBackupTests.resourceCount(vault.folder + "/catalog.backup") == 2)
        let sizes = try ["catalog.backup", "catalog.backup.1"].map {
            try PosixFileSystem().size(of: vault.folder + "/" + $0)
        }
        #expect(sizes.allSatisfy { $0 < Self.bytes }, "\(sizes)")
        try store.close()
    }

    @Test("A rebuild passes over a catalog with one, and takes the one before")
    func rebuildFromFormer() throws {
        try change("catalog.backup", "UPDATE resource SET metadata = zeroblob(\(Self.bytes))")
        try FileManager.default.removeItem(atPath: vault.folder + "/index.sqlite")
        let counts = try EveryRecord.rebuild(vault)
        #expect(counts.isFromFormerBackup && counts.resources == 1)
    }

    @Test("A large index without such a value opens")
    func large() throws {
        try change(
            "index.sqlite", "CREATE TABLE filling (value BLOB); INSERT INTO filling VALUES (zeroblob(\(Self.bytes)))")
        try change("index.sqlite", "DELETE FROM filling; DROP TABLE filling")
        #expect(try PosixFileSystem().size(of: vault.folder + "/index.sqlite") > Self.bytes)
        let store = try vault.open()
        #expect(try store.index.read { try store.index.resources.opens(known, $0) })
        try store.close()
    }

    @Test("An index whose vault's id is damaged is rebuilt without being told to")
    func vaultID() throws {
        try change("index.sqlite", "UPDATE vault SET id = zeroblob(16)")
        let error = try #require(throws: VaultError.self) { try vault.open() }
        #expect(error.code == .integrity && error.hint == .rebuildIndex, "\(error)")
        try EveryRecord.rebuild(vault)
        let store = try vault.open()
        for id in [known, newer] { #expect(try store.index.read { try store.index.resources.opens(id, $0) }) }
        try store.close()
    }
}
