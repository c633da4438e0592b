import OriginTestSupport
import Testing
import VaultModel
import VaultStorage

@testable import MediaVault

@Suite("What was requested by its own name stays when a title goes", .timeLimit(.minutes(2)))
struct NamedPartTests {
    private static let segment: Int64 = 200_000

    /// A title of two segments.
    private static func answer(to request: ScriptedRequest) -> ScriptedAnswer {
        guard request.target.hasSuffix(".m3u8") else {
            return ScriptedResource(
                seed: UInt64(request.target.utf8.count), length: segment, contentType: "video/mp2t"
            ).answer(to: request)
        }
        let text = "#EXTM3U\n#EXTINF:4,\nfilm.ts\n#EXTINF:4,\nsecond.ts\n#EXT-X-ENDLIST\n"
        return .playlist(text, entityTag: "1", isFresh: true, to: request)
    }

    enum Naming: CaseIterable {
        case fetchedBefore, pinnedBefore, fetchedAfter, pinnedAndFetchedAfter, onlyPlayed

        var stays: Bool { self != .onlyPlayed }
    }

    private static func fill(_ vault: Vault, _ fixture: RoomFixture, _ naming: Naming) async throws {
        let (film, title) = (MediaReference(fixture.origin.url("/film.ts")), fixture.origin.url("/title.m3u8"))
        // A file that was played before is not in the title's pack.
        for try await _ in try await vault.read(film, range: .whole) {}
        switch naming {
        case .fetchedBefore: for try await _ in vault.download(film) {}
        case .pinnedBefore: try await vault.titles.pin(film)
        case .fetchedAfter, .pinnedAndFetchedAfter, .onlyPlayed: break
        }
        for try await _ in vault.download(title) {}
        #expect(try await vault.titles.summary(of: film)?.isPart == true)
        switch naming {
        case .fetchedAfter: for try await _ in vault.download(film) {}
        case .pinnedAndFetchedAfter:
            try await vault.titles.pin(MediaReference(title))
            for try await _ in vault.download(film) {}
            try await vault.titles.unpin(MediaReference(title))
        case .fetchedBefore, .pinnedBefore, .onlyPlayed: break
        }
    }

    @Test(
        "A part that was fetched or pinned by its name, before or after its title, stays when that is removed",
        arguments: Naming.allCases, [false, true])
    func removed(naming: Naming, isReopened: Bool) async throws {
        let fixture = try await RoomFixture()
        fixture.origin.answer { Self.answer(to: $0) }
        var vault = try await fixture.open()
        try await Self.fill(vault, fixture, naming)
        if isReopened {
            await vault.close()
            vault = try await fixture.open()
        }
        let film = fixture.origin.url("/film.ts")
        try await vault.titles.remove(MediaReference(fixture.origin.url("/title.m3u8")))
        var listed: [String] = []
        for try await summary in vault.titles.list() { listed.append(summary.url) }
        #expect(listed == (naming.stays ? [film.absoluteString] : []))
        #expect(try await vault.titles.summary(of: film)?.isComplete == (naming.stays ? true : nil))
        #expect(try await vault.status().bytes == (naming.stays ? Self.segment : 0))
        #expect(try await VaultFixture.report(of: vault.checks.verify()).isSound)
        let requests = fixture.origin.exchanges.count
        if naming.stays {
            for try await _ in try await vault.read(film) {}
            #expect(fixture.origin.exchanges.count == requests)
        }
        await vault.close()
    }

    @Test("It stays when the title is evicted, and is then evicted by itself", arguments: Naming.allCases)
    func evicted(naming: Naming) async throws {
        let fixture = try await RoomFixture()
        fixture.origin.answer { Self.answer(to: $0) }
        let vault = try await fixture.open()
        try await Self.fill(vault, fixture, naming)
        let film = fixture.origin.url("/film.ts")
        let used = try await vault.status().used
        _ = try await vault.space.prune(StorageLimits(maxSize: used - 1, evictsDownloads: true))
        #expect(try await vault.titles.summary(of: fixture.origin.url("/title.m3u8"))?.bytes == 0)
        #expect(try await vault.titles.summary(of: film)?.isComplete == (naming.stays ? true : nil))
        #expect(try await vault.titles.summary(of: film)?.isPart == (naming.stays ? false : nil))
        await vault.close()
    }
}
