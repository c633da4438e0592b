import Foundation
import MediaVault
import OriginTestSupport
import Testing

@Suite("The audit log of a vault", .timeLimit(.minutes(2)))
struct AuditTests {
    @Test("A vault that nothing was done to has an empty, sound log, with its keyring and without")
    func empty() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 0))
        let vault = try await fixture.open(.reader)
        #expect(try await vault.audit().receipts.isEmpty)
        await vault.close()
        for unlock in [fixture.unlock, nil] {
            let report = try await Vault.audit(fixture.place, unlock: unlock)
            #expect(report.isSound && report.isAnchored == (unlock != nil))
        }
    }

    @Test("Who has the wrong key is told so")
    func wrongKey() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 0))
        let other = try await VaultFixture(ScriptedResource(length: 0))
        let error = await #expect(throws: VaultError.self) {
            try await Vault.audit(fixture.place, unlock: other.unlock)
        }
        #expect(error?.code == .wrongKey)
    }
}
