import Foundation
import GRDB
import SeededRandom
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("What was deleted or wrapped anew stands in no page of the index, nor anywhere else in the folder")
struct ErasureTests {
    private let vault: TemporaryVault
    private let store: VaultStore
    /// In order. The same each time: how SQLite moves rows from page to page depends on them.
    private let ids: [ResourceID]

    init() throws {
        vault = try TemporaryVault()
        store = try vault.open()
        let bytes = SeededGenerator.bytes(500 * 32, seed: 94)
        ids = try stride(from: 0, to: bytes.count, by: 32).map { start in
            try #require(ResourceID(Data(bytes[start..<(start + 32)])))
        }.sorted { $0.data.lexicographicallyPrecedes($1.data) }
        for id in ids {
            _ = try store.addResource(
                id, url: "http://origin.example/\(id.hex)", cacheKey: id.bytes, resourceClass: .download)
        }
    }

    private func wrapped() throws -> [[UInt8]] {
        try store.index.generations().all.flatMap {
            try store.index.keys(wrappedBy: $0, after: nil, limit: 5000).map(\.wrapped)
        }
    }

    /// Gives every title a new key, some at a time, as a reseal does.
    private func reseal() throws {
        for start in stride(from: 0, to: ids.count, by: 64) {
            var batch = try ids[start..<min(start + 64, ids.count)].map { try #require(try store.index.resource($0)) }
            for index in batch.indices { #expect(try store.beginReseal(&batch[index], run: 1) == true) }
            for index in batch.indices { #expect(try store.finishReseal(&batch[index])) }
        }
    }

    /// Removes titles from here and there, and erases nothing.
    private func remove() throws -> [ResourceID] {
        let removed = ids.filter { $0.bytes[5].isMultiple(of: 5) }
        for id in removed { _ = try #require(try store.index.remove(id)) }
        return removed
    }

    private func traces(of values: [[UInt8]]) throws -> Int { try Traces.count(of: values, below: vault.folder) }

    /// What stands in the index alone, when backup and log are as they should be.
    private func left(of values: [[UInt8]]) throws -> Int {
        try store.backUpCatalog()
        try store.index.truncateLog()
        return try traces(of: values)
    }

    @Test("New keys for all, a fifth of the titles removed, the generation turned: no wrapped key of before is left")
    func keys() throws {
        var old = try wrapped()
        try reseal()
        old += try wrapped()
        let removed = try remove()
        let log = vault.log(of: store)
        _ = try store.addGeneration(noting: log)
        var rewrap = try store.rewrap()
        while try rewrap.step() {}
        #expect(old.count == 1000 && rewrap.done == 500 - removed.count && rewrap.unopened == 0)
        #expect(try left(of: old) > 0, "SQLite leaves copies of what it wiped, else this proves nothing")
        try store.finishRewrap()
        #expect(try traces(of: old) == 0)
        try store.retire(1, noting: log)
        #expect(try traces(of: old) == 0)
        #expect(try store.index.resources(after: nil, limit: 500).count { $0.resource != nil } == rewrap.done)
        try store.close()
        #expect(try traces(of: old) == 0)
    }

    @Test("A removal leaves no name of any title that was removed, those that were let go before it included")
    func names() throws {
        try reseal()
        let removed = try remove()
        let names = removed.map(\.bytes)
        #expect(try left(of: names) > 0, "SQLite leaves copies of what it wiped, else this proves nothing")
        let last = try #require(ids.first { !removed.contains($0) })
        #expect(try store.remove(last) == 0)
        #expect(try traces(of: names + [last.bytes]) == 0)
        try store.close()
    }

    @Test("What an owner that was killed had still to erase is erased by the next, when it ends at the latest")
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

    @Test("Where there is no room to make a table anew nothing changes, that is told, and it is done later")
    func noRoom() throws {
        let old = try wrapped()
        _ = try store.addGeneration(noting: vault.log(of: store))
        var rewrap = try store.rewrap()
        while try rewrap.step() {}
        // SQLite says of rows on their way what it says of a full disk.
        try store.index.write { try $0.execute(sql: "PRAGMA temp.max_page_count = 3") }
        let error = #expect(throws: VaultError.self) { try store.finishRewrap() }
        #expect(error?.code == .diskFull && error?.message.contains("run it again to finish it") == true)
        #expect(throws: VaultError.self) { try store.retire(1, noting: vault.log(of: store)) }
        #expect(store.keyring.activeGenerations == [1, 2], "no generation goes while what it wrapped may stand")
        let removal = #expect(throws: VaultError.self) { try store.remove(ids[0]) }
        #expect(removal?.code == .storage && removal?.message.contains("may still stand in the index") == true)
        #expect(try store.index.resources(after: nil, limit: 500).count { $0.resource != nil } == 499)
        try store.index.write { try $0.execute(sql: "PRAGMA temp.max_page_count = 4294967294") }
        try store.retire(1, noting: vault.log(of: store))
        #expect(try traces(of: old) == 0 && store.keyring.activeGenerations == [2])
        try store.close()
    }

    @Test("Tables that are made anew are what they were, for those that read beside it too")
    func same() throws {
        let reader = try vault.open(.reader)
        func schema(_ index: VaultIndex) throws -> Set<String> {
            try index.read { try Set(String.fetchAll($0, sql: "SELECT sql FROM sqlite_master")) }
        }
        let (before, seen) = (try schema(store.index), try schema(reader.index))
        #expect(try reader.index.resource(ids[7]) != nil)
        try store.index.renew(Erasure.titles.tables)
        #expect(try schema(store.index) == before && schema(reader.index) == seen && seen == before)
        #expect(try reader.index.resources(after: nil, limit: 500).map(\.id) == ids)
        let (enforced, broken, sound) = try store.index.read { db in
            (
                try Bool.fetchOne(db, sql: "PRAGMA foreign_keys"),
                try Row.fetchAll(db, sql: "PRAGMA foreign_key_check").count,
                try String.fetchOne(db, sql: "PRAGMA integrity_check")
            )
        }
        #expect(enforced == true && broken == 0 && sound == "ok")
        _ = try store.index.remove(ids[7])
        #expect(try reader.index.resource(ids[7]) == nil && wrapped().count == 499, "keys go with what they are of")
        try reader.close()
        try store.close()
    }
}
