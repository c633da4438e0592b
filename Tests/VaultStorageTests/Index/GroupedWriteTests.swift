import Foundation
import GRDB
import SeededRandom
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("Writes that wait for the index at the same time share a sync")
struct GroupedWriteTests {
    /// The outcomes of writes, by their numbers.
    private final class Results: Sendable {
        let all = Locked<[Int: Result<Int, any Error>]>([:])
    }

    private struct Stage {
        let vault: TemporaryVault
        let disk: SimulatedFileSystem
        let store: VaultStore

        init() throws {
            vault = try TemporaryVault()
            disk = vault.simulatedFileSystem(seesIndex: true)
            store = try vault.open(fileSystem: disk)
            // The first write to a log syncs its header, too.
            try store.index.synchronize()
        }

        var syncs: Int { disk.count(.synchronize, of: "index.sqlite-wal") }

        /// Runs writes that all wait until the index is free; returns the outcome of each.
        func together(
            _ count: Int, _ body: @escaping @Sendable (Int, Database) throws -> Int
        ) throws -> [Result<Int, any Error>] {
            let (index, results, ended) = (store.index, Results(), DispatchGroup())
            try index.read { _ in
                for number in 0..<count {
                    ended.enter()
                    Thread.detachNewThread {
                        let result = Result { try index.writeTogether { db in try body(number, db) } }
                        results.all.withLock { $0[number] = result }
                        ended.leave()
                    }
                }
                // Nothing remains for them to do before they wait for this connection.
                while index.database.grouped.count < count { Thread.sleep(forTimeInterval: 0.001) }
            }
            ended.wait()
            return results.all.withLock { results in (0..<count).compactMap { results[$0] } }
        }

        func add(_ number: Int, _ db: Database) throws -> Int {
            try db.execute(sql: "INSERT INTO doomed VALUES (?)", arguments: [Data(repeating: UInt8(number), count: 16)])
            return number
        }

        var added: Int { get throws { try store.index.resources.totals().pendingDeletions } }
    }

    @Test("Twenty writes return their own results after a single sync")
    func shared() throws {
        let stage = try Stage()
        let before = stage.syncs
        let results = try stage.together(20) { number, db in try stage.add(number, db) }
        #expect(try results.map { try $0.get() } == Array(0..<20))
        #expect(stage.syncs == before + 1)
        #expect(try stage.added == 20)
        _ = try stage.store.index.writeTogether { db in try stage.add(99, db) }
        #expect(stage.syncs == before + 2, "a write by itself is synced, too")
    }

    @Test("A write that refuses leaves nothing behind, and the others are written")
    func refused() throws {
        let stage = try Stage()
        let results = try stage.together(6) { number, db in
            let added = try stage.add(number, db)
            if number == 3 { throw VaultError(.changed, "refused") }
            return added
        }
        #expect(results.map { (try? $0.get()) ?? -1 } == [0, 1, 2, -1, 4, 5])
        #expect(try stage.added == 5)
    }

    @Test("A write that the database refuses fails alone, and the others are written")
    func guilty() throws {
        let stage = try Stage()
        let results = try stage.together(6) { number, db in
            let added = try stage.add(number, db)
            if number == 3 { _ = try stage.add(number, db) }
            return added
        }
        #expect(results.map { (try? $0.get()) ?? -1 } == [0, 1, 2, -1, 4, 5])
        #expect(throws: (any Error).self) { try results[3].get() }
        #expect(try stage.added == 5)
    }

    @Test("What was written without a sync is durable after one")
    func synchronized() throws {
        let stage = try Stage()
        let before = stage.syncs
        _ = try stage.store.index.writeWithoutSync { db in try stage.add(1, db) }
        #expect(stage.syncs == before)
        try stage.store.index.synchronize()
        #expect(stage.syncs == before + 1)
    }

    @Test("If the sync fails, every one of them fails, and nothing is written")
    func failedSync() throws {
        let stage = try Stage()
        stage.disk.fail(.synchronize, of: "index.sqlite-wal", with: FileFailure(.other(5), "fdatasync: I/O error"))
        let results = try stage.together(5) { number, db in try stage.add(number, db) }
        #expect(results.allSatisfy { (try? $0.get()) == nil })
        #expect(try stage.added == 0)
    }
}
