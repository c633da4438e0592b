import GRDB
import OriginTestSupport
import Testing
import VaultCrypto
import VaultModel
import VaultStorage

@testable import MediaVault

@Suite("A check beside key operations reports no false damage", .timeLimit(.minutes(2)))
struct VerifyBesideKeysTests {
    private let title = ScriptedResource(length: 300_000)

    private func rewrap(_ vault: Vault) async throws {
        for try await _ in vault.keys.rewrap() {}
    }

    @Test("A reader opened before a new locator, a new generation and a rewrap finds everything sound")
    func followed() async throws {
        let (fixture, owner) = try await VaultFixture.filled(title)
        let beside = try await fixture.open(.reader)
        _ = try await owner.keys.changeLocator()
        #expect(owner.store.keyring.locators == [2], "the old key is gone")
        #expect(try await VaultFixture.report(of: beside.checks.verify()).isSound)
        _ = try await owner.keys.rotate()
        try await rewrap(owner)
        _ = try await owner.keys.retire(1)
        #expect(try await VaultFixture.report(of: beside.checks.verify()).isSound)
        #expect(try await beside.settings.limits() == StorageLimits())
        await beside.close()
        await owner.close()
    }

    @Test("A reader that cannot follow a new root key is told to open again, and reports no damage")
    func newRoot() async throws {
        let (fixture, owner) = try await VaultFixture.filled(title)
        let beside = try await fixture.open(.reader)
        _ = try await owner.keys.rotateRoot(unlockedBy: [fixture.unlock])
        try await rewrap(owner)
        let error = await #expect(throws: VaultError.self) { try await VaultFixture.report(of: beside.checks.verify()) }
        #expect(error?.code == .olderKeyring && error?.message.contains("again") == true)
        await beside.close()
        await owner.close()
        let again = try await fixture.open(.reader)
        #expect(try await VaultFixture.report(of: again.checks.verify()).isSound)
        await again.close()
    }

    @Test("A reader of an empty vault is told to open again if only the settings do not open")
    func emptyVault() async throws {
        let fixture = try await VaultFixture(title)
        let owner = try await fixture.open()
        let beside = try await fixture.open(.reader)
        _ = try await owner.keys.rotateRoot(unlockedBy: [fixture.unlock])
        _ = try await owner.keys.changeLocator()
        let error = await #expect(throws: VaultError.self) { try await VaultFixture.report(of: beside.checks.verify()) }
        #expect(error?.code == .olderKeyring && error?.message.contains("again") == true)
        await beside.close()
        await owner.close()
    }

    @Test("The owner's own checks are sound while its locator changes repeatedly")
    func meanwhile() async throws {
        let (fixture, owner) = try await VaultFixture.filled(title)
        try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask {
                for _ in 0..<2 { _ = try await owner.keys.changeLocator() }
                return 0
            }
            group.addTask {
                var damage = 0
                for _ in 0..<4 {
                    damage += try await VaultFixture.report(of: owner.checks.verify()).damage[.settings] ?? 0
                }
                return damage
            }
            for try await damage in group { #expect(damage == 0) }
        }
        await owner.close()
        withExtendedLifetime(fixture) {}
    }

    @Test("Damaged settings are still reported as damage")
    func damaged() async throws {
        let fixture = try await VaultFixture.filled()
        try fixture.index { try $0.execute(sql: "UPDATE vault SET settings = zeroblob(200)") }
        let vault = try await fixture.open(.reader)
        #expect(try await VaultFixture.report(of: vault.checks.verify()).damage[.settings] == 1)
        await vault.close()
    }
}
