import Foundation
import GRDB
import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault

@Suite("Files without a row are adopted or quarantined, and are not damage")
struct OrphanTests {
    private func orphaned(_ change: (inout [UInt8]) -> Void = { _ in }) async throws -> VaultFixture {
        let fixture = try await VaultFixture.filled()
        let file = try fixture.files()[0]
        try fixture.index { try $0.execute(sql: "DELETE FROM segment WHERE start = 0") }
        try fixture.change(file, change)
        return fixture
    }

    @Test("An intact segment whose range is a gap is adopted, and nothing is fetched")
    func adopted() async throws {
        let fixture = try await orphaned()
        let found = try await fixture.verify()
        #expect(found.isSound && found.orphans.good == 1 && found.orphans.adopted == 0)
        #expect(try fixture.files().count == 1, "a reader only reports")
        let repaired = try await fixture.verify(repairs: true)
        #expect(repaired.isSound && repaired.orphans.adopted == 1 && fixture.origin.exchanges.count == 2)
        #expect(try await fixture.verify().orphans == VerifyReport.Orphans())
        try await fixture.expectWholeOffline()
    }

    @Test("A damaged file is quarantined", arguments: [0, 60, 90, 88 + 3 * 32_784])
    func damaged(offset: Int) async throws {
        let fixture = try await orphaned { $0[offset] ^= 1 }
        #expect(try await fixture.verify().orphans.strange == 1)
        #expect(fixture.quarantined.isEmpty)
        let report = try await fixture.verify(repairs: true)
        #expect(report.isSound && report.orphans.quarantined == 1 && fixture.quarantined.count == 1)
        #expect(try await fixture.verify().orphans == VerifyReport.Orphans())
    }

    @Test("A file with a length that no segment has is quarantined", arguments: [1, 16, 40])
    func cut(count: Int) async throws {
        let fixture = try await orphaned { $0.removeLast(count) }
        #expect(try await fixture.verify(repairs: true).orphans.quarantined == 1)
    }

    @Test("A file whose bytes are already held is quarantined")
    func heldTwice() async throws {
        let fixture = try await orphaned()
        let vault = try await fixture.open()
        _ = try await fixture.read(vault, .closed(first: 50_000, last: 50_999))
        await vault.close()
        let report = try await fixture.verify(repairs: true)
        #expect(report.isSound && report.orphans.adopted == 0 && report.orphans.quarantined == 1)
    }

    @Test("A segment of another vault, a segment under a wrong name, and an unrelated file are quarantined")
    func strange() async throws {
        let (fixture, other) = (try await VaultFixture.filled(), try await VaultFixture.filled())
        let foreign = try other.files()[0]
        let name = String(foreign.suffix(32))
        let here = fixture.place.folder + "/segments/"
        try FileManager.default.copyItem(atPath: foreign, toPath: here + name.prefix(2) + "/" + name)
        let copy = "00" + String(repeating: "5", count: 30)
        try FileManager.default.copyItem(atPath: fixture.files()[0], toPath: here + "00/" + copy)
        try Data("notes".utf8).write(to: URL(filePath: here + "7f/notes.txt"))
        let found = try await fixture.verify()
        #expect(found.isSound && found.orphans.strange == 3 && found.orphans.good == 0)
        let report = try await fixture.verify(repairs: true)
        #expect(report.orphans.quarantined == 3)
        #expect(fixture.quarantined == [copy, name, "notes.txt"].sorted())
        #expect(try await fixture.verify().orphans == VerifyReport.Orphans())
        try await fixture.expectWholeOffline()
    }

    @Test("A file stays in place while the rows of its title do not open, and a repair brings both back")
    func unknown() async throws {
        let fixture = try await orphaned()
        try fixture.index { try $0.execute(sql: "UPDATE resource SET metadata = zeroblob(length(metadata))") }
        let found = try await fixture.verify()
        #expect(found.orphans == VerifyReport.Orphans() && fixture.quarantined.isEmpty)
        #expect(fixture.segmentFiles.count == 2)
        let repaired = try await fixture.verify(repairs: true)
        #expect(repaired.isSound && repaired.restored == 1 && repaired.orphans.adopted == 1)
        #expect(fixture.segmentFiles.count == 2 && fixture.quarantined.isEmpty)
    }

    @Test("A title in use is served from an adopted segment at once")
    func inUse() async throws {
        let fixture = try await orphaned()
        let vault = try await fixture.open(mode: .offline)
        #expect(try await fixture.read(vault, .from(200_000)) == 200_000..<400_000)
        let report = try await VaultFixture.report(of: vault.checks.verify(VerifyOptions(repairs: true)))
        #expect(report.orphans.adopted == 1)
        #expect(try await fixture.read(vault) == 0..<400_000)
        await vault.close()
    }
}
