import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@Suite("The audit log of a vault", .timeLimit(.minutes(2)))
struct AuditTests {
    @Test("A new vault has an empty, sound log, with and without its keyring")
    func empty() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 0))
        let vault = try await fixture.open(.reader)
        #expect(try await vault.keys.audit().receipts.isEmpty)
        await vault.close()
        for unlock in [fixture.unlock, nil] {
            let report = try await KeyAdministration.audit(fixture.place, unlock: unlock)
            #expect(report.isSound && report.isAnchored == (unlock != nil))
        }
    }

    @Test("Receipts are found by a title's URL, with or without credentials, until the locator changes")
    func aboutTitles() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 90_000))
        let vault = try await fixture.open()
        let (shared, other) = (MediaReference(fixture.url), MediaReference(fixture.origin.url("/other.mp4")))
        let mine = MediaReference(other.url, fields: HeaderFields(["Authorization": "Bearer one"]))
        for reference in [shared, mine] { #expect(try await fixture.bytes(vault, reference) == 90_000) }
        var last: ResealProgress?
        for try await step in vault.keys.reseal([shared]) { last = step }
        let shredded = try await vault.keys.shred([shared, mine], quick: true).titles.map(\.subject)
        #expect(last?.report?.subjects.first == shredded[0] && Set(shredded).count == 2)
        let receipts = try await vault.keys.audit().receipts
        #expect(receipts.map(\.subject) == [shredded[0], shredded[0], shredded[1]])
        #expect(try await vault.keys.audit(about: [shared]).receipts == Array(receipts.prefix(2)))
        // The title is no longer held, and its user need not be named.
        for reference in [mine, other] {
            #expect(try await vault.keys.audit(about: [reference]).receipts == Array(receipts.suffix(1)))
        }
        #expect(try await vault.keys.audit(about: [shared, mine]).receipts == receipts)
        let unknown = MediaReference(fixture.origin.url("/unknown.mp4"))
        #expect(try await vault.keys.audit(about: [unknown]).receipts == [])
        _ = try await vault.keys.changeLocator()
        #expect(try await vault.keys.audit(about: [shared, mine]).receipts == [])
        await vault.close()
    }

    @Test("An audit with the wrong key is refused")
    func wrongKey() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 0))
        let other = try await VaultFixture(ScriptedResource(length: 0))
        let error = await #expect(throws: VaultError.self) {
            try await KeyAdministration.audit(fixture.place, unlock: other.unlock)
        }
        #expect(error?.code == .wrongKey)
    }
}
