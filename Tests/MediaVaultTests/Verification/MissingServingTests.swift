import Foundation
import GRDB
import MediaVault
import OriginTestSupport
import Testing

@Suite("A title whose served representation has no row", .timeLimit(.minutes(2)))
struct MissingServingTests {
    /// Returns a fixture of a complete title, without the rows of what is held of it.
    private static func fixture(hasBackup: Bool) async throws -> VaultFixture {
        let fixture = try await VaultFixture.filled()
        try fixture.index { try $0.execute(sql: "DELETE FROM segment; DELETE FROM representation") }
        for name in hasBackup ? [] : ["catalog.backup", "catalog.backup.1"] {
            try? FileManager.default.removeItem(atPath: fixture.place.folder + "/" + name)
        }
        return fixture
    }

    @Test(
        "It is damage, the backup keeps what it knows of the title, and a rebuild or a repair brings all of it back",
        arguments: [true, false])
    func restored(isRebuilt: Bool) async throws {
        let fixture = try await Self.fixture(hasBackup: true)
        let report = try await fixture.verify()
        #expect(!report.isSound && report.damage[.row] == 1)
        #expect(report.resources.first?.problem?.contains("a repair restores it") == true)
        #expect(report.orphans.quarantined == 0, "what a repair needs stays")
        let vault = try await fixture.open()
        #expect(try await vault.titles.summary(of: fixture.url)?.bytes == 0, "it is not said to be held")
        try await vault.settings.setMode(.offline)
        await vault.close()
        if isRebuilt {
            _ = try await Vault.rebuildIndex(fixture.place, unlock: fixture.unlock)
        } else {
            let repaired = try await fixture.verify(repairs: true)
            #expect(repaired.isSound && repaired.restored == 1 && repaired.orphans.quarantined == 0)
        }
        try await fixture.expectWholeOffline()
        #expect(try await fixture.verify().isSound)
    }

    @Test("Without a backup a repair lets it be fetched again")
    func repaired() async throws {
        let fixture = try await Self.fixture(hasBackup: false)
        let report = try await fixture.verify()
        #expect(!report.isSound && report.resources.first?.problem?.contains("fetch it again") == true)
        let repair = try await fixture.verify(repairs: true)
        #expect(repair.resources.first?.isRepaired == true && repair.isSound)
        #expect(try await fixture.verify().isSound)
        let vault = try await fixture.open()
        for try await _ in vault.download(fixture.url) {}
        #expect(try await vault.titles.summary(of: fixture.url)?.isComplete == true)
        await vault.close()
        try await fixture.expectWholeOffline()
    }
}
