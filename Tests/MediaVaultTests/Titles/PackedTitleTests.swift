import Foundation
import GRDB
import OriginTestSupport
import Testing
import VaultManifest
import VaultModel
import VaultStorage

@testable import MediaVault

@Suite("The small parts of a title lie in a pack, and each is served as a file of its own", .timeLimit(.minutes(5)))
struct PackedTitleTests {
    /// The lengths of the parts; the last is too large for a pack.
    private static let lengths: [Int64] = [1000, 100_000, 16, 300_001, 32_768, 9_000_000]

    private static func resource(_ number: Int, version: Int) -> ScriptedResource {
        ScriptedResource(
            seed: UInt64(number + 100 * version), length: lengths[number - 1], contentType: "video/mp2t",
            entityTag: "\"\(number)-\(version)\"")
    }

    private static func number(of request: ScriptedRequest) -> Int? {
        Int(request.target.dropFirst().prefix { $0 != "." })
    }

    private static func answer(to request: ScriptedRequest, version: Int = 1) -> ScriptedAnswer {
        if let number = number(of: request) {
            var answer = resource(number, version: version).answer(to: request)
            // Each use of the second part is confirmed.
            if number == 2 { answer.set("Cache-Control", "max-age=0") }
            return answer
        }
        let text =
            "#EXTM3U\n#EXT-X-TARGETDURATION:4\n" + lengths.indices.map { "#EXTINF:4,\n\($0 + 1).ts\n" }.joined()
            + "#EXT-X-ENDLIST\n"
        return ScriptedAnswer(
            200,
            fields: [
                "Content-Type": "application/vnd.apple.mpegurl", "Content-Length": "\(text.utf8.count)",
                "ETag": "\"list\"",
            ], body: request.method == "GET" ? [.bytes(Array(text.utf8))] : [])
    }

    private let fixture: VaultFixture
    private var url: MediaURL { fixture.origin.url("/list.m3u8") }

    init() async throws {
        fixture = try await VaultFixture(ScriptedResource(length: 1))
        fixture.origin.answer { Self.answer(to: $0) }
    }

    private func part(_ number: Int) -> MediaURL { fixture.origin.url("/\(number).ts") }

    /// Fetches the title.
    private func fetch(_ vault: Vault, _ url: MediaURL? = nil, connections: Int = 3) async throws {
        for try await _ in vault.download(url ?? self.url, options: DownloadOptions(connections: connections)) {}
    }

    /// Reads a part, and requires exactly its own bytes.
    private func expectPart(
        _ number: Int, _ vault: Vault, _ range: RequestedRange = .whole, version: Int = 1,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let media = Self.resource(number, version: version).media
        let reader = try await vault.read(part(number), range: range)
        #expect(reader.information.length == media.length, sourceLocation: sourceLocation)
        var position = reader.range?.lowerBound ?? 0
        while let bytes = try await reader.next() {
            #expect(media.matches(bytes, at: position), "part \(number) at \(position)", sourceLocation: sourceLocation)
            position += Int64(bytes.count)
        }
        #expect(position == range.resolved(length: media.length)?.upperBound, sourceLocation: sourceLocation)
    }

    private var requests: [String] {
        fixture.origin.exchanges.map { "\($0.request.method) \($0.request.target)" }
    }

    @Test("Each part is requested once, and read with its own head and ranges, at once and offline")
    func served() async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        #expect(Set(requests).count == requests.count && requests.count == 7, "\(requests)")
        // The list, a pack of five parts, and the large part.
        let status = try await vault.status()
        #expect(status.resources == 3 && status.segments == 4)
        fixture.origin.stop()
        for number in 1...6 { try await expectPart(number, vault) }
        await vault.close()

        let later = try await fixture.open(mode: .offline)
        for number in 1...6 {
            try await expectPart(number, later)
            if number != 3 { try await expectPart(number, later, .closed(first: 500, last: 999)) }
            try await expectPart(number, later, .suffix(10))
        }
        let heads = try await [later.head(of: part(1)), later.head(of: part(2))]
        #expect(heads.map(\.information.length) == [1000, 100_000])
        #expect(heads.map(\.information.type) == ["video/mp2t", "video/mp2t"])
        #expect(heads[0].entityTag != heads[1].entityTag && !heads[0].entityTag.isWeak)
        let summary = try #require(try await later.summary(of: part(2)))
        #expect(summary.isComplete && summary.isPart && summary.held == [0..<100_000])
        await later.close()
    }

    @Test("A part that has changed at its origin becomes a resource of its own, and goes with its title")
    func changed() async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        fixture.origin.answer { Self.answer(to: $0, version: Self.number(of: $0) == 2 ? 2 : 1) }
        try await expectPart(2, vault, version: 2)
        try await expectPart(1, vault)
        #expect(try await vault.status().resources == 4)
        try await fetch(vault)
        await vault.close()
        let later = try await fixture.open(mode: .offline)
        try await expectPart(2, later, version: 2)
        try await expectPart(4, later)
        try await later.remove(MediaReference(url))
        #expect(try await later.status().resources == 0)
        await later.close()
    }

    @Test("A title that names a held part, too, has a copy of its own, without asking the origin again")
    func second() async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        let other = fixture.origin.url("/other.m3u8")
        let before = requests.count
        try await fetch(vault, other)
        try await fetch(vault, other)
        #expect(requests.dropFirst(before).allSatisfy { !$0.hasSuffix(".ts") }, "\(requests)")
        let resources = try await vault.status().resources
        // Two lists, two packs, and the large part, which both titles share.
        #expect(resources == 5)
        try await vault.remove(MediaReference(url))
        #expect(try await vault.status().resources == 3)
        fixture.origin.stop()
        for number in 1...6 { try await expectPart(number, vault) }
        await vault.close()
    }

    @Test("A repair fetches what is damaged of a pack from the URLs of its parts, and nothing else")
    func repaired() async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        await vault.close()
        let sizes = try fixture.files().map {
            ($0, try FileManager.default.attributesOfItem(atPath: $0)[.size] as? Int)
        }
        let pack = try #require(sizes.first { ($0.1 ?? 0) > 400_000 && ($0.1 ?? 0) < 600_000 }?.0)
        // The last byte of the file is in the last part that was packed.
        try fixture.change(pack) { $0[200_000] ^= 1 }
        let found = try await fixture.verify()
        #expect(found.damage == [.block: 1] && found.remaining == 1)
        let before = requests.count
        let report = try await fixture.verify(repairs: true)
        #expect(report.isSound && report.bytesRefetched > 0 && report.bytesRefetched <= 32_768)
        #expect(requests.count > before)
        let later = try await fixture.open(mode: .offline)
        for number in 1...6 { try await expectPart(number, later) }
        await later.close()
        #expect(try await fixture.verify().isSound)
    }

    @Test("A row of a part that was exchanged is damage; a repair deletes it, and the next fetch brings the part again")
    func exchanged() async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        await vault.close()
        try fixture.index { db in
            let entries = try Row.fetchAll(db, sql: "SELECT id, entry FROM packedPart LIMIT 2")
            #expect(entries.count == 2)
            for (one, other) in [(entries[0], entries[1]), (entries[1], entries[0])] {
                try db.execute(
                    sql: "UPDATE packedPart SET entry = ? WHERE id = ?",
                    arguments: [one["entry"] as Data, other["id"] as Data])
            }
        }
        #expect(try await fixture.verify().damage == [.row: 2])
        #expect(try await fixture.verify(repairs: true).isSound)
        let later = try await fixture.open()
        try await fetch(later)
        fixture.origin.stop()
        for number in 1...6 { try await expectPart(number, later) }
        await later.close()
    }

    @Test("Parts that are open are read on while the pack is resealed, and after the locator has changed")
    func keys() async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        for number in 1...6 { try await expectPart(number, vault) }
        fixture.origin.stop()
        for try await _ in vault.keys.reseal() {}
        for number in 1...6 { try await expectPart(number, vault) }
        _ = try await vault.keys.changeLocator()
        for number in 1...6 { try await expectPart(number, vault) }
        #expect(try await vault.remove(MediaReference(url)) > 400_000)
        #expect(try await vault.status().resources == 0)
        await vault.close()
    }

    @Test("Pinning a title pins the parts in its pack; removing it ends their readers")
    func pinned() async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        try await vault.pin(MediaReference(url))
        #expect(try await vault.summary(of: part(2))?.resourceClass == "pinned")
        let alone = await #expect(throws: VaultError.self) { try await vault.remove(MediaReference(part(2))) }
        #expect(alone?.code == .invalidArgument && alone?.message.contains("title") == true)
        let reader = try await vault.read(part(4))
        _ = try await reader.next()
        try await vault.remove(MediaReference(url))
        let error = await #expect(throws: VaultError.self) { while try await reader.next() != nil {} }
        #expect(error?.code == .removed)
        #expect(try await vault.summary(of: part(2)) == nil)
        await vault.close()
    }
}
