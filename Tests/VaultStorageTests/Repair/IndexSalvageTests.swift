import Foundation
import GRDB
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("What can be read of a damaged index is rebuilt, and what was taken out of it stays out")
struct IndexSalvageTests {
    private let vault: TemporaryVault
    private let known: ResourceID
    private let newer: ResourceID
    private var path: String { vault.folder + "/index.sqlite" }

    /// A vault with every kind of record, and two changes since its catalogs: a title, and a share that was taken away.
    init() throws {
        (vault, known, newer) = try EveryRecord.aheadOfCatalogs { store, known in
            let newer = try store.addMedia("newer", length: 10).id
            try store.viewers.write([known: TitleShare(title: TitleID(of: known), viewers: [])])
            return newer
        }
        // Closing wrote catalogs that include this, and cleared its record.
        try change { db in try ErasedRow.insert(SealedTable.shares.name, known.data, db) }
    }

    private func change(_ change: (Database) throws -> Void) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.write(change)
        try queue.close()
    }

    private func rebuild() throws -> VaultStore {
        try EveryRecord.rebuild(vault)
        return try vault.open()
    }

    private func opens(_ id: ResourceID, _ store: VaultStore) throws -> Bool {
        try store.index.read { try store.index.resources.opens(id, $0) }
    }

    /// Overwrites the first page of a table or an index.
    private func spoil(_ name: String) throws {
        let queue = try DatabaseQueue(path: path)
        let (page, size) = try queue.read { db in
            (
                try #require(
                    try Int64.fetchOne(db, sql: "SELECT rootpage FROM sqlite_master WHERE name = ?", arguments: [name])),
                try #require(try Int64.fetchOne(db, sql: "PRAGMA page_size"))
            )
        }
        try queue.close()
        let file = try PosixFileSystem().open(path, writable: true)
        try file.write([UInt8](repeating: 0xEE, count: Int(size)), at: (page - 1) * size)
    }

    private static let places = [
        "vault", "segment", "segmentByPlace", "doomed", "badBlock", "part", "packedPart", "packedPartByPack",
        "accessGrant", "download", "network", "subscription", "cover", "coverByResource", "viewer", "position",
        "owed", "resourceKeyByGeneration", "representationByResource",
    ]

    @Test("A page that cannot be read costs only its own rows", arguments: places)
    func page(place: String) throws {
        try spoil(place)
        let store = try rebuild()
        #expect(try opens(known, store) && opens(newer, store), "the rows of both titles can be read")
        #expect(try store.viewers.all().shares[known] == nil, "what was taken away stays away")
        #expect(try VerificationRows(store.index).unreadableRecords().isEmpty)
        try store.close()
    }

    @Test("A large index whose damaged page nothing needs opens all the same", arguments: ["badBlock", "doomed"])
    func unneeded(place: String) throws {
        // Only a large database is searched for values. The pages of a dropped table stay in the file.
        try change { db in
            try db.execute(sql: "CREATE TABLE filler (value); INSERT INTO filler VALUES (zeroblob(11 << 20))")
            try db.execute(sql: "DROP TABLE filler")
        }
        try spoil(place)
        let store = try vault.open(.reader)
        #expect(try opens(known, store) && opens(newer, store))
        try store.close()
    }

    @Test("If nobody knows what was taken away, nobody gets it back")
    func erased() throws {
        try spoil("erased")
        let store = try rebuild()
        #expect(try opens(known, store) && opens(newer, store))
        #expect(try store.viewers.all().shares[known] == nil)
        #expect(try store.viewers.all().viewers.count == 1, "what the index still has stays")
        try store.close()
    }

    @Test(
        "The rows of a title on a page that cannot be read come from the catalog",
        arguments: ["resource", "resourceKey"])
    func titles(place: String) throws {
        try spoil(place)
        let store = try rebuild()
        #expect(try opens(known, store) && !opens(newer, store))
        #expect(try store.viewers.all().shares[known] == nil, "what was taken away stays away")
        try store.close()
    }

    @Test("A rebuild that is killed while it puts its index in place is finished by the next one")
    func brokenOff() throws {
        for suffix in ["-wal", "-shm"] { try? TemporaryFolder.remove(path + suffix) }
        try FileManager.default.moveItem(atPath: path, toPath: path + IndexDatabase.Unfinished.complete.rawValue)
        try Data("another".utf8).write(to: URL(filePath: path + ".damaged"))
        let store = try rebuild()
        #expect(try opens(known, store) && opens(newer, store))
        try store.close()
        #expect(!FileManager.default.fileExists(atPath: path + IndexDatabase.Unfinished.complete.rawValue))
    }

    @Test("What a rebuild had made is dropped if the old index is still in its place")
    func notBegun() throws {
        try Data("newer, but without what came since".utf8).write(
            to: URL(filePath: path + IndexDatabase.Unfinished.complete.rawValue))
        #expect(throws: VaultError.self, "the index is sound") { try rebuild() }
        #expect(!FileManager.default.fileExists(atPath: path + IndexDatabase.Unfinished.complete.rawValue))
    }

    @Test("An index that names a key for ids that the keyring lacks is damaged, and is rebuilt")
    func locator() throws {
        try change { db in try db.execute(sql: "UPDATE vault SET locator = 7") }
        let error = try #require(throws: VaultError.self) { try vault.open() }
        #expect(error.code == .integrity && error.hint == .rebuildIndex, "\(error)")
        let store = try rebuild()
        #expect(try opens(known, store) && opens(newer, store))
        try store.close()
    }
}
