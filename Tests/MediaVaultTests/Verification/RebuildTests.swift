import Foundation
import GRDB
import OriginTestSupport
import Testing
import VaultModel
import VaultStorage

@testable import MediaVault

@Suite("index rebuild restores everything in the backup and the files")
struct RebuildTests {
    private func removeIndex(_ fixture: VaultFixture) throws {
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: fixture.place.folder + "/index.sqlite" + suffix)
        }
    }

    private func rebuild(_ fixture: VaultFixture, evenIfSound: Bool = false) async throws -> RebuildReport {
        try await Vault.rebuildIndex(fixture.place, unlock: fixture.unlock, evenIfSound: evenIfSound)
    }

    private func expectSame(_ fixture: VaultFixture) async throws {
        let report = try await fixture.verify()
        #expect(report.isSound && report.orphans == VerifyReport.Orphans() && report.segments == 2)
        try await fixture.expectWholeOffline()
    }

    @Test("A lost index is rebuilt: everything plays offline, and pinned titles stay pinned")
    func lost() async throws {
        let fixture = try await VaultFixture.filled()
        let owner = try await fixture.open()
        let id = try await owner.name(MediaReference(fixture.url)).id
        try owner.store.resources.setClass(.pinned, of: id)
        await owner.close()
        try removeIndex(fixture)
        let error = await #expect(throws: VaultError.self) { try await fixture.open() }
        #expect(error?.code == .integrity && error?.hint == .rebuildIndex)
        let report = try await rebuild(fixture)
        #expect(report.resources == 1 && report.segments == 2 && report.bytes == 400_000)
        #expect(report.badBlocks == 0 && report.cut == 0 && report.quarantined == 0 && report.unknown == 0)
        try await expectSame(fixture)
        let reader = try await fixture.open(.reader)
        #expect(try await reader.titles.summary(of: fixture.url)?.resourceClass == "pinned")
        #expect(try await reader.status().bytesFetched == 400_000)
        await reader.close()
        #expect(fixture.origin.exchanges.count == 2)
    }

    @Test("init is refused if the index is lost, because it would make the loss final")
    func notMadeAnew() async throws {
        let fixture = try await VaultFixture.filled()
        try removeIndex(fixture)
        let error = await #expect(throws: VaultError.self) {
            _ = try await Vault.initialize(fixture.place, unlock: fixture.unlock)
        }
        #expect(error?.code == .integrity && error?.hint == .rebuildIndex)
        _ = try await rebuild(fixture)
        try await expectSame(fixture)
    }

    @Test(
        "A damaged index is rebuilt, and the old one is kept beside it",
        arguments: ["header", "emptied", "cut", "garbage", "rows"])
    func damaged(how: String) async throws {
        let fixture = try await VaultFixture.filled()
        let path = fixture.place.folder + "/index.sqlite"
        switch how {
        case "header": try fixture.change(path) { for index in 0..<64 { $0[index] ^= 0x55 } }
        case "emptied": try fixture.change(path) { $0 = [] }
        case "cut": try fixture.change(path) { $0 = Array($0.prefix(4096 + 100)) }
        case "garbage": try fixture.change(path) { for index in 4096..<$0.count { $0[index] = UInt8(index % 251) } }
        default: try fixture.index { try $0.execute(sql: "UPDATE resource SET metadata = zeroblob(400)") }
        }
        let old = try Data(contentsOf: URL(filePath: path))
        _ = try await rebuild(fixture)
        try await expectSame(fixture)
        #expect(try Data(contentsOf: URL(filePath: path + ".damaged")) == old || how == "rows")
        #expect(!FileManager.default.fileExists(atPath: path + ".new"))
    }

    @Test("The write-ahead log of a lost index is not used again")
    func staleLog() async throws {
        let fixture = try await VaultFixture.filled()
        let path = fixture.place.folder + "/index.sqlite"
        // As after a killed owner: the log holds commits that the file does not.
        let owner = try await fixture.open()
        let id = try await owner.name(MediaReference(fixture.url)).id
        try owner.store.resources.setClass(.download, of: id)
        let log = try Data(contentsOf: URL(filePath: path + "-wal"))
        await owner.close()
        try removeIndex(fixture)
        try log.write(to: URL(filePath: path + "-wal"))
        _ = try await rebuild(fixture)
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        try await expectSame(fixture)
    }

    @Test("A sound index is left as it is, unless a rebuild is forced")
    func sound() async throws {
        let fixture = try await VaultFixture.filled()
        let before = try Data(contentsOf: URL(filePath: fixture.place.folder + "/index.sqlite"))
        let error = await #expect(throws: VaultError.self) { try await rebuild(fixture) }
        #expect(error?.code == .invalidArgument)
        #expect(try Data(contentsOf: URL(filePath: fixture.place.folder + "/index.sqlite")) == before)
        #expect(try await rebuild(fixture, evenIfSound: true).segments == 2)
        try await expectSame(fixture)
    }

    @Test("Without a backup a rebuild fails and changes nothing")
    func noBackup() async throws {
        let fixture = try await VaultFixture.filled()
        try removeIndex(fixture)
        for name in ["catalog.backup", "catalog.backup.1"] {
            try? FileManager.default.removeItem(atPath: fixture.place.folder + "/" + name)
        }
        let error = await #expect(throws: VaultError.self) { try await rebuild(fixture) }
        #expect(error?.code == .noVault && error?.message.contains("catalog.backup") == true)
        #expect(fixture.segmentFiles.count == 2 && fixture.quarantined.isEmpty)
        // A new vault is empty, never wrong.
        _ = try await Vault.initialize(fixture.place, unlock: fixture.unlock, reusesKeyring: true)
        let vault = try await fixture.open(.reader)
        #expect(try await vault.titles.summary(of: fixture.url) == nil)
        await vault.close()
    }

    @Test("A damaged backup is reported, and nothing is changed", arguments: [0, 5000, 9000])
    func damagedBackup(offset: Int) async throws {
        let fixture = try await VaultFixture.filled()
        try removeIndex(fixture)
        try fixture.change(fixture.place.folder + "/catalog.backup") { bytes in
            for index in offset..<(offset + 40) { bytes[index] ^= 0xFF }
        }
        do {
            _ = try await rebuild(fixture)
            // Damage outside all rows has no effect.
            try await expectSame(fixture)
        } catch let error as VaultError {
            #expect(error.code == .integrity && error.message.contains("catalog.backup is damaged"))
            #expect(fixture.segmentFiles.count == 2 && fixture.quarantined.isEmpty)
            #expect(!FileManager.default.fileExists(atPath: fixture.place.folder + "/index.sqlite"))
        }
    }

    @Test("The keyring of another vault rebuilds nothing", arguments: [false, true])
    func foreignKeyring(isLost: Bool) async throws {
        let (fixture, other) = (try await VaultFixture.filled(), try await VaultFixture.filled())
        if isLost { try removeIndex(fixture) }
        let place = VaultPlace(folder: fixture.place.folder, keyring: other.place.keyring)
        let error = await #expect(throws: VaultError.self) {
            _ = try await Vault.rebuildIndex(place, unlock: other.unlock)
        }
        #expect(error?.code == .foreignKeyring)
        #expect(fixture.segmentFiles.count == 2 && fixture.quarantined.isEmpty)
    }

    @Test("A rebuild is refused while an owner runs")
    func owned() async throws {
        let fixture = try await VaultFixture.filled()
        let owner = try await fixture.open()
        let error = await #expect(throws: VaultError.self) { try await rebuild(fixture) }
        #expect(error?.code == .owned)
        await owner.close()
    }

    @Test("A bad block is recorded, a truncated file is cut to whole blocks, and both are repaired later")
    func damagedSegments() async throws {
        let fixture = try await VaultFixture.filled()
        let files = try fixture.files()
        try fixture.change(files[0]) { $0[88 + 2 * 32_784] ^= 1 }
        try fixture.change(files[1]) { $0 = Array($0.prefix(88 + 3 * 32_784 + 500)) }
        try removeIndex(fixture)
        let report = try await rebuild(fixture)
        #expect(report.badBlocks == 1 && report.cut == 1 && report.segments == 2 && report.quarantined == 0)
        let vault = try await fixture.open(.reader)
        #expect(try await fixture.held(vault) == [0..<65_536, 98_304..<298_304])
        await vault.close()
        let repaired = try await fixture.verify(repairs: true)
        #expect(repaired.isSound && repaired.damage == [.block: 1] && repaired.bytesRefetched == 32_768)
        let online = try await fixture.open()
        #expect(try await fixture.read(online) == 0..<400_000)
        await online.close()
        #expect(fixture.ranges.suffix(2) == ["bytes=65536-98303", "bytes=298304-"])
    }

    @Test("Files that are no segments of the backup's titles are quarantined")
    func strange() async throws {
        let (fixture, other) = (try await VaultFixture.filled(), try await VaultFixture.filled())
        let segments = fixture.place.folder + "/segments/"
        let foreign = try other.files()[0]
        let name = String(foreign.suffix(32))
        try FileManager.default.copyItem(atPath: foreign, toPath: segments + name.prefix(2) + "/" + name)
        try Data([1, 2, 3]).write(to: URL(filePath: segments + "00/" + String(repeating: "0", count: 32)))
        try Data().write(to: URL(filePath: segments + "00/x"))
        try removeIndex(fixture)
        let report = try await rebuild(fixture)
        #expect(report.quarantined == 3 && report.segments == 2)
        try await expectSame(fixture)
    }

    @Test("Of two segments with the same bytes one is kept, the other is quarantined, and every byte is right")
    func overlapping() async throws {
        let fixture = try await VaultFixture.filled()
        try fixture.index { try $0.execute(sql: "DELETE FROM segment WHERE start = 0") }
        let vault = try await fixture.open()
        _ = try await fixture.read(vault, .closed(first: 0, last: 199_999))
        await vault.close()
        #expect(fixture.segmentFiles.count == 3)
        try removeIndex(fixture)
        let report = try await rebuild(fixture)
        #expect(report.segments == 2 && report.quarantined == 1)
        try await expectSame(fixture)
    }

    @Test("A segment with a bad block and the segment that replaces the block are both kept")
    func mendedBlock() async throws {
        let fixture = try await VaultFixture.filled()
        try fixture.change(fixture.files()[0]) { $0[88 + 32_784] ^= 1 }
        #expect(try await fixture.verify(repairs: true).isSound)
        try removeIndex(fixture)
        let report = try await rebuild(fixture)
        #expect(report.segments == 3 && report.badBlocks == 1 && report.quarantined == 0)
        #expect(try await fixture.verify().isSound)
        try await fixture.expectWholeOffline()
    }

    @Test("A cancelled rebuild leaves the vault as it was")
    func cancelled() async throws {
        let fixture = try await VaultFixture.filled()
        try removeIndex(fixture)
        let task = Task {
            try await Vault.rebuildIndex(fixture.place, unlock: fixture.unlock) { part in
                if part > 0.5 { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
            }
        }
        let result = await task.result
        #expect(throws: CancellationError.self) { _ = try result.get() }
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.place.folder)
        #expect(!names.contains { $0.hasPrefix("index.sqlite") })
        _ = try await rebuild(fixture)
        try await expectSame(fixture)
    }
}
