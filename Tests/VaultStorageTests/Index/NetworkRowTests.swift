import Foundation
import GRDB
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
        _ = try store.changeLocator(noting: vault.log(of: store), queued: { _, _ in nil }, principals: { _, _ in [:] })
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
        #expect(try owner.index.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 4)
        #expect(try owner.index.settings().networkSettings().proxy?.port == 3128)
        try owner.changeSettings { $0.setNetwork(try Self.network()) }
        #expect(try owner.index.settings().members["proxy"] == nil)
        #expect(try owner.index.settings().networkSettings() == Self.network())
        try owner.close()
    }
}
