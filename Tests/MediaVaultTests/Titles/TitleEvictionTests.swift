import Foundation
import GRDB
import OriginTestSupport
import Testing
import VaultManifest
import VaultModel
import VaultTestSupport

@testable import MediaVault
@testable import VaultStorage

@Suite("Limits evict whole titles", .timeLimit(.minutes(2)))
struct TitleEvictionTests {
    private static let segment: Int64 = 200_000

    /// Three titles of two segments each; the first two share one of them.
    private static func answer(to request: ScriptedRequest) -> ScriptedAnswer {
        let name = request.target.dropFirst().prefix { $0 != "." }
        guard request.target.hasSuffix(".m3u8") else {
            return ScriptedResource(
                seed: UInt64(name.utf8.reduce(0) { $0 * 31 % 997 + Int($1) }), length: segment,
                contentType: "video/mp2t"
            ).answer(to: request)
        }
        let shared = name == "c" ? "c-2" : "shared"
        let text = "#EXTM3U\n#EXTINF:4,\n\(name)-1.ts\n#EXTINF:4,\n\(shared).ts\n#EXT-X-ENDLIST\n"
        return .playlist(text, entityTag: String(name), isFresh: true, to: request)
    }

    private static func filled() async throws -> (RoomFixture, Vault) {
        let fixture = try await RoomFixture()
        fixture.origin.answer { answer(to: $0) }
        var vault = try await fixture.open()
        // A part that was played before stays a resource of its own, which the titles share; the rest is in their
        // packs.
        for try await _ in try await vault.read(fixture.origin.url("/shared.ts")) {}
        for name in ["a", "b", "c"] {
            for try await _ in vault.download(fixture.origin.url("/\(name).m3u8")) {}
            // An open vault would take the jump for a correction of the clock, and would move earlier access times
            // along.
            await vault.close()
            fixture.clock.advance(by: 3600)
            vault = try await fixture.open()
        }
        return (fixture, vault)
    }

    /// The held bytes of each: manifest, its own segment, second segment.
    private static func held(_ fixture: RoomFixture, _ vault: Vault) async throws -> [String] {
        var held: [String] = []
        for name in ["a.m3u8", "a-1.ts", "shared.ts", "b.m3u8", "b-1.ts", "c.m3u8", "c-1.ts", "c-2.ts"] {
            if try await vault.titles.summary(of: fixture.origin.url("/" + name))?.isComplete == true {
                held.append(name)
            }
        }
        return held
    }

    private static let all = ["a.m3u8", "a-1.ts", "shared.ts", "b.m3u8", "b-1.ts", "c.m3u8", "c-1.ts", "c-2.ts"]

    @Test("The title that was read least recently goes whole, what it shares stays, and goes with the other one")
    func shared() async throws {
        let (fixture, vault) = try await Self.filled()
        #expect(try await Self.held(fixture, vault) == Self.all)
        let used = try await vault.status().used
        let first = try await vault.space.prune(StorageLimits(maxSize: used - 1, evictsDownloads: true))
        #expect(try await Self.held(fixture, vault) == Array(Self.all[2...]))
        #expect(first.bytes > Self.segment && first.bytes < 2 * Self.segment)
        // The title's row stays, as for any download; the rows of its parts are deleted.
        let title = try #require(try await vault.titles.summary(of: fixture.origin.url("/a.m3u8")))
        #expect(title.bytes == 0 && title.title?.bytes == 0 && title.title?.isComplete == false)
        #expect(try await vault.titles.summary(of: fixture.origin.url("/a-1.ts")) == nil)
        let later = try await vault.status().used
        _ = try await vault.space.prune(StorageLimits(maxSize: later - 1, evictsDownloads: true))
        #expect(try await Self.held(fixture, vault) == Array(Self.all[5...]), "nothing is left for the shared segment")
        for try await _ in vault.download(fixture.origin.url("/a.m3u8")) {}
        #expect(try await vault.titles.summary(of: fixture.origin.url("/a.m3u8"))?.title?.isComplete == true)
        await vault.close()
    }

    @Test(
        "Reading a part is reading its titles: another one goes",
        arguments: [
            ("/shared.ts", ["a.m3u8", "a-1.ts", "shared.ts", "b.m3u8", "b-1.ts"]),
            ("/a-1.ts", ["a.m3u8", "a-1.ts", "shared.ts", "c.m3u8", "c-1.ts", "c-2.ts"]),
        ])
    func lastAccess(part: String, left: [String]) async throws {
        let (fixture, vault) = try await Self.filled()
        let id = try await vault.titles.id(of: MediaReference(fixture.origin.url(part)))
        try vault.store.index.resources.touch([id], now: fixture.clock.now)
        let used = try await vault.status().used
        let plan = try await vault.space.prune(StorageLimits(maxSize: used - 1, evictsDownloads: true), isDryRun: true)
        // The manifest and the pack.
        #expect(plan.segments == 2)
        _ = try await vault.space.prune(StorageLimits(maxSize: used - 1, evictsDownloads: true))
        #expect(try await Self.held(fixture, vault) == left)
        await vault.close()
    }

    @Test("A title stays while one of its parts is in use, or while it is pinned", arguments: [true, false])
    func inUse(isPinned: Bool) async throws {
        let (fixture, vault) = try await Self.filled()
        let part = MediaReference(fixture.origin.url("/a-1.ts"))
        let reader = try await vault.read(part, range: .whole)
        if isPinned {
            reader.cancel()
            try await vault.titles.pin(MediaReference(fixture.origin.url("/a.m3u8")))
        }
        let used = try await vault.status().used
        _ = try await vault.space.prune(StorageLimits(maxSize: used - 1, evictsDownloads: true))
        let held = try await Self.held(fixture, vault)
        #expect(held.starts(with: Self.all[..<3]) && held.count < Self.all.count)
        reader.cancel()
        await vault.close()
    }

    @Test("A part that was pinned by itself stays when its title is evicted")
    func pinnedPart() async throws {
        let (fixture, vault) = try await Self.filled()
        let part = MediaReference(fixture.origin.url("/shared.ts"))
        try await vault.titles.remove(MediaReference(fixture.origin.url("/b.m3u8")))
        try await vault.titles.pin(part)
        let used = try await vault.status().used
        _ = try await vault.space.prune(StorageLimits(maxSize: used - 1, evictsDownloads: true))
        let left = ["shared.ts", "c.m3u8", "c-1.ts", "c-2.ts"]
        #expect(try await Self.held(fixture, vault) == left)
        let summary = try #require(try await vault.titles.summary(of: part))
        #expect(summary.resourceClass == "pinned" && !summary.isPart)
        await vault.close()
    }

    @Test("A film that was only linked to a title, by a person who can change files, stays when the title is evicted")
    func linkedFilm() async throws {
        let (fixture, vault) = try await Self.filled()
        let film = fixture.origin.url("/film.ts")
        // It is not read, because that would count as reading the title.
        for try await _ in vault.download(film) {}
        let title = try await vault.titles.id(of: MediaReference(fixture.origin.url("/a.m3u8")))
        let id = try await vault.titles.id(of: MediaReference(film))
        try vault.store.index.write { db in
            try db.execute(sql: "INSERT INTO part VALUES (?, ?)", arguments: [Data(title.bytes), Data(id.bytes)])
        }
        let used = try await vault.status().used
        _ = try await vault.space.prune(StorageLimits(maxSize: used - 1, evictsDownloads: true))
        #expect(try await Self.held(fixture, vault) == Array(Self.all[2...]))
        #expect(try await vault.titles.summary(of: film)?.isComplete == true)
        await vault.close()
    }
}
