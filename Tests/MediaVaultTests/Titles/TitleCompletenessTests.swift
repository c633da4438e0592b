import Foundation
import GRDB
import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault
@testable import VaultCache
@testable import VaultStorage

@Suite("A title is complete until one of its resources loses bytes", .timeLimit(.minutes(5)))
struct TitleCompletenessTests {
    /// The last part is too large for a pack.
    private static let lengths: [Int64] = [60_000, 60_000, 60_000, 9_000_000]

    private static func part(_ number: Int, version: Int) -> ScriptedResource {
        ScriptedResource(
            seed: UInt64(number + 100 * version), length: lengths[number - 1], contentType: "video/mp2t",
            entityTag: "\"\(number)-\(version)\"")
    }

    private static func answer(to request: ScriptedRequest, version: Int = 1) -> ScriptedAnswer {
        var answer: ScriptedAnswer
        if let number = Int(request.target.dropFirst().prefix { $0 != "." }) {
            answer = part(number, version: version == 3 ? 1 : version).answer(to: request)
        } else {
            // The third version names no third part, and the others as they were.
            let parts = (1...lengths.count).filter { version != 3 || $0 != 3 }.map { "#EXTINF:4,\n\($0).ts\n" }.joined()
            answer = .playlist(
                "#EXTM3U\n#EXT-X-VERSION:\(version)\n\(parts)#EXT-X-ENDLIST\n", entityTag: "list-\(version)",
                to: request)
        }
        // Each use is confirmed.
        answer.set("Cache-Control", "max-age=0")
        return answer
    }

    private let fixture: VaultFixture
    private var title: MediaURL { fixture.origin.url("/list.m3u8") }

    init() async throws {
        fixture = try await VaultFixture(ScriptedResource(length: 1))
        fixture.origin.answer { Self.answer(to: $0) }
    }

    private func fetch(_ vault: Vault) async throws {
        for try await _ in vault.download(title, options: DownloadOptions(connections: 4)) {}
        #expect(try await state(vault) == .whole, "premise")
    }

    /// The record of the title.
    private struct State: Hashable {
        let isWhole: Bool
        let lacking: Int64

        static let whole = State(isWhole: true, lacking: 0)
        static func lacking(_ bytes: Int64) -> State { State(isWhole: false, lacking: bytes) }
    }

    private func state(_ vault: Vault) async throws -> State {
        let record = try #require(try await vault.titles.summary(of: title)?.title)
        let size = try #require(record.size, "the size stays known")
        return State(isWhole: record.isComplete, lacking: size - record.bytes)
    }

    private func read(_ name: String, _ vault: Vault) async throws {
        for try await _ in try await vault.read(fixture.origin.url(name)) {}
        // The missing bytes are sealed a moment later.
        let (loader, lease) = try await vault.use(MediaReference(fixture.origin.url(name)))
        await loader.settle()
        withExtendedLifetime(lease) {}
    }

    private func size(_ vault: Vault) async throws -> Int64 {
        try #require(try await vault.titles.summary(of: title)?.title?.size)
    }

    /// The segment files, those of the pack first.
    private func files(_ vault: Vault) throws -> [SegmentID] {
        try vault.store.index.read { db in
            try Data.fetchAll(
                db, sql: "SELECT id FROM segment ORDER BY length = 180000 DESC, length DESC, start"
            ).compactMap { SegmentID(bytes: Array($0)) }
        }
    }

    @Test("A damaged block makes a title incomplete once it is found, and a repair makes it complete again")
    func damagedBlock() async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        let pack = try #require(try files(vault).first)
        try fixture.change(fixture.path(of: pack)) { bytes in
            #expect((180_000...200_000).contains(bytes.count), "premise: the pack")
            bytes[bytes.count / 2] ^= 1
        }
        for name in ["/1.ts", "/2.ts", "/3.ts"] { try await read(name, vault) }
        let found = try await state(vault)
        #expect(!found.isWhole && found.lacking > 0 && found.lacking <= 65536)
        for try await _ in vault.checks.verify(VerifyOptions(repairs: true)) {}
        #expect(try await state(vault) == .whole)
        await vault.close()
    }

    @Test(
        "A lost segment makes a title incomplete, and a rebuilt index lists it as what it is", arguments: [true, false])
    func lostSegment(isRebuilt: Bool) async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        let large = try files(vault)[1]
        await vault.close()
        try FileManager.default.removeItem(atPath: fixture.path(of: large))
        if isRebuilt {
            _ = try await Vault.rebuildIndex(fixture.place, unlock: fixture.unlock, evenIfSound: true)
        }
        let later = try await fixture.open()
        if !isRebuilt { try await read("/4.ts", later) }
        let lost = try await state(later)
        #expect(!lost.isWhole && lost.lacking > 1 << 20)
        for try await _ in later.checks.verify(VerifyOptions(repairs: true)) {}
        try await fetch(later)
        #expect(try await state(later) == .whole)
        await later.close()
    }

    @Test("A title that was rebuilt whole is complete")
    func rebuilt() async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        await vault.close()
        _ = try await Vault.rebuildIndex(fixture.place, unlock: fixture.unlock, evenIfSound: true)
        let later = try await fixture.open()
        #expect(try await state(later) == .whole)
        await later.close()
    }

    @Test(
        "A new version of a part, or of the manifest, makes a title incomplete",
        arguments: ["/1.ts", "/4.ts", "/list.m3u8"])
    func newVersion(name: String) async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        fixture.origin.answer { Self.answer(to: $0, version: 2) }
        let reader = try await vault.read(fixture.origin.url(name), range: .closed(first: 0, last: 9))
        while try await reader.next() != nil {}
        for try await _ in vault.checks.verify() {}
        #expect(try await state(vault).isWhole == false)
        await vault.close()
    }

    @Test("Of an evicted title nothing is held, also after its manifest was played again")
    func evicted() async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        let size = try await size(vault)
        _ = try await vault.space.prune(StorageLimits(maxSize: 1, evictsDownloads: true))
        #expect(try await state(vault) == .lacking(size))
        try await read("/list.m3u8", vault)
        #expect(try await state(vault) == .lacking(size))
        try await fetch(vault)
        await vault.close()
    }

    @Test("The size of a title stays known if a fetch of what it lost fails")
    func failedFetch() async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        try await vault.titles.remove(MediaReference(fixture.origin.url("/4.ts")))
        fixture.origin.answer { request in
            request.target == "/4.ts" ? ScriptedAnswer(404, fields: ["Content-Length": "0"]) : Self.answer(to: request)
        }
        await #expect(throws: VaultError.self) { for try await _ in vault.download(title) {} }
        #expect(try await state(vault) == .lacking(Self.lengths[3]))
        await vault.close()
    }

    @Test("A part that is removed by its own name is missing from its title")
    func removedPart() async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        try await vault.titles.remove(MediaReference(fixture.origin.url("/4.ts")))
        #expect(try await state(vault) == .lacking(Self.lengths[3]))
        await vault.close()
    }

    @Test("What was lost is not forgotten when a reader of the manifest changes other things that are recorded")
    func olderCopy() async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        let reader = try await vault.read(title)
        let large = try files(vault)[1]
        try FileManager.default.removeItem(atPath: fixture.path(of: large))
        try await read("/4.ts", vault)
        #expect(try await state(vault).isWhole == false, "premise")
        try await vault.titles.setMode(.offline, for: title)
        #expect(try await state(vault).isWhole == false)
        reader.cancel()
        await vault.close()
    }

    @Test("What is read of a resource knows the class that it is given meanwhile", arguments: [true, false])
    func pinnedMeanwhile(isPinned: Bool) async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        let reader = try await vault.read(title)
        if isPinned { try await vault.titles.pin(MediaReference(title)) }
        let record = try #require(
            vault.loaders.loader(of: try await vault.titles.id(of: MediaReference(title)))?.record)
        #expect(record.isPinned == isPinned)
        try await vault.titles.unpin(MediaReference(title))
        #expect(!record.isPinned && record.stored.withLock { $0?.resourceClass } == .download)
        reader.cancel()
        await vault.close()
    }

    @Test("A part of an earlier choice does not stand for one that is missing")
    func earlierChoice() async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        fixture.origin.answer { Self.answer(to: $0, version: 3) }
        try await fetch(vault)
        try await vault.titles.remove(MediaReference(fixture.origin.url("/4.ts")))
        for try await _ in vault.checks.verify(VerifyOptions(repairs: true)) {}
        #expect(try await state(vault).isWhole == false)
        await vault.close()
    }

    @Test("What is lost while the rest of a title is fetched is missing when the fetch has ended")
    func lostMeanwhile() async throws {
        let gate = Gate()
        fixture.origin.answer { request in
            var answer = Self.answer(to: request)
            if request.target == "/1.ts" { answer.before = [.hold(gate)] }
            return answer
        }
        let vault = try await fixture.open()
        let large = fixture.origin.url("/4.ts")
        let fetching = Task { [title] in
            for try await _ in vault.download(title, options: DownloadOptions(connections: 4)) {}
        }
        while try await vault.titles.summary(of: large)?.isComplete != true {
            try await Task.sleep(for: .milliseconds(20))
        }
        try await vault.titles.remove(MediaReference(large))
        gate.open()
        _ = await fetching.result
        #expect(try await vault.titles.summary(of: title)?.title?.isComplete == false)
        try await fetch(vault)
        await vault.close()
    }

    @Test(
        "A repair of one title, or of a part, makes every title complete that has the part", arguments: [true, false])
    func sharedRepair(isPart: Bool) async throws {
        let vault = try await fixture.open()
        try await fetch(vault)
        let other = fixture.origin.url("/other.m3u8")
        for try await _ in vault.download(other) {}
        let large = try files(vault)[2]
        try fixture.change(fixture.path(of: large)) { $0[1 << 20] ^= 1 }
        try await read("/4.ts", vault)
        #expect(try await state(vault).isWhole == false, "premise")
        let repaired = MediaReference(isPart ? fixture.origin.url("/4.ts") : other)
        for try await _ in vault.checks.verify(VerifyOptions(repairs: true), of: [repaired]) {}
        #expect(try await state(vault) == .whole)
        #expect(try await vault.titles.summary(of: other)?.title?.isComplete == true)
        await vault.close()
    }
}
