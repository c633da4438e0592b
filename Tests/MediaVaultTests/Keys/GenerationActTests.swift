import Foundation
import GRDB
import OriginTestSupport
import Testing
import VaultModel
import VaultTestSupport

@testable import MediaVault
@testable import VaultStorage

@Suite("Rotate, rewrap and retire through the library", .timeLimit(.minutes(5)))
struct GenerationActTests {
    private let length: Int64 = 300_000
    private var title: ScriptedResource { ScriptedResource(length: length) }

    private func rewrap(_ vault: Vault) async throws -> [RewrapProgress] {
        var steps: [RewrapProgress] = []
        for try await step in vault.keys.rewrap() { steps.append(step) }
        return steps
    }

    @Test("The report states which titles need which generation, before and after each key operation")
    func reports() async throws {
        let (fixture, vault) = try await VaultFixture.filled(title)
        var report = try await vault.keys.report()
        #expect(report.current == 1 && report.older == [] && report.act == nil && !report.isLocatorChanging)
        #expect(report.generations.map(\.resources) == [1] && report.generations.map(\.bytes) == [length])
        report = try await vault.keys.rotate()
        #expect(report.generations.map(\.state) == [.active, .current])
        #expect(report.generations.map(\.resources) == [1, 0] && report.older.map(\.bytes) == [length])
        let needed = await #expect(throws: VaultError.self) { try await vault.keys.retire(1) }
        #expect(needed?.code == .inUse && needed?.message.contains("generation 1") == true)
        #expect(needed?.message.contains(fixture.url.description) == true)
        let last = try #require(try await rewrap(vault).last)
        #expect(last.report == RewrapReport(generation: 2, keys: 1, unopened: 0, older: [1]))
        report = try await vault.keys.retire(1)
        #expect(report.generations.map(\.state) == [.retired, .current])
        #expect(report.generations.map(\.resources) == [0, 1] && report.older == [])
        // Retiring a generation again is no error.
        #expect(try await vault.keys.retire(1) == report)
        let reader = try await fixture.open(.reader)
        #expect(try await reader.keys.report() == report)
        #expect(try await fixture.read(reader) == 0..<length)
        await reader.close()
        await vault.close()
    }

    @Test(
        "A reader that began before the rotation plays to its end, and new readers work",
        arguments: [false, true])
    func playsOn(_ isOfNewRoot: Bool) async throws {
        let (fixture, vault) = try await VaultFixture.filled(title)
        let reader = try await vault.read(fixture.url)
        var position = Int64(try #require(try await reader.next()).count)
        if isOfNewRoot {
            _ = try await vault.keys.rotateRoot(unlockedBy: [fixture.unlock])
        } else {
            _ = try await vault.keys.rotate()
        }
        _ = try await rewrap(vault)
        _ = try await vault.keys.retire(1)
        while let bytes = try await reader.next() {
            #expect(fixture.media.matches(bytes, at: position))
            position += Int64(bytes.count)
        }
        #expect(position == length)
        #expect(try await fixture.read(vault) == 0..<length)
        await vault.close()
        let again = try await fixture.open(mode: .offline)
        #expect(try await fixture.read(again) == 0..<length)
        await again.close()
    }

    @Test("A read-only process that was already open reads titles that the owner has rewrapped")
    func readsOn() async throws {
        let (fixture, vault) = try await VaultFixture.filled(title)
        let reader = try await fixture.open(.reader)
        _ = try await vault.keys.rotate()
        _ = try await rewrap(vault)
        _ = try await vault.keys.retire(1)
        #expect(try await reader.titles.summary(of: fixture.url)?.generation == 2)
        #expect(try await fixture.read(reader) == 0..<length)
        await reader.close()
        await vault.close()
    }

    @Test("A second key operation is refused with the name of the first, and only the owner may run one")
    func secondAct() async throws {
        let (fixture, vault) = try await VaultFixture.filled(title)
        try await vault.keys.lock.exclusively(.reseal) {
            let errors = await [
                #expect(throws: VaultError.self) { try await vault.keys.rotate() },
                #expect(throws: VaultError.self) { try await vault.keys.retire(1) },
                #expect(throws: VaultError.self) { try await rewrap(vault) },
                #expect(throws: VaultError.self) { try await vault.keys.changeLocator() },
            ]
            #expect(errors.allSatisfy { $0?.code == .busy && $0?.message.contains("a reseal is running") == true })
            let act = try await vault.keys.report().act
            #expect(act == .reseal)
        }
        let reader = try await fixture.open(.reader)
        let refused = await [
            #expect(throws: VaultError.self) { try await reader.keys.rotate() },
            #expect(throws: VaultError.self) { try await rewrap(reader) },
            #expect(throws: VaultError.self) { try await reader.keys.changeLocator() },
        ]
        #expect(refused.allSatisfy { $0?.code == .owned })
        await reader.close()
        await vault.close()
    }

    @Test("An unknown generation and the current one cannot be retired")
    func notThere() async throws {
        let (_, vault) = try await VaultFixture.filled(title)
        let current = await #expect(throws: VaultError.self) { try await vault.keys.retire(1) }
        let unknown = await #expect(throws: VaultError.self) { try await vault.keys.retire(7) }
        #expect(current?.code == .inUse && current?.hint == .rotate)
        #expect(unknown?.code == .notHeld && unknown?.hint == .listGenerations)
        await vault.close()
    }

    @Test("After a root rotation the old keyring is refused and old links are void; a foreign key is refused")
    func newRoot() async throws {
        let (fixture, vault) = try await VaultFixture.filled(title)
        let old = try Data(contentsOf: URL(filePath: fixture.place.keyring))
        let path = vault.tokens.playbackPath(for: fixture.url, expires: 4_000_000_000)
        let stranger = fixture.place.folder + "/../keys/stranger"
        try Data(repeating: 3, count: 32).write(to: URL(filePath: stranger))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: stranger)
        let refused = await #expect(throws: VaultError.self) {
            try await vault.keys.rotateRoot(unlockedBy: [fixture.unlock, .keyFile(path: stranger)])
        }
        #expect(refused?.code == .wrongKey)
        #expect(try Data(contentsOf: URL(filePath: fixture.place.keyring)) == old)
        let report = try await vault.keys.rotateRoot(unlockedBy: [fixture.unlock])
        #expect(report.current == 2 && vault.tokens.reference(ofTarget: path, now: 0) == nil)
        await vault.close()
        try old.write(to: URL(filePath: fixture.place.keyring))
        let older = await #expect(throws: VaultError.self) { try await fixture.open() }
        #expect(older?.code == .olderKeyring)
    }

    @Test("The next owner finishes a retirement that was begun")
    func finished() async throws {
        let (fixture, vault) = try await VaultFixture.filled(title)
        _ = try await vault.keys.rotate()
        try GenerationRows(vault.store.index).beginRetiring([1])
        await vault.close()
        let again = try await fixture.open(mode: .offline)
        // The owner resumes it shortly after the vault opens.
        while try await again.keys.report().generations[0].state != .retired {
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(try await again.keys.report().generations.map(\.resources) == [0, 1])
        #expect(try await fixture.read(again) == 0..<length)
        await again.close()
    }

    @Test("The descriptions of key operations match the article on keys")
    func words() throws {
        let article = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(
                path: "../../../Sources/MediaVault/MediaVault.docc/Keys.md"), encoding: .utf8)
        let commands: [(Receipt.Act, String)] = [
            (.rotate, "rotate"), (.rewrap, "rewrap"), (.retire, "retire N"), (.rotateRoot, "rotate --root"),
            (.changeLocator, "rotate --locator"),
        ]
        for (act, command) in commands {
            let row = try #require(article.split(separator: "\n").first { $0.hasPrefix("| `keys \(command)`") })
            let (cutsOff, leaves) = (try #require(act.cutsOff), try #require(act.leaves))
            #expect(row.hasSuffix("| \(cutsOff) | \(leaves) |"), "\(act)")
        }
    }

    @Test("Each key operation leaves a receipt, and one that changed nothing leaves none")
    func receipts() async throws {
        let (fixture, vault) = try await VaultFixture.filled(title)
        _ = try await vault.keys.rotate()
        _ = try await rewrap(vault)
        _ = try await vault.keys.retire(1)
        _ = try await vault.keys.retire(1)
        _ = try await vault.keys.rotateRoot(unlockedBy: [fixture.unlock])
        _ = try await vault.keys.changeLocator()
        try await vault.keys.revokeLinks()
        await #expect(throws: VaultError.self) { try await vault.keys.retire(2) }
        let audit = try await vault.keys.audit()
        #expect(audit.isSound)
        #expect(
            audit.receipts.map(\.act) == [.rotate, .rewrap, .retire, .rotateRoot, .changeLocator, .revokeLinks])
        #expect(audit.receipts.map(\.generation) == [2, 2, 1, 3, 3, 3])
        await vault.close()
    }

    @Test("A rewrap receipt counts titles: a title with two keys, left by an unfinished reseal, counts once")
    func countsTitles() async throws {
        let (fixture, vault) = try await VaultFixture.filled(title)
        let id = try await vault.name(MediaReference(fixture.url)).id
        var resource = try #require(try vault.store.index.resources.find(id))
        #expect(try SegmentReseal(vault.store).begin(&resource, run: 1) == true)
        _ = try await vault.keys.rotate()
        let last = try #require(try await rewrap(vault).last)
        #expect(last.report?.keys == 2)
        #expect(try await vault.keys.audit().receipts.map(\.resources) == [nil, 1])
        await vault.close()
    }

    @Test("A rewrap with a key that does not open is recorded as partial, and the next complete one as done")
    func partly() async throws {
        let (fixture, vault) = try await VaultFixture.filled(title)
        let broken = try vault.store.addMedia("broken", length: 1).id
        try vault.store.index.write { db in
            try db.execute(
                sql: "UPDATE resourceKey SET wrapped = zeroblob(60) WHERE resource = ?", arguments: [broken.data])
        }
        _ = try await vault.keys.rotate()
        #expect(try await rewrap(vault).last?.report?.unopened == 1)
        _ = try vault.store.resources.remove(broken)
        #expect(try await rewrap(vault).last?.report?.unopened == 0)
        let receipts = try await vault.keys.audit().receipts.filter { $0.act == .rewrap }
        #expect(receipts.map(\.outcome) == [.partly, .done] && receipts.map(\.resources) == [1, 0])
        #expect(try await fixture.read(vault) == 0..<length)
        await vault.close()
    }

    @Test("The kept copy of a replaced keyring is destroyed when its generation is retired")
    func copies() async throws {
        let (fixture, vault) = try await VaultFixture.filled(title)
        let folder = (fixture.place.keyring as NSString).deletingLastPathComponent
        let names = { try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.contains(".replaced") } }
        _ = try KeyringFile.keep(KeyringFile.read(fixture.place.keyring), of: fixture.place.keyring)
        #expect(try names().count == 1)
        _ = try await vault.keys.rotate()
        _ = try await rewrap(vault)
        #expect(try names().count == 1)
        _ = try await vault.keys.retire(1)
        #expect(try names() == [])
        await vault.close()
    }
}
