import Foundation
import GRDB
import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault

@Suite("verify finds every kind of damage, and --repair repairs it")
struct VerifyDamageTests {
    @Test("A sound vault is reported as sound, and every byte of it is opened")
    func sound() async throws {
        let fixture = try await VaultFixture.filled()
        let report = try await fixture.verify()
        #expect(report.isSound && report.found == 0 && report.resources.isEmpty)
        #expect(report.bytesOpened == 400_000 && report.segments == 2)
        #expect(report.orphans == VerifyReport.Orphans())
        let asked = fixture.origin.exchanges.count
        #expect(try await fixture.verify(repairs: true).isSound)
        #expect(fixture.origin.exchanges.count == asked, "no damage, no request")
    }

    @Test(
        "A damaged file is found, and only its bad ranges are fetched again, from the same version",
        arguments: Injury.files)
    func file(injury: Injury) async throws {
        let fixture = try await VaultFixture.filled()
        try injury.inflict(fixture)
        let found = try await fixture.verify()
        #expect(found.damage == injury.damage && found.remaining == found.found && !found.isSound)
        #expect(found.resources.first?.url == fixture.url.description)
        let asked = fixture.origin.exchanges.count
        #expect(asked == 2, "a reader sends no request")

        let repaired = try await fixture.verify(repairs: true)
        #expect(repaired.damage == injury.damage && repaired.remaining == 0 && repaired.isSound)
        let requests = fixture.origin.exchanges.dropFirst(asked)
        #expect(requests.map(\.request.range) == injury.fetched)
        #expect(requests.allSatisfy { $0.request.ifRange == "\"v1\"" })
        #expect(repaired.bytesRefetched == requests.reduce(0) { $0 + $1.bodyBytesSent })
        #expect(repaired.resources.first?.isRepaired == true && repaired.resources.first?.problem == nil)
        #expect(repaired.resources.first?.bytes == repaired.bytesRefetched)
        #expect(try await fixture.verify().isSound, "the repair lasts")
        try await fixture.expectWholeOffline()
    }

    @Test("A changed row is corrected from its file, and nothing is fetched", arguments: Injury.rows)
    func row(injury: Injury) async throws {
        let fixture = try await VaultFixture.filled()
        try injury.inflict(fixture)
        let found = try await fixture.verify()
        #expect(found.damage == injury.damage && !found.isSound)
        let repaired = try await fixture.verify(repairs: true)
        #expect(repaired.isSound && repaired.found > 0 && repaired.bytesRefetched == 0)
        #expect(fixture.origin.exchanges.count == 2)
        #expect(try await fixture.verify().isSound)
        try await fixture.expectWholeOffline()
    }

    @Test("Rows of a title that fail their tags are found, its files are left alone, and a repair restores the rows")
    func resourceRow() async throws {
        let fixture = try await VaultFixture.filled()
        try fixture.index { try $0.execute(sql: "UPDATE resource SET metadata = zeroblob(length(metadata))") }
        let found = try await fixture.verify()
        #expect(found.damage == [.resource: 1] && found.remaining == 1)
        let damaged = try #require(found.resources.first)
        #expect(damaged.url == nil && damaged.problem?.contains("a repair restores it") == true)
        #expect(try fixture.files().count == 2, "files that cannot be opened now may open after a repair")
        let repaired = try await fixture.verify(repairs: true)
        #expect(repaired.damage == [.resource: 1] && repaired.isSound && repaired.restored == 1)
        #expect(fixture.quarantined.isEmpty)
        try await fixture.expectWholeOffline()
    }

    @Test("A title that no key opens is named first, and removed by a repair; nothing names it afterwards")
    func unopenedTitle() async throws {
        let fixture = try await VaultFixture.filled()
        for path in ["/index.sqlite", "/catalog.backup", "/catalog.backup.1"] {
            let database = try DatabaseQueue(path: fixture.place.folder + path)
            try await database.write { db in
                try db.execute(sql: "UPDATE resourceKey SET wrapped = zeroblob(length(wrapped))")
            }
            try database.close()
        }
        let found = try await fixture.verify()
        #expect(found.damage == [.resource: 1] && found.remaining == 1)
        #expect(found.resources.first?.problem?.contains("a repair removes it") == true)
        let vault = try await fixture.open(.reader)
        let listing = await #expect(throws: VaultError.self) { for try await _ in vault.titles.resources() {} }
        #expect(listing?.code == .integrity && listing?.hint == .repair)
        await vault.close()
        let repaired = try await fixture.verify(repairs: true)
        #expect(repaired.damage == [.resource: 1] && repaired.isSound && repaired.resources.first?.isRepaired == true)
        #expect(try fixture.files().isEmpty && fixture.quarantined.isEmpty)
        let later = try await fixture.verify()
        #expect(later.isSound && later.found == 0)
    }

    @Test("A file in quarantine whose rows came back returns, and what is no segment stays there")
    func quarantine() async throws {
        let fixture = try await VaultFixture.filled()
        let folder = fixture.place.folder
        let file = try #require(try fixture.files().first)
        let name = try #require(file.split(separator: "/").last)
        try FileManager.default.moveItem(atPath: file, toPath: "\(folder)/quarantine/\(name)")
        try Data(repeating: 1, count: 500).write(
            to: URL(filePath: "\(folder)/quarantine/\(String(repeating: "ab", count: 16))"))
        try fixture.index { db in
            try db.execute(
                sql: "DELETE FROM segment WHERE id = ?",
                arguments: [Data(try #require(SegmentID(hex: String(name))).bytes)])
        }
        let repaired = try await fixture.verify(repairs: true)
        #expect(repaired.isSound && repaired.bytesRefetched == 0)
        #expect(repaired.orphans.good == 1 && repaired.orphans.adopted == 1 && repaired.orphans.strange == 0)
        #expect(fixture.quarantined == [String(repeating: "ab", count: 16)])
        #expect(fixture.origin.exchanges.count == 2, "nothing is fetched again")
        try await fixture.expectWholeOffline()
    }

    @Test("A viewer and a token whose records a repair brought back can be removed and revoked at once")
    func broughtBack() async throws {
        let fixture = try await VaultFixture.filled()
        let first = try await fixture.open()
        let viewer = try await first.viewers.add("Anna")
        _ = try await first.access.createToken(.read, name: "kiosk")
        await first.close()
        try fixture.index { try $0.execute(sql: "UPDATE viewer SET record = x''; UPDATE accessGrant SET record = x''") }
        let vault = try await fixture.open()
        #expect(vault.viewers.all.isEmpty, "premise")
        #expect(try await VaultFixture.report(of: vault.checks.verify(VerifyOptions(repairs: true))).isSound)
        #expect(vault.viewers.all.map(\.name) == ["Anna"] && vault.viewers.unreadableCount == 0)
        try await vault.viewers.remove(viewer.id)
        #expect(try await vault.access.revoke(vault.access.issued(.tokens), isAll: true) == 1)
        await vault.close()
    }

    @Test("Settings that fail their tag are found")
    func settings() async throws {
        let fixture = try await VaultFixture.filled()
        try fixture.index { try $0.execute(sql: "UPDATE vault SET settings = zeroblob(length(settings))") }
        let found = try await fixture.verify()
        #expect(found.damage == [.settings: 1] && found.remaining == 1 && found.bytesOpened == 400_000)
    }

    @Test(
        "A file that the system cannot read is not counted as damage, and is left alone",
        arguments: [false, true])
    func unreadable(repairs: Bool) async throws {
        let fixture = try await VaultFixture.filled()
        let file = try fixture.files()[0]
        // Reading a folder as a file fails for every user.
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
        let report = try await fixture.verify(repairs: repairs)
        #expect(report.found == 0 && report.unreadable == 1 && !report.isSound)
        #expect(try fixture.files().count == 2 && fixture.quarantined.isEmpty && fixture.origin.exchanges.count == 2)
    }

    @Test("A bad block that was noticed earlier is damage until it is fetched again")
    func noticedBefore() async throws {
        let fixture = try await VaultFixture.filled()
        try fixture.change(fixture.files()[0]) { $0[100] ^= 1 }
        let offline = try await fixture.open(mode: .offline)
        await #expect(throws: VaultError.self) { _ = try await fixture.read(offline) }
        await offline.close()
        #expect(try await fixture.verify().damage == [.block: 1])
        let repaired = try await fixture.verify(repairs: true)
        #expect(repaired.isSound && repaired.damage == [.block: 1] && repaired.bytesRefetched == 32_768)
        #expect(try await fixture.verify().found == 0)
    }

    @Test("Offline the block stays a gap and its neighbours play; online the block is repaired")
    func offlineRepair() async throws {
        let fixture = try await VaultFixture.filled()
        try fixture.change(fixture.files()[0]) { $0[100] ^= 1 }
        let vault = try await fixture.open(mode: .offline)
        let report = try await VaultFixture.report(of: vault.checks.verify(VerifyOptions(repairs: true)))
        #expect(report.remaining == 1 && report.resources.first?.problem?.contains("online") == true)
        #expect(try await fixture.read(vault, .from(32_768)) == 32_768..<400_000)
        await vault.close()
        #expect(try await fixture.verify(repairs: true).isSound)
        try await fixture.expectWholeOffline()
    }

    @Test("If the origin is unreachable, nothing is repaired, and held bytes stay")
    func originGone() async throws {
        let fixture = try await VaultFixture.filled()
        try fixture.change(fixture.files()[1]) { $0[100] ^= 1 }
        fixture.origin.stop()
        let report = try await fixture.verify(repairs: true)
        #expect(report.remaining == 1 && report.bytesRefetched == 0)
        #expect(report.resources.first?.problem?.contains("cannot be reached") == true)
        #expect(try await fixture.verify().damage == [.block: 1])
    }

    @Test("Versions are not mixed if a title changed at its origin: held bytes stay, and the report says why")
    func changed() async throws {
        let fixture = try await VaultFixture.filled()
        try fixture.change(fixture.files()[0]) { $0[100] ^= 1 }
        let newer = ScriptedResource(seed: 2, length: 500_000, entityTag: "\"v2\"")
        fixture.origin.answer { newer.answer(to: $0) }
        let report = try await fixture.verify(repairs: true)
        #expect(report.remaining == 1 && report.bytesRefetched == 0)
        #expect(report.resources.first?.problem?.contains("changed at its origin") == true)
        let vault = try await fixture.open(mode: .offline)
        #expect(try await fixture.held(vault) == [32_768..<400_000])
        #expect(try await fixture.read(vault, .from(32_768)) == 32_768..<400_000)
        await vault.close()
    }

    @Test("A title without validators is not repaired, because its version cannot be confirmed")
    func noValidator() async throws {
        let fixture = try await VaultFixture.filled(entityTag: nil)
        try fixture.change(fixture.files()[0]) { $0[100] ^= 1 }
        let report = try await fixture.verify(repairs: true)
        #expect(report.remaining == 1 && fixture.origin.exchanges.count == 2)
        #expect(report.resources.first?.problem?.contains("tell its versions apart") == true)
        let vault = try await fixture.open(mode: .offline)
        #expect(try await fixture.held(vault) == [32_768..<400_000])
        await vault.close()
    }

    @Test("Gaps that were never held are left alone")
    func gaps() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 400_000))
        let vault = try await fixture.open()
        _ = try await fixture.read(vault, .closed(first: 100_000, last: 299_999))
        await vault.close()
        try fixture.change(fixture.files()[0]) { $0[88] ^= 1 }
        #expect(try await fixture.verify(repairs: true).isSound)
        #expect(fixture.ranges == ["bytes=100000-299999", "bytes=100000-132767"])
    }

    @Test("A player beside a repair gets right bytes, and nothing is fetched twice")
    func besidePlayback() async throws {
        let fixture = try await VaultFixture.filled(length: 4_000_000)
        for file in try fixture.files() { try fixture.change(file) { $0[88] ^= 1 } }
        let vault = try await fixture.open()
        async let played = fixture.read(vault)
        let report = try await VaultFixture.report(of: vault.checks.verify(VerifyOptions(repairs: true)))
        #expect(try await played == 0..<4_000_000)
        #expect(report.remaining == 0)
        #expect(try await vault.status().bytesFetched == 4_000_000 + 2 * 32_768)
        await vault.close()
        try await fixture.expectWholeOffline()
    }
}
