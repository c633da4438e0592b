import Foundation
import MediaVault
import OriginTestSupport
import Testing

@Suite("Vault folders and URL spellings")
struct PlaceTests {
    @Test("A vault stays in its own folder, and two vaults are independent")
    func places() async throws {
        let one = try await VaultFixture(ScriptedResource(length: 50_000))
        let other = try await VaultFixture(ScriptedResource(length: 50_000))
        let first = try await one.open()
        _ = try await one.read(first)
        let second = try await other.open()
        #expect(try await second.titles.summary(of: one.url) == nil)
        #expect(one.segmentFiles.count == 1 && other.segmentFiles.isEmpty)
        await first.close()
        await second.close()
    }

    @Test("The keyring of another vault is refused as foreign")
    func foreignKeyring() async throws {
        let one = try await VaultFixture(ScriptedResource(length: 1))
        let other = try await VaultFixture(ScriptedResource(length: 1))
        let mixed = VaultPlace(folder: one.place.folder, keyring: other.place.keyring)
        let error = await #expect(throws: VaultError.self) { try await Vault.open(mixed, unlock: other.unlock) }
        #expect(error?.code == .foreignKeyring)
        let wrong = await #expect(throws: VaultError.self) { try await Vault.open(one.place, unlock: other.unlock) }
        #expect(wrong?.code == .wrongKey)
    }

    @Test("A folder that other users can write to is refused when a vault is opened or created")
    func sharedFolder() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 1))
        let (folder, files) = (fixture.place.folder, FileManager.default)
        func refusal(_ body: () async throws -> Void) async -> VaultError.Code? {
            await #expect(throws: VaultError.self) { try await body() }?.code
        }
        for mode in [0o770, 0o702] {
            try files.setAttributes([.posixPermissions: mode], ofItemAtPath: folder)
            #expect(await refusal { _ = try await fixture.open() } == .storage)
            #expect(await refusal { _ = try await fixture.open(.reader) } == .storage)
        }
        try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
        await (try fixture.open()).close()
        let other = VaultPlace(folder: folder + "/../other", keyring: fixture.place.keyring)
        try files.createDirectory(
            atPath: other.folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o777])
        try files.setAttributes([.posixPermissions: 0o777], ofItemAtPath: other.folder)
        let creation = await refusal {
            _ = try await Vault.initialize(other, unlock: fixture.unlock, reusesKeyring: true)
        }
        #expect(creation == .storage)
    }

    @Test("Creating a vault twice changes nothing that exists")
    func initializedTwice() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 70_000))
        let vault = try await fixture.open()
        _ = try await fixture.read(vault)
        await vault.close()
        let keyring = try Data(contentsOf: URL(filePath: fixture.place.keyring))
        let report = try await Vault.initialize(fixture.place, unlock: fixture.unlock)
        #expect(
            !report.isVaultCreated && !report.isKeyringCreated && !report.isKeyFileCreated && report.isUnlockOnVaultDisk
        )
        #expect(try Data(contentsOf: URL(filePath: fixture.place.keyring)) == keyring)
        let again = try await fixture.open(.reader)
        #expect(try await fixture.held(again) == [0..<70_000])
        await again.close()
    }

    @Test("Two spellings of one URL name one resource; credentials name another")
    func spellings() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 60_000))
        let vault = try await fixture.open()
        _ = try await fixture.read(vault)
        // Bytes are committed shortly after they are read.
        while try await fixture.held(vault) != [0..<60_000] { try await Task.sleep(for: .milliseconds(5)) }
        let base = "127.0.0.1:\(fixture.origin.port)"
        for text in ["HTTP://\(base)/a/../film.mp4", "http://\(base)/%66ilm.mp4#t=1", "http://\(base)/film.mp4?"] {
            #expect(try await vault.titles.summary(of: MediaURL(text))?.isComplete == true, "\(text)")
        }
        for text in ["http://me:secret@\(base)/film.mp4", "http://\(base)/film.mp4?a", "http://\(base)/film%2Emp5"] {
            #expect(try await vault.titles.summary(of: MediaURL(text)) == nil, "\(text)")
        }
        await vault.close()
    }
}
