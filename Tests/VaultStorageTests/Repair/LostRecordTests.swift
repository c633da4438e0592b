import Foundation
import GRDB
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("What the index has lost comes back from the backup, which never gets worse")
struct LostRecordTests {
    /// What happens to a row.
    enum Damage: String, CaseIterable, CustomTestStringConvertible {
        case flipped, empty, null, lost
        var testDescription: String { rawValue }
    }

    /// A kind of record, and what happens to its rows.
    struct Case: CustomTestStringConvertible {
        let kind: String
        let damage: Damage
        var testDescription: String { "\(kind) \(damage.rawValue)" }

        static let all = EveryRecord.kinds.flatMap { kind in
            Damage.allCases.map { Case(kind: kind, damage: $0) }.filter { kind != "vault" || $0.damage != .lost }
        }
    }

    private let vault: TemporaryVault
    private let store: VaultStore
    private let film: ResourceID

    init() throws {
        (vault, store, film) = try EveryRecord.backedUp()
    }

    private func spoil(_ table: String, _ column: String, _ damage: Damage) throws {
        let sql =
            switch damage {
            case .flipped:
                "UPDATE \(table) SET \(column) = substr(\(column), 1, 30) || x'0000' || substr(\(column), 33)"
            case .empty: "UPDATE \(table) SET \(column) = x''"
            case .null: "UPDATE \(table) SET \(column) = zeroblob(7)"
            case .lost: "DELETE FROM \(table)"
            }
        try store.damage(sql)
    }

    @Test("A record of any kind survives damage, other changes and new backups, and comes back", arguments: Case.all)
    func record(example: Case) throws {
        let table = try EveryRecord.table(example.kind)
        let before = try EveryRecord.opened(example.kind, in: store, by: vault.keyring)
        try spoil(table.name, table.column, example.damage)
        #expect(try EveryRecord.opened(example.kind, in: store, by: vault.keyring) == 0, "premise")
        if example.kind != "vault", example.damage != .lost {
            #expect(try VerificationRows(store.index).unreadableRecords().map(\.count) == [before])
            #expect(try VerificationRows(store.index).isSound() == false)
        }
        for name in ["other", "third"] {
            _ = try store.addMedia(name, length: 10)
            try store.catalogBackup.write()
        }
        let restored = try CatalogRestore(store).run()
        #expect(restored.records >= before && restored.resources == 0)
        #expect(try EveryRecord.opened(example.kind, in: store, by: vault.keyring) == before)
        #expect(try VerificationRows(store.index).unreadableRecords().isEmpty)
        _ = try store.index.settings().networkSettings()
        try store.close()
    }

    @Test(
        "A title survives damage to any of its rows, other changes and new backups, and comes back",
        arguments: [("resource", "metadata"), ("resourceKey", "wrapped"), ("representation", "info")],
        Damage.allCases)
    func title(place: (table: String, column: String), damage: Damage) throws {
        try spoil(place.table, place.column, damage)
        for number in 0..<2 {
            _ = try store.addMedia("other \(number)", length: 10)
            try store.catalogBackup.write()
        }
        #expect(try store.index.read { (try? store.index.resources.opens(film, $0)) != true }, "premise")
        #expect(try CatalogRestore(store).run().resources == 1)
        #expect(try store.index.read { try store.index.resources.opens(film, $0) })
        try store.close()
    }

    @Test("What was deleted on purpose does not come back, whatever the backup still has")
    func erased() throws {
        let viewers = try store.viewers.all()
        let viewer = try #require(viewers.viewers.first)
        let unshared = viewers.shares.mapValues { TitleShare(title: $0.title, viewers: []) }
        try store.viewers.remove(viewer.id, changing: unshared)
        let grants = try store.grants.all().grants.map(\.id)
        try store.grants.remove(grants, withUnreadable: false)
        try store.downloads.remove(store.downloads.all().downloads.map(\.id), isForgotten: true)
        try store.subscriptions.remove(store.subscriptions.all().subscriptions.map(\.id))
        _ = try store.index.resources.remove(film)
        #expect(try CatalogRestore(store).run() == Restored())
        try store.catalogBackup.write()
        #expect(try store.index.read { try ErasedRow.last(of: "main", $0) } == 0)
        #expect(try CatalogRestore(store).run() == Restored())
        #expect(try store.viewers.all().viewers.isEmpty && store.grants.all().grants.isEmpty)
        #expect(try store.index.resources.has(film) == false)
        try store.close()
    }

    @Test("What the destruction of a vault deleted does not come back while its backup is still there")
    func destroyed() throws {
        #expect(try store.index.resources.removeAll() == 1)
        #expect(try CatalogRestore(store).run() == Restored())
        try store.catalogBackup.write()
        #expect(try CatalogRestore(store).run() == Restored())
        #expect(try CatalogBackupTests.resourceCount(vault.folder + "/catalog.backup") == 0)
        try store.close()
    }

    @Test("A key that opens stays when a title comes back from a backup that lacks it")
    func newerKey() throws {
        let resource = try #require(try store.index.resources.find(film))
        let key = try #require(resource.keys[1])
        try store.index.write { db in
            let newer = try #require(
                try ResourceKeyRow(
                    wrapping: key.secret, of: film, number: 2, generation: store.keyring.currentGeneration,
                    store.keyring))
            try newer.insert(db)
        }
        try spoil("resource", "metadata", .empty)
        #expect(try CatalogRestore(store).run().resources == 1)
        #expect(try store.index.resources.find(film)?.keys.keys.sorted() == [1, 2])
        try store.close()
    }

    @Test("A row that the backup wrongly gives to a title stays its owner's, and the title comes back all the same")
    func wronglyClaimed() throws {
        let other = try store.addMedia("other", length: 10)
        try store.catalogBackup.write()
        let backup = try DatabaseQueue(path: vault.folder + "/catalog.backup")
        try backup.write { db in
            try db.execute(
                sql: "UPDATE representation SET resource = ? WHERE resource = ?", arguments: [film.data, other.id.data])
        }
        try backup.close()
        try store.index.write { db in
            try db.execute(sql: "UPDATE resource SET metadata = x'00' WHERE id = ?", arguments: [film.data])
        }
        #expect(try CatalogRestore(store).run().resources == 1)
        for id in [film, other.id] { #expect(try store.index.read { try store.index.resources.opens(id, $0) }) }
        try store.close()
    }

    @Test("A representation that another title has by now, and opens, is not given back to the one that had it")
    func anothersByNow() throws {
        let other = try store.addMedia("other", length: 10)
        let representation = try #require(try store.index.resources.find(film)?.metadata.serving)
        try store.index.write { db in
            let (metadata, key) = try #require(
                try store.index.resources.opened(other.id, db).map { ($0.metadata, $0.metadataKey) })
            let serving = try #require(metadata.serving)
            let info = try #require(
                try RepresentationRow.fetch(serving, db)?.openInfo(of: other.id, under: key.secret))
            let sealed = try RepresentationRow.seal(info, of: representation, other.id, under: key.secret)
            try db.execute(
                sql: "UPDATE representation SET resource = ?, info = ? WHERE id = ?",
                arguments: [other.id.data, sealed.data, representation.data])
        }
        #expect(try CatalogRestore(store).run().resources == 0)
        let owner = try store.index.read { try RepresentationRow.fetch(representation, $0)?.resource }
        #expect(owner == other.id)
        try store.close()
    }

    @Test("A destroyed generation takes nothing with it that the backup alone still opens")
    func retirementOfOthers() throws {
        let other = try store.addMedia("other", length: 10)
        try store.catalogBackup.write()
        try store.index.write { db in
            try db.execute(
                sql: "UPDATE resource SET metadata = zeroblob(284) WHERE id = ?", arguments: [film.data])
        }
        try spoil("viewer", "record", .flipped)
        _ = try Shreds(store).shred(other.id, isQuick: false, noting: vault.log(of: store))
        #expect(try Shreds(store).finish(noting: vault.log(of: store)) == [])
        #expect(store.keyring.activeGenerations == [2])
        #expect(try store.index.read { try store.index.resources.opens(film, $0) })
        #expect(try store.viewers.all().viewers.count == 1)
        try store.close()
    }

    @Test("A title that is damaged before its rewrap is finished comes back before its generation is destroyed")
    func retirementAfterRewrap() throws {
        let log = vault.log(of: store)
        _ = try Generations(store).add(noting: log)
        var rewrap = try Generations(store).rewrap()
        while try rewrap.step() {}
        try spoil("resource", "metadata", .empty)
        try Generations(store).retire(1, noting: log)
        #expect(store.keyring.activeGenerations == [2])
        #expect(try store.index.read { try store.index.resources.opens(film, $0) })
        try store.close()
    }

    @Test("A title that is fetched again after its removal is shared with no one, whatever the backup still has")
    func storedAgain() throws {
        _ = try store.index.resources.remove(film)
        #expect(try store.addMedia("film", length: 40_000).id == film)
        #expect(try CatalogRestore(store).run() == Restored())
        #expect(try store.viewers.all().shares.isEmpty)
        try store.close()
    }

    @Test("A backup of the version before brings back what does not open, and nothing that is missing")
    func formerBackup() throws {
        try store.close()
        try EveryRecord.makeFormer(vault)
        let backup = vault.folder + "/catalog.backup"
        let kept = try Data(contentsOf: URL(filePath: backup))
        let owner = try vault.open()
        try owner.index.write { db in
            try db.execute(sql: "DELETE FROM subscription; UPDATE viewer SET record = x''; DELETE FROM erased")
        }
        try kept.write(to: URL(filePath: backup))
        #expect(try CatalogRestore(owner).run().records == 1)
        #expect(try owner.viewers.all().viewers.count == 1)
        #expect(try owner.subscriptions.all().subscriptions.isEmpty)
        try owner.close()
    }

    @Test("A pipe or a link in the place of the backup holds nothing up")
    func pipe() throws {
        let backup = vault.folder + "/catalog.backup"
        try FileManager.default.removeItem(atPath: backup)
        let isMade = unsafe mkfifo(backup, 0o600) == 0  // The call copies the path.
        #expect(isMade)
        #expect(try CatalogRestore(store).run() == Restored())
        _ = try store.addMedia("other", length: 10)
        try store.catalogBackup.write()
        #expect(try CatalogBackupTests.resourceCount(backup) == 2)
        try FileManager.default.removeItem(atPath: backup)
        try FileManager.default.createSymbolicLink(atPath: backup, withDestinationPath: vault.keyringFile)
        try store.catalogBackup.write()
        #expect(try CatalogBackupTests.resourceCount(backup) == 2)
        try store.close()
    }
}
