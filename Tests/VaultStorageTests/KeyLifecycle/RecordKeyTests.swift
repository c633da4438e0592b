import Foundation
import GRDB
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("Records of every kind are sealed under generations, and destroyed with them")
struct RecordKeyTests {
    private let vault: TemporaryVault
    private let store: VaultStore
    private let former: Keyring

    init() throws {
        vault = try TemporaryVault()
        store = try vault.open()
        try EveryRecord.write(to: store)
        former = try TemporaryVault.unlock(vault.keyringFile)
    }

    @Test("A keyring of the time before opens nothing that is there after its generation was destroyed")
    func retired() throws {
        for kind in EveryRecord.kinds {
            #expect(try EveryRecord.opened(kind, in: store, by: former) > 0, "premise: \(kind)")
        }
        #expect(try Generations(store).replaceAll(noting: vault.log(of: store)) == [])
        try store.changeSettings { $0.mode = .online }
        for kind in EveryRecord.kinds {
            #expect(try EveryRecord.opened(kind, in: store, by: former) == 0, "\(kind)")
            #expect(try EveryRecord.opened(kind, in: store, by: vault.keyring) > 0, "\(kind)")
        }
        try store.close()
    }

    @Test("A new root key destroys the generations of the records, too")
    func newRoot() throws {
        let log = vault.log(of: store)
        _ = try Generations(store).renewRoot(
            openedBy: [SharedSecret(try TestKeyring.secret())], droppingOthers: false, noting: log)
        #expect(try Generations(store).finishReplacing(noting: log) == [])
        try Generations(store).retire(1, noting: log)
        for kind in EveryRecord.kinds { #expect(try EveryRecord.opened(kind, in: store, by: former) == 0, "\(kind)") }
        try store.close()
    }

    @Test("No record of a destroyed generation is left in the folder")
    func traces() throws {
        try store.catalogBackup.write()
        let old = try EveryRecord.kinds.flatMap { kind in
            try store.index.read { try EveryRecord.rows(kind, $0).map(\.sealed) }
        }
        #expect(try Traces.count(of: old, below: vault.folder) > 0, "the search must find existing records")
        #expect(try Generations(store).replaceAll(noting: vault.log(of: store)) == [])
        #expect(try Traces.count(of: old, below: vault.folder) == 0)
        try store.close()
    }

    @Test("A generation is not destroyed while a record that it sealed cannot be opened", arguments: EveryRecord.kinds)
    func needed(kind: String) throws {
        let log = vault.log(of: store)
        let table = try EveryRecord.table(kind)
        let old = try #require(try store.index.read { try EveryRecord.rows(kind, $0) }.first)
        _ = try Generations(store).add(noting: log)
        var rewrap = try Generations(store).rewrap()
        while try rewrap.step() {}
        try Generations(store).finishRewrap()
        for path in CatalogFiles(in: vault.folder).all { try? FileManager.default.removeItem(atPath: path) }
        var flipped = old.sealed
        flipped[100] ^= 1
        try store.index.write { [flipped] in try table.replace(flipped, of: old.id, $0) }
        let refusal = #expect(throws: VaultError.self) { try Generations(store).retire(1, noting: log) }
        #expect(refusal?.code == .inUse && refusal?.hint == .repair)
        #expect(refusal?.message.contains("seals 1 record that cannot be opened") == true)
        #expect(store.keyring.activeGenerations == [1, 2])
        try store.index.write { try table.replace(old.sealed, of: old.id, $0) }
        try Generations(store).retire(1, noting: log)
        #expect(try EveryRecord.opened(kind, in: store, by: vault.keyring) > 0)
        #expect(try EveryRecord.opened(kind, in: store, by: former) == 0)
        try store.close()
    }

    @Test("A record does not open for another kind, id or generation")
    func bound() throws {
        _ = try Generations(store).add(noting: vault.log(of: store))
        try store.index.read { db in
            let keys = try RecordKeys(vault.keyring, db)
            for table in SealedTable.all {
                let row = try #require(try EveryRecord.rows(table.name, db).first)
                #expect(try table.open(row.sealed, of: row.id, keys) != nil, "premise")
                for other in SealedTable.all where other.name != table.name {
                    #expect(try keys.open(row.sealed, for: other.recordData(row.id)) == nil)
                }
                #expect(try keys.open(row.sealed, for: table.recordData(Array(row.id.reversed()))) == nil)
                let renamed = RecordKeys.prefix(of: 2) + row.sealed.dropFirst(RecordForm.prefixBytes)
                #expect(try keys.open(renamed, for: table.recordData(row.id)) == nil)
            }
        }
        try store.close()
    }

    @Test("A vault of the version before opens to read, and its next owner seals every record again")
    func migration() throws {
        try store.close()
        try EveryRecord.makeFormer(vault)
        let reader = try vault.open(.reader)
        for kind in EveryRecord.kinds {
            #expect(try EveryRecord.opened(kind, in: reader, by: vault.keyring) > 0, "\(kind)")
        }
        try reader.close()
        let owner = try vault.open()
        for kind in EveryRecord.kinds {
            let forms = try owner.index.read { try EveryRecord.rows(kind, $0).map { RecordForm($0.sealed) } }
            #expect(!forms.isEmpty && forms.allSatisfy { $0 == .generation(1) }, "\(kind)")
            #expect(try EveryRecord.opened(kind, in: owner, by: vault.keyring) == forms.count, "\(kind)")
        }
        #expect(try owner.index.read { try PendingMigration.isDue($0) } == false)
        #expect(try VerificationRows(owner.index).unreadableRecords().isEmpty)
        try owner.close()
    }

    @Test("An interrupted migration goes on with the next owner")
    func interruptedMigration() throws {
        let rows = try store.index.read { try EveryRecord.rows("viewer", $0) }
        try store.close()
        try EveryRecord.makeFormer(vault)
        let former = try vault.open(.reader).index.read { try EveryRecord.rows("viewer", $0) }
        let owner = try vault.open()
        // The index as it is after a crash between the two steps.
        try owner.index.write { db in
            try SealedTable.viewers.replace(former[0].sealed, of: rows[0].id, db)
            try PendingMigration.record(db)
        }
        try owner.close()
        let next = try vault.open()
        #expect(
            try next.index.read { try EveryRecord.rows("viewer", $0) }.map { RecordForm($0.sealed) } == [.generation(1)]
        )
        try next.close()
    }

    @Test("Once a generation was destroyed, a record in the former form does not open any more")
    func slippedIn() throws {
        try store.close()
        try EveryRecord.makeFormer(vault)
        let slipped = try vault.open(.reader).index.read { try EveryRecord.rows("viewer", $0) }
        let owner = try vault.open()
        let table = SealedTable.viewers
        try owner.index.write { try table.replace(slipped[0].sealed, of: slipped[0].id, $0) }
        #expect(try owner.viewers.all().viewers.count == 1, "premise")
        #expect(try Generations(owner).replaceAll(noting: vault.log(of: owner)) == [])
        try owner.index.write { try table.replace(slipped[0].sealed, of: slipped[0].id, $0) }
        #expect(try owner.viewers.all().viewers.isEmpty)
        #expect(try owner.viewers.all().unreadable == 1)
        try owner.close()
    }

    /// Copies the folder, and then destroys the generation of the copy's records.
    private func copyBeforeRetirement() throws -> (folder: TemporaryFolder, vault: String) {
        let folder = try TemporaryFolder()
        let copy = folder.path + "/vault"
        try FileManager.default.copyItem(atPath: vault.folder, toPath: copy)
        let owner = try vault.open()
        #expect(try Generations(owner).replaceAll(noting: vault.log(of: owner)) == [])
        try owner.close()
        return (folder, copy)
    }

    @Test("A copy of the folder that is older than the keys says so, and nothing of it is removed")
    func olderCopy() throws {
        try store.close()
        let (folder, copy) = try copyBeforeRetirement()
        defer { withExtendedLifetime(folder) {} }
        for access in [VaultStore.Access.owner, .reader] {
            let error = #expect(throws: VaultError.self) {
                try VaultStore.open(at: copy, keyring: vault.keyring, access: access)
            }
            #expect(error?.code == .foreignKeyring)
            #expect(error?.message.contains("this copy of the vault is older than its keys: generation 1") == true)
        }
        try VaultStore.open(at: copy, keyring: former, access: .owner).close()
    }

    @Test("No index is rebuilt from the catalog of a copy that is older than the keys")
    func rebuildOfOlderCopy() throws {
        try store.catalogBackup.write()
        try store.close()
        let (folder, copy) = try copyBeforeRetirement()
        defer { withExtendedLifetime(folder) {} }
        try FileManager.default.removeItem(atPath: copy + "/index.sqlite")
        let error = #expect(throws: VaultError.self) {
            try IndexRebuild(at: copy, keyring: vault.keyring, evenIfSound: false)
        }
        #expect(error?.code == .foreignKeyring)
        #expect(error?.message.contains("this copy of the vault is older than its keys: generation 1") == true)
    }

    @Test("A copy of a version without such records says the same once a generation was retired")
    func olderCopyOfVersion5() throws {
        try store.close()
        try EveryRecord.makeFormer(vault)
        let (folder, copy) = try copyBeforeRetirement()
        defer { withExtendedLifetime(folder) {} }
        let error = #expect(throws: VaultError.self) {
            try VaultStore.open(at: copy, keyring: vault.keyring, access: .owner)
        }
        #expect(error?.code == .foreignKeyring)
        #expect(error?.message.contains("this copy of the vault is older than its keys") == true)
    }

    @Test("A record of a generation that the keyring merely lacks stays, until it is to be forgotten")
    func lackedGeneration() throws {
        try store.catalogBackup.write()
        try store.index.write { db in
            try GenerationRow.insert(77, db)
            try db.execute(sql: "UPDATE subscription SET record = CAST(x'4d000000' || substr(record, 5) AS BLOB)")
        }
        #expect(try CatalogRestore(store).run().records == 0, "another keyring opens it")
        let found = try #require(try VerificationRows(store.index).unreadableRecords().first)
        #expect(found.count == 1 && found.lacked == 1)
        #expect(try VerificationRows(store.index).dropUnreadable(found) == 1)
        #expect(try VerificationRows(store.index).dropUnreadable(found, forgettingLacked: true) == 0)
        try store.close()
    }

    /// Destroys the generation of all records, and puts a subscription back as that generation sealed it.
    private func keepRetired() throws {
        let table = SealedTable.subscriptions
        let old = try #require(try store.index.read { try EveryRecord.rows(table.name, $0) }.first)
        #expect(try Generations(store).replaceAll(noting: vault.log(of: store)) == [])
        try store.index.write { try table.replace(old.sealed, of: old.id, $0) }
    }

    @Test("A record that a destroyed generation sealed stays, until it is to be forgotten")
    func retiredGeneration() throws {
        try keepRetired()
        let found = try #require(try VerificationRows(store.index).unreadableRecords().first)
        #expect(found.count == 1 && found.lacked == 1)
        #expect(try VerificationRows(store.index).dropUnreadable(found) == 1)
        #expect(try VerificationRows(store.index).dropUnreadable(found, forgettingLacked: true) == 0)
        try store.close()
    }

    @Test("A record that a destroyed generation sealed comes back, although the index still names the generation")
    func namedRetiredGeneration() throws {
        try keepRetired()
        try store.index.write { try GenerationRow.insert(1, $0) }
        #expect(try CatalogRestore(store).run().records == 1)
        #expect(try VerificationRows(store.index).unreadableRecords().isEmpty)
        try store.close()
    }

    @Test("A rewrap seals every record under the current generation")
    func rewrapped() throws {
        _ = try Generations(store).add(noting: vault.log(of: store))
        var rewrap = try Generations(store).rewrap()
        while try rewrap.step() {}
        #expect(try store.index.records.use().keys.sorted() == [2])
        try store.close()
    }

    @Test("A number that no generation has is damage, and the record comes back")
    func unknownGeneration() throws {
        try store.catalogBackup.write()
        try store.index.write { db in
            try db.execute(sql: "UPDATE subscription SET record = CAST(x'4d000000' || substr(record, 5) AS BLOB)")
        }
        #expect(try VerificationRows(store.index).unreadableRecords().map(\.lacked) == [0])
        #expect(try CatalogRestore(store).run().records == 1)
        try store.close()
    }

    @Test("A rewrap visits the generations that wrap keys, however many rows name others")
    func manyGenerations() throws {
        try store.index.write { db in
            try db.execute(
                sql: """
                    WITH RECURSIVE many(number) AS (SELECT 100 UNION ALL SELECT number + 1 FROM many LIMIT 5000)
                    INSERT INTO generation SELECT number, 'active' FROM many
                    """)
        }
        #expect(try GenerationRows(store.index).wrappingGenerations() == [1])
        try store.close()
    }
}
