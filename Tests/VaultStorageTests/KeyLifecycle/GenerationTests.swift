import GRDB
import SeededRandom
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("Held bytes stay readable while generations are created and retired")
struct GenerationTests {
    private static let bytes = SeededGenerator.bytes(90_000, seed: 61)

    /// Adds resources that each hold some bytes.
    private static func fill(_ store: VaultStore, _ names: some Sequence<Int>) throws -> [StoredResource] {
        try names.map { name in
            let resource = try store.addMedia("film-\(name)", length: 90_000)
            _ = try store.store(Array(bytes), at: 0, of: resource)
            return resource
        }
    }

    private static func expectReadable(
        _ store: VaultStore, _ resources: [StoredResource], in generation: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for resource in resources {
            let found = try #require(try store.index.resources.find(resource.id), sourceLocation: sourceLocation)
            #expect(found.generation == generation, sourceLocation: sourceLocation)
            #expect(try store.read(found).map(\.bytes) == [bytes], sourceLocation: sourceLocation)
        }
    }

    @Test("New resources use a new generation, a rewrap moves all others to it, and the old one can be retired")
    func life() throws {
        let vault = try TemporaryVault()
        var store = try vault.open()
        let log = vault.log(of: store)
        let old = try Self.fill(store, 0..<5)
        #expect(try Generations(store).add(noting: log) == 2)
        let new = try Self.fill(store, 5..<7)
        try Self.expectReadable(store, old, in: 1)
        try Self.expectReadable(store, new, in: 2)
        let refusal = #expect(throws: VaultError.self) { try Generations(store).retire(1, noting: log) }
        #expect(refusal?.code == .inUse && refusal?.message.contains("5 resource keys") == true)
        var rewrap = try Generations(store).rewrap()
        while try rewrap.step() {}
        try Generations(store).finishRewrap()
        #expect(rewrap.total == 5 && rewrap.done == 5 && rewrap.unopened == 0)
        try Self.expectReadable(store, old + new, in: 2)
        try Generations(store).retire(1, noting: log)
        try store.close()

        let keyring = try TemporaryVault.unlock(vault.keyringFile)
        #expect(keyring.activeGenerations == [2] && keyring.currentGeneration == 2)
        store = try VaultStore.open(at: vault.folder, keyring: keyring, access: .owner)
        try Self.expectReadable(store, old + new, in: 2)
        #expect(try GenerationRows(store.index).generations().all == [2])
    }

    @Test("No key wrapped by the old generation is left in the folder, before or after closing")
    func traces() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        // Enough rows, in random order of their ids, to split and join pages of the index.
        for name in 0..<1500 { _ = try store.addMedia("film-\(name)", length: 1) }
        try store.catalogBackup.write()
        let old = try store.wrappedKeys(of: 1).map(\.wrapped)
        #expect(old.count == 1500)
        #expect(try Traces.count(of: old, below: vault.folder) > 1000, "the search must find existing keys")
        #expect(try Generations(store).replaceAll(noting: vault.log(of: store)) == [])
        #expect(try Traces.count(of: old, below: vault.folder) == 0)
        try store.close()
        #expect(try Traces.count(of: old, below: vault.folder) == 0)
    }

    @Test("Retiring a generation first removes old and unfinished copies of the index, even after a failure")
    func putAside() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem()
        let store = try vault.open(fileSystem: disk)
        let log = vault.log(of: store)
        _ = try Self.fill(store, 0..<1)
        _ = try Generations(store).add(noting: log)
        var rewrap = try Generations(store).rewrap()
        while try rewrap.step() {}
        try Generations(store).finishRewrap()
        let copies = [
            "index.sqlite.damaged", "index.sqlite.damaged-wal", "index.sqlite.new", "index.sqlite.new-wal",
            "index.sqlite.new-shm", "catalog.backup.new",
        ].map { vault.folder + "/" + $0 }
        for copy in copies { try disk.create(copy).write([1], at: 0) }
        // If a copy cannot be removed, the key that it needs stays.
        for copy in copies {
            disk.fail(.remove, of: copy, with: FileFailure(.other(5), "unlink: Input/output error"))
            #expect(throws: VaultError.self) { try Generations(store).retire(1, noting: log) }
            #expect(store.keyring.activeGenerations == [1, 2])
            disk.mend()
        }
        try Generations(store).retire(1, noting: log)
        #expect(store.keyring.activeGenerations == [2])
        for copy in copies { #expect(!PosixFileSystem().exists(copy), "\(copy)") }
        try store.close()
    }

    @Test("An interrupted rewrap continues with the remaining keys")
    func brokenOff() throws {
        let vault = try TemporaryVault()
        var store = try vault.open()
        for name in 0..<2500 { _ = try store.addMedia("film-\(name)", length: 1) }
        _ = try Generations(store).add(noting: vault.log(of: store))
        var first = try Generations(store).rewrap()
        #expect(try first.step())
        try store.close()
        let keyring = try TemporaryVault.unlock(vault.keyringFile)
        store = try VaultStore.open(at: vault.folder, keyring: keyring, access: .owner)
        var second = try Generations(store).rewrap()
        #expect(second.total == 2500 - first.done && second.total > 0)
        while try second.step() {}
        #expect(second.done == second.total && second.unopened == 0)
        #expect(try store.index.read { db in try ResourceKeyRow.count(notWrappedBy: 2, db) }.keys == 0)
    }

    @Test("Retiring a generation inside a retired range changes nothing, and an unknown one is refused")
    func folded() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let place = vault.keyringPlace()
        try vault.keyring.change(reading: place.read) { edit in
            for number in 1...200 {
                _ = try edit.addGeneration(now: 1)
                try edit.retireGeneration(number)
            }
        } writing: {
            try place.write($0.bytes)
        }
        try #require(store.keyring.foldedGenerations.contains { $0.contains(1) })
        let revision = store.keyring.revision
        try Generations(store).retire(1, noting: vault.log(of: store))
        #expect(store.keyring.revision == revision)
        let refusal = #expect(throws: VaultError.self) {
            try Generations(store).retire(999, noting: vault.log(of: store))
        }
        #expect(refusal?.code == .notHeld)
        try store.close()
    }

    @Test("A key that does not open stays, and its generation is not retired")
    func unopened() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let resources = try Self.fill(store, 0..<3)
        let broken = resources[1].id
        try store.index.write { db in
            try db.execute(
                sql: "UPDATE resourceKey SET wrapped = zeroblob(60) WHERE resource = ?", arguments: [broken.data])
        }
        #expect(try Generations(store).replaceAll(noting: vault.log(of: store)) == [1])
        #expect(store.keyring.activeGenerations == [1, 2])
        #expect(try GenerationRows(store.index).retiring() == [1])
        let receipt = try AuditLog.report(on: vault.folder, keyring: store.keyring).receipts.last
        #expect(receipt?.act == .rewrap && receipt?.outcome == .partly && receipt?.resources == 2)
        _ = try store.resources.remove(broken)
        #expect(try Generations(store).finishReplacing(noting: vault.log(of: store)) == [])
        #expect(store.keyring.activeGenerations == [2])
        #expect(try GenerationRows(store.index).retiring() == [])
    }

    @Test("A key wrapped by a newer generation counts as unopened, because a restored keyring may be older")
    func newer() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        _ = try Self.fill(store, 0..<1)
        try store.index.write { db in
            try db.execute(sql: "INSERT INTO generation VALUES (9, 'active'); UPDATE resourceKey SET generation = 9")
        }
        var rewrap = try Generations(store).rewrap()
        while try rewrap.step() {}
        #expect(rewrap.total == 1 && rewrap.unopened == 1)
    }

    @Test("A generation that the index could not record gets its row at the next write of the keyring")
    func withoutRow() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let log = vault.log(of: store)
        try store.index.write { db in
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER refuse BEFORE INSERT ON generation WHEN NEW.number > 1 BEGIN SELECT RAISE(ABORT, 'no'); END
                    """)
        }
        #expect(throws: (any Error).self) { try Generations(store).add(noting: log) }
        #expect(store.keyring.currentGeneration == 1, "a generation without a row must not be used")
        _ = try Self.fill(store, 0..<1)
        #expect(throws: (any Error).self) { try log.note(.rewrap) }
        #expect(store.keyring.currentGeneration == 1)
        try store.index.write { try $0.execute(sql: "DROP TRIGGER refuse") }
        try log.note(.rewrap)
        #expect(store.keyring.currentGeneration == 2)
        try Self.expectReadable(store, try Self.fill(store, 1..<2), in: 2)
        try store.close()
    }

    @Test("The index adopts a generation that it lacks, but not one that it removed")
    func catchingUp() throws {
        let vault = try TemporaryVault()
        var store = try vault.open()
        let place = vault.keyringPlace()
        // Simulates a power loss after the keyring is durable and before the index is updated.
        let keyring = try TemporaryVault.unlock(vault.keyringFile)
        _ = try keyring.change(reading: place.read) {
            try $0.addGeneration(now: 1)
        } writing: {
            try place.write($0.bytes)
        }
        try store.close()
        store = try VaultStore.open(at: vault.folder, keyring: keyring, access: .owner)
        #expect(try GenerationRows(store.index).generations().all == [1, 2])
        _ = try Self.fill(store, 0..<1)
        var rewrap = try Generations(store).rewrap()
        while try rewrap.step() {}
        // Simulates a power loss after the index removed a generation that the keyring still has.
        try GenerationRows(store.index).removeGeneration(1)
        // A receipt raises the keyring's revision, but does not make the generation new.
        try vault.log(of: store).note(.rewrap)
        try store.close()
        store = try VaultStore.open(at: vault.folder, keyring: keyring, access: .owner)
        #expect(try GenerationRows(store.index).generations().retiring == [1], "it is on its way out")
        try Generations(store).retire(1, noting: vault.log(of: store))
        #expect(keyring.activeGenerations == [2])
    }

    @Test("A keyring from before the removal of a generation no longer opens the vault, despite only receipts since")
    func letGo() throws {
        let vault = try TemporaryVault()
        let store = try vault.open()
        let log = vault.log(of: store)
        #expect(try Generations(store).add(noting: log) == 2)
        let old = try KeyringReader.unlock(try vault.keyringPlace().read(), with: TestKeyring.secret())
        try log.note(.rewrap)
        try #require(store.keyring.revision > old.revision)
        var rewrap = try Generations(store).rewrap()
        while try rewrap.step() {}
        // Simulates a power loss after the index removed the generation and before the keyring did.
        try GenerationRows(store.index).removeGeneration(1)
        try store.close()
        let refusal = #expect(throws: VaultError.self) {
            _ = try VaultStore.open(at: vault.folder, keyring: old, access: .owner)
        }
        #expect(refusal?.code == .olderKeyring)
        let newer = try TemporaryVault.unlock(vault.keyringFile)
        let again = try VaultStore.open(at: vault.folder, keyring: newer, access: .owner)
        #expect(try GenerationRows(again.index).retiring() == [1])
    }
}
