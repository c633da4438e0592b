import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@Suite("Titles that more than a URL names, over HTTP", .timeLimit(.minutes(1)))
struct NamingAnswerTests {
    private let film = ScriptedResource(seed: 21, length: 300_000)

    @Test("A title fetched with somebody's fields plays by its plain address; the player sends none (H11)")
    func credentials() async throws {
        let origin = try ScriptedOrigin { [film] request in
            request.fields["Authorization"] == "Bearer one"
                ? film.answer(to: request) : ScriptedAnswer(401, fields: ["Content-Length": "0"])
        }
        defer { origin.stop() }
        let url = origin.url()
        let mine = MediaReference(url, fields: ["Authorization": "Bearer one"])
        try await RunningService.run(over: try await TestVault()) { [film] service in
            let refused = try #require(try await service.ask("GET", url))
            #expect(refused.head.status == 401)
            let reader = try await service.vault.read(mine, range: .closed(first: 0, last: 9))
            while try await reader.next() != nil {}
            let plain = try #require(try await service.ask("GET", url, ["Range": "bytes=200000-"]))
            #expect(plain.head.status == 206 && film.media.matches(plain.body, at: 200_000))
            #expect(plain.head.fields.values.allSatisfy { !$0.contains("Bearer") })
            let path = try service.vault.tokens.playbackPath(for: mine, expires: 4_000_000_000)
            #expect(!path.contains("Bearer"))
            let named = try #require(await service.client().ask("GET", path, host: service.host))
            #expect(named.head.status == 200 && film.media.matches(named.body, at: 0))
        }
    }

    @Test("An address for a content id plays it, and no other target")
    func contentID() async throws {
        let origin = try ScriptedOrigin(film)
        defer { origin.stop() }
        let (one, two) = (origin.url("/one.mp4?token=1"), origin.url("/two.mp4"))
        try await RunningService.run(over: try await TestVault()) { [film] service in
            for try await _ in service.vault.download(MediaReference(one, contentID: "film")) {}
            let asked = origin.exchanges.count
            let path = try service.vault.tokens.playbackPath(
                for: MediaReference(two, contentID: "film"), expires: 4_000_000_000)
            let answer = try #require(await service.client().ask("GET", path, host: service.host))
            #expect(answer.head.status == 200 && film.media.matches(answer.body, at: 0))
            #expect(answer.head.fields["cache-status"] == "MediaVault; hit")
            #expect(origin.exchanges.count == asked)
            let other = path.replacing("two.mp4", with: "one.mp4")
            #expect(try #require(await service.client().ask("GET", other, host: service.host)).head.status == 404)
        }
    }
}
