import Foundation
import GRDB
import MediaVault
import OriginTestSupport
import Testing

@Suite("Shredded titles cannot be recovered", .timeLimit(.minutes(2)))
struct ShredTests {
    private let fixture: VaultFixture
    private let vault: Vault

    init() async throws {
        fixture = try await VaultFixture(ScriptedResource(seed: 5, length: 3_000_000))
        vault = try await fixture.open()
        #expect(try await fixture.read(vault) == 0..<3_000_000)
    }

    /// Returns every wrapped key in the index, as stored.
    private func wrappedKeys() throws -> [Data] {
        var configuration = Configuration()
        configuration.readonly = true
        let database = try DatabaseQueue(path: fixture.place.folder + "/index.sqlite", configuration: configuration)
        defer { try? database.close() }
        return try database.read { try Data.fetchAll($0, sql: "SELECT wrapped FROM resourceKey") }
    }

    /// Returns the files in the vault folder that contain the given bytes.
    private func files(holding bytes: Data) throws -> [String] {
        let folder = fixture.place.folder
        return try FileManager.default.subpathsOfDirectory(atPath: folder).filter { name in
            (try? Data(contentsOf: URL(filePath: folder + "/" + name)))?.range(of: bytes) != nil
        }
    }

    @Test("A shredded title's wrapped key is in no file, neither while the vault is open nor afterwards")
    func destroyed() async throws {
        // An index that was set aside contains keys, too.
        try FileManager.default.copyItem(
            atPath: fixture.place.folder + "/index.sqlite", toPath: fixture.place.folder + "/index.sqlite.damaged")
        let key = try #require(try wrappedKeys().first)
        #expect(try !files(holding: key).isEmpty, "premise: the search finds the key")
        let report = try await vault.keys.shred([MediaReference(fixture.url)])
        #expect(report.outcome == .destroyed && report.generation == 2)
        #expect(report.titles.map(\.error) == [nil] && (report.titles[0].bytes ?? 0) > 3_000_000)
        #expect(try files(holding: key).isEmpty)
        #expect(try await vault.titles.summary(of: fixture.url) == nil && fixture.segmentFiles.isEmpty)
        let audit = try await vault.keys.audit()
        #expect(audit.isSound && audit.receipts.map(\.act) == [.rotate, .retire, .shred])
        #expect(audit.receipts.last?.outcome == .destroyed)
        await vault.close()
        #expect(try files(holding: key).isEmpty)
    }

    @Test("Other titles are read as before, under the new generation")
    func others() async throws {
        let other = MediaReference(fixture.origin.url("/other.mp4"))
        #expect(try await fixture.bytes(vault, other) == 3_000_000)
        _ = try await vault.keys.shred([MediaReference(fixture.url)])
        #expect(try await vault.titles.summary(of: other)?.generation == 2)
        await vault.close()
        let again = try await fixture.open(mode: .offline)
        #expect(try await fixture.bytes(again, other) == 3_000_000)
        await again.close()
    }

    @Test("A quick shred keeps the generation, and its receipt has the outcome removed")
    func quick() async throws {
        let key = try #require(try wrappedKeys().first)
        let report = try await vault.keys.shred([MediaReference(fixture.url)], quick: true)
        #expect(report.outcome == .removed && report.generation == 1)
        #expect(try files(holding: key).isEmpty)
        #expect(try await vault.keys.audit().receipts.map(\.outcome) == [.removed])
        await vault.close()
    }

    @Test("A shred ends readers of the title, and the next read fetches it again")
    func playing() async throws {
        let reader = try await vault.read(fixture.url)
        _ = try await reader.next()
        _ = try await vault.keys.shred([MediaReference(fixture.url)])
        let error = await #expect(throws: VaultError.self) { while try await reader.next() != nil {} }
        #expect(error?.code == .removed)
        #expect(try await fixture.read(vault) == 0..<3_000_000)
        #expect(try await vault.titles.summary(of: fixture.url)?.generation == 2)
        await vault.close()
    }

    @Test("An unknown title is reported, and the others are shredded")
    func unknown() async throws {
        let unknown = MediaReference(fixture.origin.url("/unknown"))
        let report = try await vault.keys.shred([unknown, MediaReference(fixture.url)])
        #expect(report.titles.map { $0.error?.code } == [.notHeld, nil])
        #expect(try await vault.keys.audit().receipts.filter { $0.act == .shred }.count == 1)
        await vault.close()
    }

    @Test("A shred that finds no title reports nothing destroyed and writes no receipt")
    func nothing() async throws {
        let report = try await vault.keys.shred([MediaReference(fixture.origin.url("/unknown"))])
        #expect(report.outcome == .removed && report.generation == 1)
        #expect(try await vault.keys.audit().receipts.isEmpty)
        await vault.close()
    }

    @Test("A rebuilt index contains no shredded title and all others")
    func rebuilt() async throws {
        let other = MediaReference(fixture.origin.url("/other.mp4"))
        #expect(try await fixture.bytes(vault, other) == 3_000_000)
        _ = try await vault.keys.shred([MediaReference(fixture.url)])
        await vault.close()
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: fixture.place.folder + "/index.sqlite" + suffix)
        }
        let report = try await Vault.rebuildIndex(fixture.place, unlock: fixture.unlock)
        #expect(report.resources == 1 && report.bytes == 3_000_000)
        let again = try await fixture.open(mode: .offline)
        #expect(try await fixture.bytes(again, other) == 3_000_000)
        #expect(try await again.titles.summary(of: fixture.url) == nil)
        await again.close()
    }

    @Test("If the keyring is missing, destroying fails without a receipt, and succeeds when it is back")
    func keyringAway() async throws {
        let (keyring, away) = (fixture.place.keyring, fixture.place.keyring + ".away")
        let id = try await vault.status().vaultID
        try FileManager.default.moveItem(atPath: keyring, toPath: away)
        let error = await #expect(throws: VaultError.self) { try await vault.destroy(vaultID: id) }
        #expect(error?.code == .storage)
        #expect(try await KeyAdministration.audit(fixture.place, unlock: nil).receipts.isEmpty)
        try FileManager.default.moveItem(atPath: away, toPath: keyring)
        #expect(try await vault.destroy(vaultID: id).resources == 1)
        let receipts = try await KeyAdministration.audit(fixture.place, unlock: nil).receipts
        #expect(receipts.map(\.act) == [.destroy])
        #expect(receipts.map(\.resources) == [1], "titles that the failed attempt deleted are counted")
        #expect(!FileManager.default.fileExists(atPath: keyring) && fixture.segmentFiles.isEmpty)
    }

    @Test("Only its own id destroys a vault; it then does not open, and its log is checked without a key")
    func destroyedVault() async throws {
        let wrong = await #expect(throws: VaultError.self) {
            try await vault.destroy(vaultID: String(repeating: "0", count: 32))
        }
        #expect(wrong?.code == .invalidArgument)
        let key = try #require(try wrappedKeys().first)
        let id = try await vault.status().vaultID
        let report = try await vault.destroy(vaultID: id)
        #expect(report.resources == 1 && report.vaultID == id)
        #expect(try files(holding: key).isEmpty && fixture.segmentFiles.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: fixture.place.keyring))
        let error = await #expect(throws: VaultError.self) { try await fixture.open() }
        #expect(error?.code == .noVault)
        let audit = try await KeyAdministration.audit(fixture.place, unlock: nil)
        #expect(audit.isSound && audit.receipts.map(\.act) == [.destroy] && audit.vaultID == id)
    }
}
