import Foundation
import GRDB
import Synchronization
import Testing
import VaultCrypto
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("The row of the network settings")
struct NetworkRowTests {
    private let vault: TemporaryVault
    private let store: VaultStore

    init() throws {
        vault = try TemporaryVault()
        store = try vault.open()
    }

    private static func network(_ value: String = "Bearer hunter2") throws -> NetworkSettings {
        var network = NetworkSettings()
        network.proxy = try ProxyAddress("http://me:hunter3@proxy.example:3128")
        try network.headers.set("Authorization", to: value, for: "nas.example")
        return network
    }

    private func row(_ table: String, _ column: String) throws -> Data {
        try #require(try store.index.read { try Data.fetchOne($0, sql: "SELECT \(column) FROM \(table)") })
    }

    private func read() throws -> NetworkSettings { try store.index.settings().networkSettings() }

    @Test("Counting fetched bytes seals no network settings again, however large they are")
    func counting() throws {
        let large = try Self.network(String(repeating: "h", count: 60_000))
        try store.changeSettings { $0.setNetwork(large) }
        let before = try row("network", "record")
        #expect(before.count > 60_000)
        try store.index.countFetched(5)
        try store.changeSettings { $0.mode = .offline }
        #expect(try row("network", "record") == before)
        #expect(try row("vault", "settings").count < 1024)
        #expect(try read() == large)
        #expect(try store.index.settings().bytesFetched == 5)
        try store.close()
        let reader = try vault.open(.reader)
        #expect(try reader.index.settings().networkSettings() == large)
        try reader.close()
    }

    @Test("A change of the locator seals the row under the new key")
    func locator() throws {
        try store.changeSettings { $0.setNetwork(try Self.network()) }
        _ = try LocatorChange(store).run(
            noting: vault.log(of: store), queued: { _, _ in nil }, principals: { _, _ in [:] })
        #expect(store.keyring.locators == [2])
        #expect(try read() == Self.network())
        try store.close()
    }

    @Test("A rebuilt index has the network settings of the backup")
    func rebuilt() throws {
        try store.changeSettings { $0.setNetwork(try Self.network()) }
        try store.close()
        try TemporaryFolder.remove(vault.folder + "/index.sqlite")
        let rebuild = try IndexRebuild(at: vault.folder, keyring: vault.keyring, evenIfSound: false)
        for byte in IndexRebuild.bytes { try rebuild.adopt(byte) }
        _ = try rebuild.finish()
        let again = try vault.open()
        #expect(try again.index.settings().networkSettings() == Self.network())
        try again.close()
    }

    enum Fault: CaseIterable { case removed, damaged, older }

    @Test(
        "A row that was removed, damaged or replaced by an older one is an error until the settings are set again",
        arguments: Fault.allCases)
    func fault(_ fault: Fault) throws {
        try store.changeSettings { $0.setNetwork(NetworkSettings()) }
        let older = try row("network", "record")
        try store.changeSettings { $0.setNetwork(try Self.network()) }
        try store.index.write { db in
            switch fault {
            case .removed: try db.execute(sql: "DELETE FROM network")
            case .damaged: try db.execute(sql: "UPDATE network SET record = x'00'")
            case .older: try db.execute(sql: "UPDATE network SET record = ?", arguments: [older])
            }
        }
        let error = #expect(throws: VaultError.self) { try read() }
        #expect(error?.code == .integrity)
        // The other settings do not depend on it.
        try store.changeSettings { $0.mode = .offline }
        #expect(try store.index.settings().mode == .offline)
        #expect(throws: VaultError.self) { try read() }
        try store.changeSettings { $0.setNetwork(try Self.network()) }
        #expect(try read() == Self.network())
        try store.close()
    }

    /// Changes the settings, and returns what is then in their row.
    private func set(_ value: String) throws -> Data {
        try store.changeSettings { $0.setNetwork(try Self.network(value)) }
        return try row("network", "record")
    }

    @Test("A row that was discarded with an index is not taken for one that counts the same number of changes")
    func discarded() throws {
        let first = try set("Bearer first")
        let settings = try row("vault", "settings")
        let discarded = try set("Bearer discarded")
        func put(_ record: Data, _ settings: Data? = nil) throws {
            try store.index.write { db in
                try db.execute(sql: "UPDATE network SET record = ?", arguments: [record])
                if let settings { try db.execute(sql: "UPDATE vault SET settings = ?", arguments: [settings]) }
            }
        }
        // What a rebuild from an older backup does.
        try put(first, settings)
        #expect(try read() == Self.network("Bearer first"))
        let last = try set("Bearer last")
        try put(discarded)
        #expect(throws: VaultError.self) { try read() }
        try put(last)
        #expect(try read() == Self.network("Bearer last"))
        try store.close()
    }

    /// Writes a row as it is, however large.
    private func write(_ members: JSONObject) throws {
        try store.index.write { db in
            let record = try store.index.recordKeys(db).seal(
                members, for: SealedTable.network.recordData(store.keyring.vaultID.bytes))
            try db.execute(sql: "UPDATE network SET record = ?", arguments: [record.data])
        }
    }

    @Test("Settings and a row of a version that gave them no id are read, and get one with the next change")
    func withoutID() throws {
        _ = try set("Bearer one")
        var members = try #require(try store.index.settings().network.members)
        members["id"] = nil
        try store.changeSettings { $0.members["networkID"] = nil }
        #expect(throws: VaultError.self) { try read() }
        try write(members)
        #expect(try read() == Self.network("Bearer one"))
        _ = try set("Bearer two")
        #expect(try read() == Self.network("Bearer two"))
        #expect(try store.index.settings().members["networkID"] != nil)
        try store.close()
    }

    @Test("A row larger than any that is written is not read, and none is written")
    func large() throws {
        _ = try set("Bearer one")
        var members = try #require(try store.index.settings().network.members)
        members["later"] = .string(String(repeating: "x", count: SealedTable.network.maxBytes))
        let error = #expect(throws: VaultError.self) {
            try store.changeSettings { [members] in $0.network.change(to: members) }
        }
        #expect(error?.code == .invalidArgument)
        #expect(try read() == Self.network("Bearer one"))
        try write(members)
        #expect(throws: VaultError.self) { try read() }
        try store.close()
    }

    @Test("Settings larger than any that are written are not read")
    func largeSettings() throws {
        try store.index.write { db in
            try db.execute(sql: "UPDATE vault SET settings = zeroblob(\(VaultRow.maxBytes))")
            #expect(try VaultRow.fetch(db)?.settings?.count == VaultRow.maxBytes)
            try db.execute(sql: "UPDATE vault SET settings = zeroblob(\(VaultRow.maxBytes + 1))")
            #expect(try VaultRow.fetch(db).map { $0.settings == nil } == true)
            #expect(try VaultRow.require(store.keyring, db).settings == nil)
        }
        try store.close()
    }

    @Test("After a power loss during a change the settings are the old or the new ones")
    func powerLoss() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem(seesIndex: true)
        let store = try vault.open(fileSystem: disk)
        let (old, new) = try (Self.network("Bearer old"), Self.network(String(repeating: "n", count: 60_000)))
        try store.changeSettings { $0.setNetwork(old) }
        let copies = try TemporaryFolder()
        let points = Mutex(0)
        let isChanged = Mutex(false)
        @Sendable func losePower(_ what: String) {
            let point = points.withLock {
                $0 += 1
                return $0
            }
            for outcome in UInt64(0)..<4 {
                let copy = copies.path + "/\(point)-\(outcome)"
                let comment: Comment = "\(what), point \(point), outcome \(outcome)"
                do {
                    try disk.loseEverythingUnsynced(tearing: UInt64(point) << 2 | outcome, into: copy)
                    let opened = try VaultStore.open(at: copy + "/vault", keyring: vault.keyring, access: .reader)
                    let found = try opened.index.settings().networkSettings()
                    #expect(found == new || found == old && !isChanged.withLock { $0 }, comment)
                    try opened.close()
                } catch {
                    Issue.record(error, comment)
                }
                try? TemporaryFolder.remove(copy)
            }
        }
        disk.observe { losePower("before \($0.operation)") }
        try store.changeSettings { $0.setNetwork(new) }
        disk.observe(nil)
        isChanged.withLock { $0 = true }
        losePower("after the change")
        #expect(points.withLock { $0 } > 2)
        try store.close()
    }

    @Test("A change that fails leaves the old settings")
    func failed() throws {
        let vault = try TemporaryVault()
        let disk = vault.simulatedFileSystem(seesIndex: true)
        let store = try vault.open(fileSystem: disk)
        let old = try Self.network("Bearer old")
        try store.changeSettings { $0.setNetwork(old) }
        let new = try Self.network("Bearer new")
        for operation in [FileOperation.write, .synchronize] {
            disk.fail(operation, of: "index.sqlite-wal", lasting: true, with: FileFailure(.noSpace, "write: no space"))
            #expect(throws: VaultError.self) { try store.changeSettings { $0.setNetwork(new) } }
            disk.mend()
            #expect(try store.index.settings().networkSettings() == old)
        }
        try store.close()
        let again = try vault.open()
        #expect(try again.index.settings().networkSettings() == old)
        try again.close()
    }

    @Test("A vault of an older version is read as it is, and its settings move into the row when they are set")
    func older() throws {
        try store.changeSettings { settings in
            settings.members["proxy"] = .string("http://me:hunter3@proxy.example:3128")
        }
        try store.close()
        for name in ["index.sqlite", "catalog.backup"] {
            let queue = try DatabaseQueue(path: vault.folder + "/" + name)
            try queue.write { try $0.execute(sql: "DROP TABLE network; PRAGMA user_version = 3") }
            try queue.close()
        }
        let reader = try vault.open(.reader)
        #expect(try reader.index.settings().networkSettings().proxy?.port == 3128)
        try reader.close()
        let owner = try vault.open()
        #expect(try owner.index.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 6)
        #expect(try owner.index.settings().networkSettings().proxy?.port == 3128)
        try owner.changeSettings { $0.setNetwork(try Self.network()) }
        #expect(try owner.index.settings().members["proxy"] == nil)
        #expect(try owner.index.settings().networkSettings() == Self.network())
        try owner.close()
    }
}
