import GRDB
import OriginTestSupport
import Testing
import VaultModel
import VaultTestSupport

@testable import MediaVault

@Suite("Listings", .timeLimit(.minutes(2)))
struct ResourceListingTests {
    @Test(
        "Every resource is listed once, however many pages there are; what does not open is counted at the end",
        arguments: [0, 1, 255, 256, 257, 700])
    func pages(count: Int) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 1))
        let vault = try await fixture.open()
        for number in 0..<count { _ = try vault.store.addMedia("\(number)", length: 9) }
        try fixture.index { db in
            try db.execute(
                sql: """
                    UPDATE resource SET metadata = zeroblob(284) WHERE id = (SELECT id FROM resource LIMIT 1 OFFSET 9)
                    """)
        }
        var listed: [String] = []
        var error: VaultError?
        do {
            for try await summary in vault.titles.list() { listed.append(summary.url) }
        } catch let failure as VaultError {
            error = failure
        }
        #expect(listed.count == (count > 9 ? count - 1 : count) && Set(listed).count == listed.count)
        #expect(error?.code == (count > 9 ? .integrity : nil))
        await vault.close()
    }
}
