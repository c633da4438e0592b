import Foundation
import GRDB
import OriginTestSupport
import Testing
import VaultManifest
import VaultModel
import VaultStorage

@testable import MediaVault
@testable import VaultCache

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
        return .playlist(text, entityTag: "list", to: request)
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
        // One title: the list, a pack of five parts, and the large part.
        let status = try await vault.status()
        #expect(status.resources == 1 && status.segments == 4)
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
        let summary = try #require(try await later.titles.summary(of: part(2)))
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
        #expect(try await vault.status().resources == 1)
        try await fetch(vault)
        await vault.close()
        let later = try await fixture.open(mode: .offline)
        try await expectPart(2, later, version: 2)
        try await expectPart(4, later)
        try await later.titles.remove(MediaReference(url))
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
        #expect(try await vault.status().resources == 2)
        // Two lists, two packs, and two segments of the large part, which both titles share.
        #expect(fixture.segmentFiles.count == 6)
        try await vault.titles.remove(MediaReference(url))
        #expect(try await vault.status().resources == 1 && fixture.segmentFiles.count == 4)
        fixture.origin.stop()
        for number in 1...6 { try await expectPart(number, vault) }
        await vault.close()
    }

    @Test("A repair fetches what is damaged of a pack from the URLs of its parts, and nothing else")
    func repaired() async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        await vault.close()
        let pack = try #require(try fixture.packFile(holding: 400_000..<600_000))
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

    @Test("A bad block that no part needs any more is no damage; one that a part needs is repaired for good")
    func unused() async throws {
        let vault = try await fixture.open()
        try await fetch(vault, connections: 1)
        await vault.close()
        let pack = try #require(try fixture.packFile(holding: 400_000..<600_000))
        // Of 1000 bytes and 100 000 more, blocks 1 and 3.
        try fixture.change(pack) { bytes in for block in [1, 3] { bytes[88 + block * 32_784 + 77] ^= 1 } }
        #expect(try await fixture.verify().damage == [.block: 2])
        fixture.origin.answer { Self.answer(to: $0, version: Self.number(of: $0) == 2 ? 2 : 1) }
        let later = try await fixture.open()
        try await expectPart(2, later, version: 2)
        await later.close()
        #expect(try await fixture.verify().damage == [.block: 1], "the second block has other parts, too")
        let repaired = try await fixture.verify(repairs: true)
        #expect(repaired.isSound && repaired.damage == [.block: 1])
        for repairs in [false, true] { #expect(try await fixture.verify(repairs: repairs).found == 0) }
        let last = try await fixture.open(mode: .offline)
        for number in 1...6 { try await expectPart(number, last, version: number == 2 ? 2 : 1) }
        await last.close()
    }

    @Test("Resealing a title reseals its list, its packs and its large parts, and writes one receipt")
    func resealed() async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        let before = Set(fixture.segmentFiles)
        var last: ResealProgress?
        for try await step in vault.keys.reseal([MediaReference(url)]) { last = step }
        let report = try #require(last?.report)
        #expect(report.resources == 3 && report.problems == 0 && report.subjects.count == 1)
        #expect(before.count == 4 && before.isDisjoint(with: fixture.segmentFiles))
        let receipts = try await vault.keys.audit().receipts
        #expect(receipts.map(\.act) == [.reseal] && receipts.map(\.subject) == report.subjects)
        #expect(try await vault.keys.report().reseal == nil)
        fixture.origin.stop()
        for number in 1...6 { try await expectPart(number, vault) }
        await vault.close()
    }

    @Test("A title is removed while it is fetched: the fetch ends, and no part and no pack is left")
    func removedMeanwhile() async throws {
        let vault = try await fixture.open()
        let gate = Gate()
        let (asked, asking) = AsyncStream.makeStream(of: Void.self)
        fixture.origin.answer { request in
            var answer = Self.answer(to: request)
            if Self.number(of: request) == 6, request.method == "GET" {
                asking.yield()
                answer.insert(.hold(gate), at: 500_000)
            }
            return answer
        }
        let fetching = Task { try await fetch(vault, connections: 1) }
        for await _ in asked { break }
        try await vault.titles.remove(MediaReference(url))
        gate.open()
        await #expect(throws: VaultError.self) { try await fetching.value }
        // The received bytes of the unfinished part are kept as if it had been played.
        for try await left in vault.titles.resources() {
            #expect(left.url == part(6).absoluteString && !left.isPart && left.resourceClass == "cache")
        }
        await vault.close()
    }

    @Test("A player that opens a part while it is fetched for the pack ends that transfer")
    func shared() async throws {
        let vault = try await fixture.open()
        let (loader, lease) = try await vault.loaders.use(MediaReference(part(4)))
        try await loader.ready()
        var taken = 0
        let alone = try await BufferedFile.fetch(by: loader, limit: 1 << 20, refusingPages: false) { taken += $0 }
        #expect(alone?.bytes.count == 300_001 && taken == 300_001)
        taken = 0
        let small = try await BufferedFile.fetch(by: loader, limit: 1 << 20, refusingPages: false) { count in
            taken += count
            loader.change { state in
                _ = state.addReader(0..<10)
                return Effects()
            }
        }
        #expect(small == nil && taken > 0 && taken < 300_001)
        withExtendedLifetime(lease) {}
        await vault.close()
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
        #expect(try await vault.titles.remove(MediaReference(url)) > 400_000)
        #expect(try await vault.status().resources == 0)
        await vault.close()
    }

    @Test("Pinning a title pins the parts in its pack; removing it ends their readers")
    func pinned() async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        try await vault.titles.pin(MediaReference(url))
        #expect(try await vault.titles.summary(of: part(2))?.resourceClass == "pinned")
        let alone = await #expect(throws: VaultError.self) { try await vault.titles.remove(MediaReference(part(2))) }
        #expect(alone?.code == .invalidArgument && alone?.message.contains("title") == true)
        let reader = try await vault.read(part(4))
        _ = try await reader.next()
        try await vault.titles.remove(MediaReference(url))
        let error = await #expect(throws: VaultError.self) { while try await reader.next() != nil {} }
        #expect(error?.code == .removed)
        #expect(try await vault.titles.summary(of: part(2)) == nil)
        await vault.close()
    }
}

extension VaultFixture {
    /// Returns the file of a segment whose size is within a range.
    fileprivate func packFile(holding sizes: Range<Int>) throws -> String? {
        try files().first { path in
            let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
            return sizes.contains(size ?? 0)
        }
    }
}
