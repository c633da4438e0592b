import Foundation
import GRDB
import OriginTestSupport
import Testing
import VaultModel
import VaultStorage

@testable import MediaVault

@Suite("Packs that were damaged, or removed while they were filled", .timeLimit(.minutes(5)))
struct PackRepairTests {
    private static let count = 5
    private static let length: Int64 = 60_000

    private static func number(of request: ScriptedRequest) -> Int? {
        Int(request.target.dropFirst().prefix { $0 != "." })
    }

    private static func part(_ number: Int) -> ScriptedResource {
        ScriptedResource(seed: UInt64(number), length: length, contentType: "video/mp2t", entityTag: "\"\(number)\"")
    }

    private static func answer(to request: ScriptedRequest, partsAt base: String = "") -> ScriptedAnswer {
        if let number = number(of: request) { return part(number).answer(to: request) }
        let text =
            "#EXTM3U\n#EXT-X-TARGETDURATION:4\n" + (1...count).map { "#EXTINF:4,\n\(base)\($0).ts\n" }.joined()
            + "#EXT-X-ENDLIST\n"
        return .playlist(text, entityTag: "list", to: request)
    }

    private let fixture: VaultFixture
    private var title: MediaURL { fixture.origin.url("/list.m3u8") }
    /// Another title, with the same parts.
    private var other: MediaURL { fixture.origin.url("/other.m3u8") }

    init() async throws {
        fixture = try await VaultFixture(ScriptedResource(length: 1))
        fixture.origin.answer { Self.answer(to: $0) }
    }

    private func fetch(_ url: MediaURL, _ vault: Vault) async throws {
        for try await _ in vault.download(url, options: DownloadOptions(connections: Self.count)) {}
    }

    /// Fetches titles, and closes the vault.
    private func fill(_ urls: MediaURL...) async throws {
        let vault = try await fixture.open()
        for url in urls { try await fetch(url, vault) }
        await vault.close()
    }

    /// Requires that each part is read as its own bytes, without the origin.
    private func expectWhole(_ vault: Vault, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        for number in 1...Self.count {
            var position: Int64 = 0
            for try await bytes in try await vault.read(fixture.origin.url("/\(number).ts")) {
                #expect(Self.part(number).media.matches(bytes, at: position), sourceLocation: sourceLocation)
                position += Int64(bytes.count)
            }
            #expect(position == Self.length, sourceLocation: sourceLocation)
        }
    }

    private func packs() throws -> [String] {
        try fixture.files().filter {
            let size = try FileManager.default.attributesOfItem(atPath: $0)[.size] as? Int64
            return (size ?? 0) > Self.length
        }
    }

    @Test("A repair mends each title's copy, of which the other one's is read meanwhile; then neither needs the other")
    func copies() async throws {
        try await fill(title, other)
        let packs = try packs()
        #expect(packs.count == 2)
        for pack in packs {
            try fixture.change(pack) { $0[100_000] ^= 1 }
            let before = fixture.origin.exchanges.count
            let report = try await fixture.verify(repairs: true)
            #expect(report.damage == [.block: 1] && report.isSound)
            let requests = fixture.origin.exchanges.count - before
            #expect(requests <= 4, "one part or two")
            #expect(try await fixture.verify().isSound, "nothing is left to repair")
        }
        fixture.origin.stop()
        let later = try await fixture.open(mode: .offline)
        try await later.titles.remove(MediaReference(title))
        try await expectWhole(later)
        await later.close()
    }

    @Test(
        "A part is read from the copy that is whole, and a fetch gives the other title a whole one again",
        arguments: [true, false])
    func wholeCopy(isFirst: Bool) async throws {
        try await fill(title, other)
        try fixture.index { db in
            let packs = try Data.fetchAll(
                db, sql: "SELECT id FROM segment WHERE length > ? ORDER BY id", arguments: [Self.length])
            #expect(packs.count == 2)
            try db.execute(sql: "INSERT INTO badBlock VALUES (?, 3)", arguments: [isFirst ? packs[0] : packs[1]])
        }
        let vault = try await fixture.open()
        let asked = fixture.origin.exchanges.count
        try await expectWhole(vault)
        try await fetch(title, vault)
        try await fetch(other, vault)
        #expect(!fixture.origin.exchanges.dropFirst(asked).contains { $0.request.target.hasSuffix(".ts") })
        await vault.close()
        for url in [title, other] {
            let later = try await fixture.open(mode: .offline)
            try await expectWhole(later)
            // The last title must suffice.
            if url == title { try await later.titles.remove(MediaReference(url)) }
            await later.close()
        }
    }

    @Test(
        "A row of a part that names no pack, or has an impossible value, is damage; a repair makes the part fetchable",
        arguments: [
            "UPDATE packedPart SET pack = randomblob(32) WHERE id = ?",
            "UPDATE packedPart SET pack = x'00' WHERE id = ?",
            "UPDATE packedPart SET pack = (SELECT title FROM part) WHERE id = ?",
            "UPDATE packedPart SET entry = 5 WHERE id = ?",
            "UPDATE packedPart SET id = x'00' WHERE id = ?",
        ])
    func strayRow(_ sql: String) async throws {
        try await fill(title)
        try fixture.index { db in
            let id = try #require(try Data.fetchOne(db, sql: "SELECT id FROM packedPart"))
            try db.execute(sql: sql, arguments: [id])
            #expect(db.changesCount == 1)
        }
        let found = try await fixture.verify()
        #expect(found.damage == [.row: 1] && found.remaining == 1)
        #expect(try await fixture.verify(repairs: true).isSound)
        #expect(try await fixture.verify().damage.isEmpty)
        let vault = try await fixture.open()
        try await fetch(title, vault)
        fixture.origin.stop()
        try await expectWhole(vault)
        await vault.close()
    }

    @Test(
        "Parts that were unlinked from their title, or linked to another, are damage, and a repair links them again",
        arguments: [
            ("DELETE FROM part", 1), ("UPDATE part SET title = (SELECT id FROM resource WHERE class = 'cache')", 2),
        ])
    func links(_ sql: String, errors: Int) async throws {
        try await fill(title)
        let vault = try await fixture.open()
        for try await _ in try await vault.read(fixture.origin.url("/9.ts")) {}
        await vault.close()
        try fixture.index { db in try db.execute(sql: sql) }
        let found = try await fixture.verify()
        #expect(found.damage == [.row: errors] && found.remaining == errors)
        #expect(try await fixture.verify(repairs: true).isSound)
        #expect(try await fixture.verify().damage.isEmpty)
        let later = try await fixture.open()
        try await later.titles.remove(MediaReference(title))
        #expect(try await later.status().resources == 1)
        await later.close()
    }

    @Test("A part in a pack that the manifest names at another authority is repaired from public addresses only")
    func derived() async throws {
        let other = "http://localhost:\(fixture.origin.port)/"
        fixture.origin.answer { Self.answer(to: $0, partsAt: other) }
        let vault = try await fixture.openHasty(allowing: ["localhost"])
        try await fetch(title, vault)
        await vault.close()
        let pack = try #require(try packs().first)
        try fixture.change(pack) { $0[100_000] ^= 1 }
        let asked = fixture.origin.exchanges.count
        let report = try await fixture.verify(repairs: true)
        #expect(report.damage == [.block: 1] && report.remaining == 1)
        #expect(fixture.origin.exchanges.count == asked)
    }

    @Test("A shred destroys the pack of a title even if it was unlinked")
    func shredded() async throws {
        try await fill(title)
        try fixture.index { db in try db.execute(sql: "DELETE FROM part") }
        let vault = try await fixture.open()
        let report = try await vault.keys.shred([MediaReference(title)])
        #expect(report.outcome == .destroyed && (report.titles[0].bytes ?? 0) > Self.length)
        #expect(try await vault.status().resources == 0)
        await vault.close()
    }

    @Test(
        "A title that is removed while its first parts arrive leaves nothing, and its fetch fails",
        arguments: [true, false])
    func removedWhileFetched(isShred: Bool) async throws {
        let gate = Gate()
        fixture.origin.answer { request in
            var answer = Self.answer(to: request)
            if Self.number(of: request) != nil { answer.before = [.hold(gate)] }
            return answer
        }
        let vault = try await fixture.open()
        let title = title
        let fetching = Task { try await fetch(title, vault) }
        await fixture.origin.wait { $0.count { $0.phase == .held } == Self.count }
        if isShred {
            #expect(try await vault.keys.shred([MediaReference(title)]).outcome == .destroyed)
        } else {
            try await vault.titles.remove(MediaReference(title))
        }
        gate.open()
        let error = await #expect(throws: VaultError.self) { try await fetching.value }
        #expect(error?.code == .removed)
        #expect(try await vault.status().resources == 0)
        fixture.origin.answer { Self.answer(to: $0) }
        try await fetch(title, vault)
        fixture.origin.stop()
        try await expectWhole(vault)
        await vault.close()
    }
}
