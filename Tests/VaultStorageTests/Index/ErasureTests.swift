import Foundation
import GRDB
import SeededRandom
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("Deleted rows and rewrapped keys leave no trace in the index or elsewhere in the folder")
struct ErasureTests {
    private let vault: TemporaryVault
    private let store: VaultStore
    /// The sorted resource ids, the same in each run: they determine how SQLite moves rows between pages.
    private let ids: [ResourceID]

    init() throws {
        vault = try TemporaryVault()
        store = try vault.open()
        let bytes = SeededGenerator.bytes(500 * 32, seed: 94)
        ids = try stride(from: 0, to: bytes.count, by: 32).map { start in
            try #require(ResourceID(Data(bytes[start..<(start + 32)])))
        }.sorted { $0.data.lexicographicallyPrecedes($1.data) }
        for id in ids {
            var resource = try store.resources.add(
                id, url: "http://origin.example/\(id.hex)", cacheKey: id.bytes, resourceClass: .download)
            let information = ContentInformation(
                length: 9, type: "video/mp4", validators: Validators(), supportsRanges: true)
            try store.resources.begin(NewRepresentation(information), of: &resource)
        }
    }

    private func wrapped() throws -> [[UInt8]] {
        try GenerationRows(store.index).generations().all.flatMap {
            try store.wrappedKeys(of: $0).map(\.wrapped)
        }
    }

    /// Gives every title a new key, in batches, as a reseal does.
    private func reseal() throws {
        for start in stride(from: 0, to: ids.count, by: 64) {
            var batch = try ids[start..<min(start + 64, ids.count)].map {
                try #require(try store.index.resources.find($0))
            }
            for index in batch.indices { #expect(try SegmentReseal(store).begin(&batch[index], run: 1) == true) }
            for index in batch.indices { #expect(try SegmentReseal(store).finish(&batch[index])) }
        }
    }

    /// Removes about a fifth of the titles without erasing their traces.
    private func remove() throws -> [ResourceID] {
        let removed = ids.filter { $0.bytes[5].isMultiple(of: 5) }
        for id in removed { _ = try #require(try store.index.resources.remove(id)) }
        return removed
    }

    private func traces(of values: [[UInt8]]) throws -> Int { try Traces.count(of: values, below: vault.folder) }

    /// The number of traces in the index alone, after the backup was renewed and the log truncated.
    private func left(of values: [[UInt8]]) throws -> Int {
        try store.catalogBackup.write()
        try store.index.database.truncateLog()
        return try traces(of: values)
    }

    @Test("A reseal, removals and a new generation leave no trace of a former wrapped key")
    func keys() throws {
        var old = try wrapped()
        try reseal()
        old += try wrapped()
        let removed = try remove()
        let log = vault.log(of: store)
        _ = try Generations(store).add(noting: log)
        var rewrap = try Generations(store).rewrap()
        while try rewrap.step() {}
        #expect(old.count == 1000 && rewrap.done == 500 - removed.count && rewrap.unopened == 0)
        #expect(try left(of: old) > 0, "SQLite left no copy of deleted data, so this test proves nothing")
        try Generations(store).finishRewrap()
        #expect(try traces(of: old) == 0)
        try Generations(store).retire(1, noting: log)
        #expect(try traces(of: old) == 0)
        #expect(try store.index.resources.page(after: nil, limit: 500).count { $0.resource != nil } == rewrap.done)
        try store.close()
        #expect(try traces(of: old) == 0)
    }

    @Test("A removal erases the names of all removed titles, including those removed before it")
    func names() throws {
        try reseal()
        let removed = try remove()
        let names = removed.map(\.bytes)
        #expect(try left(of: names) > 0, "SQLite left no copy of deleted data, so this test proves nothing")
        let last = try #require(ids.first { !removed.contains($0) })
        #expect(try store.resources.remove(last) == 0)
        #expect(try traces(of: names + [last.bytes]) == 0)
        try store.close()
    }

    @Test("The next owner finishes the erasure of a killed owner, at the latest when it closes")
    func killed() throws {
        let names = try remove().map(\.bytes)
        let copy = vault.above.path + "/copy"
        try FileManager.default.copyItem(atPath: vault.folder, toPath: copy)
        #expect(try Traces.count(of: names, below: copy) > 0)
        let next = try VaultStore.open(at: copy, keyring: vault.keyring, access: .owner)
        try next.close()
        #expect(try Traces.count(of: names, below: copy) == 0)
        try store.close()
    }

    @Test("If there is no space for the backup, an error reports it, no generation is retired, and a retry succeeds")
    func noSpace() throws {
        try store.close()
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        let old = try store.wrappedKeys(of: 1).map(\.wrapped)
        _ = try Generations(store).add(noting: vault.log(of: store))
        var rewrap = try Generations(store).rewrap()
        while try rewrap.step() {}
        disk.fail(.create, of: "catalog.backup", lasting: true, with: FileFailure(.noSpace, "no space"))
        let error = #expect(throws: VaultError.self) { try Generations(store).finishRewrap() }
        #expect(error?.code == .diskFull && error?.message.contains("run it again to finish it") == true)
        #expect(throws: VaultError.self) { try Generations(store).retire(1, noting: vault.log(of: store)) }
        #expect(store.keyring.activeGenerations == [1, 2], "no generation goes while keys that it wrapped may remain")
        #expect(try store.resources.remove(ids[0]) == 0 && store.erasure.isPending())
        #expect(try store.index.resources.page(after: nil, limit: 500).count { $0.resource != nil } == 499)
        disk.mend()
        try Generations(store).retire(1, noting: vault.log(of: store))
        #expect(try traces(of: old) == 0 && store.keyring.activeGenerations == [2] && !store.erasure.isPending())
        try store.close()
    }

    @Test("The index keeps a pending erasure, so the next owner finishes it if the first could not")
    func carried() throws {
        try store.close()
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        disk.fail(.create, of: "catalog.backup", lasting: true, with: FileFailure(.noSpace, "no space"))
        let error = #expect(throws: VaultError.self) { try store.resources.remove(ids[3]) }
        #expect(error?.code == .storage && error?.message.contains("may remain in the index") == true)
        #expect(throws: VaultError.self) { try store.close() }
        #expect(try traces(of: [ids[3].bytes]) == 1, "no erasure was left pending, so this test proves nothing")
        #expect(!PosixFileSystem().exists(vault.folder + "/index.sqlite-wal"), "the owner must have closed the index")
        let next = try vault.open()
        #expect(try next.erasure.isPending())
        try next.close()
        #expect(try traces(of: [ids[3].bytes]) == 0)
        let last = try vault.open(.reader)
        #expect(try !last.erasure.isPending())
        try last.close()
    }

    @Test("A removal within a minute of an erasure waits for the next one, and the vault reports it as pending")
    func together() throws {
        #expect(try store.resources.remove(ids[0]) == 0 && !store.erasure.isPending())
        #expect(try store.resources.remove(ids[1]) == 0 && store.erasure.isPending())
        Recovery(store).finishPendingWork()
        #expect(try !store.erasure.isPending() && traces(of: [ids[0].bytes, ids[1].bytes]) == 0)
        #expect(try store.resources.remove(ids[2]) == 0 && store.erasure.isPending())
        try store.close()
        #expect(try traces(of: [ids[2].bytes]) == 0)
    }

    @Test("While another program reads the log, the erasure stays pending")
    func busy() throws {
        let reader = try DatabaseQueue(path: vault.folder + "/index.sqlite")
        try reader.inDatabase { db in
            try db.execute(sql: "BEGIN")
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM resource") == 500)
            _ = try #require(try store.index.resources.remove(ids[5]))
            let error = #expect(throws: VaultError.self) { try store.index.database.truncateLog(patience: .zero) }
            #expect(error?.code == .owned)
            #expect(throws: VaultError.self) { try store.erasure.carryOut(patience: .zero) }
            #expect(try store.erasure.isPending())
            try db.execute(sql: "COMMIT")
        }
        try store.erasure.carryOut(patience: .zero)
        #expect(try !store.erasure.isPending() && traces(of: [ids[5].bytes]) == 0)
        try reader.close()
        try store.close()
    }

    @Test("Erasure runs in steps with writes between them, and leaves no trace of earlier removals")
    func steps() throws {
        let gone = try remove().map(\.bytes)
        let rest = ids.filter { !gone.contains($0.bytes) }
        // As an erasure begins: until then the index names what the backup still has.
        try store.catalogBackup.write()
        var next: Int64? = 1
        var steps = 0
        while let page = next {
            next = try store.index.database.wipeUnusedBytes(from: page, count: 4, patience: .zero)
            steps += 1
            // These writes move rows between pages, including pages that are not yet wiped.
            try store.resources.setClass(.pinned, of: rest[steps % rest.count])
            let url = "http://origin.example/new-\(steps)"
            let name = try #require(store.keyring.resourceID(cacheKey: Array(url.utf8), locator: store.index.locator))
            _ = try store.resources.add(name, url: url, cacheKey: Array(url.utf8), resourceClass: .cache)
        }
        #expect(steps > 20)
        try store.catalogBackup.write()
        #expect(try traces(of: gone) == 0)
        #expect(try store.index.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") } == "ok")
        #expect(try store.index.resources.page(after: nil, limit: 5000).allSatisfy { $0.resource != nil })
        try store.close()
    }

    @Test("A backup during a write transaction contains the index as it was before")
    func backupBeside() throws {
        try store.index.write { db in
            try db.execute(sql: "UPDATE resource SET class = 'pinned'")
            // On the writing connection, the backup would see the uncommitted transaction.
            try CatalogBackup(store.index, vault: vault.folder, fileSystem: PosixFileSystem()).write()
        }
        let backup = try DatabaseQueue(path: vault.folder + "/catalog.backup")
        let classes = try backup.read { try String.fetchAll($0, sql: "SELECT DISTINCT class FROM resource") }
        #expect(classes == ["download"])
        try backup.close()
        try store.close()
    }

    @Test(
        "The first owner adds the table of pending erasures to an older vault, and readers work without it"
    )
    func older() throws {
        try store.index.write {
            try $0.execute(
                sql: "DROP TABLE owed; DROP TABLE packedPart; DROP TABLE accessGrant; PRAGMA user_version = 1")
        }
        try store.close()
        let reader = try vault.open(.reader)
        #expect(try !reader.erasure.isPending() && reader.index.resources.totals().resources == 500)
        try reader.close()
        let owner = try vault.open()
        // The reader left a log like a killed owner, and an older owner would not have recorded pending erasures.
        try owner.erasure.carryOut()
        #expect(try !owner.erasure.isPending())
        _ = try #require(try owner.index.resources.remove(ids[0]))
        #expect(try owner.erasure.isPending())
        try owner.close()
        #expect(try traces(of: [ids[0].bytes]) == 0)
    }

    @Test(
        "Titles are removed and finally erased, even if the record of the pending erasure is damaged",
        arguments: ["NULL", "'x'", "-9223372036854775808", "1e300", "x'ff'"])
    func damagedDebt(value: String) throws {
        #expect(try store.resources.remove(ids[0]) == 0 && !store.erasure.isPending())
        // Uses another connection, because the vault's own cannot change the schema. One flipped bit can make a NULL in
        // a column that excludes it.
        let other = try DatabaseQueue(path: vault.folder + "/index.sqlite")
        try other.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    DROP TABLE owed; CREATE TABLE owed (what TEXT PRIMARY KEY, number INTEGER) WITHOUT ROWID;
                    INSERT INTO owed VALUES ('erasure', \(value));
                    PRAGMA writable_schema = ON;
                    """)
            try db.execute(
                sql: "UPDATE sqlite_master SET sql = ? WHERE name = 'owed'", arguments: [IndexSchema.owed])
            try db.execute(sql: "PRAGMA writable_schema = RESET")
        }
        try other.close()
        #expect(try store.erasure.isPending())
        #expect(try store.resources.remove(ids[1]) == 0)
        try store.erasure.carryOut()
        #expect(try !store.erasure.isPending() && traces(of: [ids[0].bytes, ids[1].bytes]) == 0)
    }
}
