import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("What is played at the moment, and the figures of the last hour", .timeLimit(.minutes(5)))
struct ActivityTests {
    private static let media = ScriptedResource(seed: 8, length: 1000)
    private static let type = "application/vnd.apple.mpegurl"
    private static let playlist =
        "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n1.ts\n#EXTINF:2,\n2.ts\n#EXT-X-ENDLIST\n"

    /// When links without a name end, in seconds since 1970.
    private static var end: Int64 { Int64(Date().timeIntervalSince1970) + 60 }

    private static func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { request in
            guard request.target.hasSuffix(".m3u8") else { return media.answer(to: request) }
            var answer = ScriptedAnswer(
                200, fields: ["Content-Type": type, "Content-Length": String(playlist.utf8.count)])
            if request.method == "GET" { answer.body = [.bytes(Array(playlist.utf8))] }
            return answer
        }
    }

    private static func links(of service: RunningService, _ body: String) async throws -> LinkDocument {
        let answer = try await service.authorized("POST", "/api/v1/links", body: body)
        return try JSONText.read(LinkDocument.self, from: answer.body)
    }

    private static func playbacks(of service: RunningService) async throws -> [PlaybackDocument] {
        let answer = try await service.authorized("GET", "/api/v1/playbacks")
        #expect(answer.head.status == 200)
        #expect(try SchemaCheck.faults(of: answer.body, "Playbacks") == [])
        return try JSONText.read(PlaybacksDocument.self, from: answer.body).playbacks
    }

    private static func play(_ path: String, of service: RunningService) async throws -> [String] {
        let answer = try #require(try await service.client().ask("GET", path, host: service.host))
        #expect(answer.head.status == 200)
        return String(decoding: answer.body, as: UTF8.self).split(separator: "\n").filter { $0.hasPrefix("/media/") }
            .map(String.init)
    }

    @Test("Each holder of a link who plays a title is listed once, whatever the number of its parts; a look is no play")
    func listed() async throws {
        let origin = try Self.origin()
        defer { origin.stop() }
        try await RunningService.run(over: try await TestVault()) { service in
            let (film, show) = (origin.url("/film.mp4"), origin.url("/show/x.m3u8"))
            for url in [film, show] { for try await _ in service.vault.download(url) {} }
            try await service.vault.titles.setName("Film", of: MediaReference(film))
            let (filmID, showID) = (
                try #require(try await service.vault.titles.summary(of: film)?.id),
                try #require(try await service.vault.titles.summary(of: show)?.id)
            )
            #expect(try await Self.playbacks(of: service) == [])
            let named = try await Self.links(of: service, #"{"id":"\#(filmID)","name":"Hall"}"#)
            let head = try await service.client().ask("HEAD", named.path, host: service.host)
            #expect(head?.head.status == 200)
            #expect(try await Self.playbacks(of: service) == [], "a HEAD request plays nothing")
            for _ in 0..<2 { _ = try await Self.play(named.path, of: service) }
            let anna = try await service.vault.viewers.add("Anna", sharesAll: true)
            let link = try await AskingViewer(service.vault, anna.id).ask("POST", "links", #"{"id":"\#(showID)"}"#)
            let path = try JSONText.read(LinkDocument.self, from: Array(link.body.utf8)).path
            for part in try await Self.play(path, of: service) { _ = try await Self.play(part, of: service) }
            // A link that the command makes has no name, and no grant.
            let unnamed = service.vault.tokens.playbackPath(for: film, expires: Self.end)
            _ = try await Self.play(unnamed, of: service)
            let found = try await Self.playbacks(of: service)
            let told = Set(found.map { "\($0.holder) \($0.holderName ?? "-") \($0.id?.description ?? "-") \($0.open)" })
            #expect(
                told == ["link Hall \(filmID) 0", "viewer Anna \(showID) 0", "unknown - \(filmID) 0"]
                    && found.count == 3)
            #expect(found.first { $0.holder == .link }?.name == "Film")
        }
    }

    @Test(
        "A playback begins with the first part of its title, however many follow; a title that was removed is not named"
    )
    func parts() async throws {
        let origin = try Self.origin()
        defer { origin.stop() }
        try await RunningService.run(over: try await TestVault()) { service in
            let show = origin.url("/show/x.m3u8")
            for try await _ in service.vault.download(show) {}
            let path = service.vault.tokens.playbackPath(for: show, expires: Self.end)
            for part in try await Self.play(path, of: service) { _ = try await Self.play(part, of: service) }
            let kept = service.server.api.playbacks.all(at: Self.end - 60)
            #expect(kept.count == 1, "the parts have the link of their title")
            #expect(try await Self.playbacks(of: service).map(\.url) == [show.absoluteString])
            _ = try await service.vault.titles.remove(MediaReference(show))
            #expect(try await Self.playbacks(of: service) == [])
        }
    }

    @Test("A link that a program made with its token is listed under the token")
    func token() async throws {
        let origin = try Self.origin()
        defer { origin.stop() }
        try await RunningService.run(over: try await TestVault()) { service in
            let film = origin.url("/film.mp4")
            for try await _ in service.vault.download(film) {}
            let player = try await service.vault.access.createToken(.play, name: "kiosk")
            let fields: KeyValuePairs = [
                "Authorization": "Bearer \(player.text)", "Content-Type": "application/json",
            ]
            let id = try #require(try await service.vault.titles.summary(of: film)?.id)
            let made = try await service.client().ask(
                "POST", "/api/v1/links", host: service.host, fields: fields, body: #"{"id":"\#(id)"}"#)
            let link = try JSONText.read(LinkDocument.self, from: try #require(made).body)
            _ = try await Self.play(link.path, of: service)
            let found = try await Self.playbacks(of: service)
            #expect(found.map(\.holder) == [.token] && found.map(\.holderName) == ["kiosk"])
            // Only the owner may know who plays what.
            let refused = try await service.client().ask("GET", "/api/v1/playbacks", host: service.host, fields: fields)
            #expect(refused?.head.status == 403)
        }
    }

    /// A verified link to a title with a path.
    private static func link(to path: String, of vault: Vault) throws -> (resource: NamedResource, scope: LinkScope) {
        let url = try MediaURL("https://media.example\(path)")
        let target = vault.tokens.playbackPath(for: url, expires: 2_000_000_000)
        let admission = try #require(vault.playback.admission(ofTarget: target, now: 1_900_000_000))
        return (try #require(admission.resource), admission.scope)
    }

    @Test("A playback lasts while an answer is being sent, and for a pause after the last request")
    func lasting() async throws {
        let vault = try await TestVault().open()
        let (resource, scope) = try Self.link(to: "/a.mp4", of: vault)
        let playbacks = Playbacks()
        playbacks.note(resource, through: scope, at: 100)
        #expect(playbacks.all(at: 100 + Playbacks.pause - 1).map(\.began) == [100])
        var open: Playbacks.Open? = playbacks.begin(resource, through: scope, at: 150)
        let found = playbacks.all(at: 10_000)
        #expect(found.map(\.began) == [100] && found.map(\.last) == [150] && found.map(\.open) == [1])
        withExtendedLifetime(open) {}
        open = nil
        #expect(playbacks.all(at: 150 + Playbacks.pause - 1).map(\.open) == [0])
        #expect(playbacks.all(at: 150 + Playbacks.pause).isEmpty)
        playbacks.note(resource, through: scope, at: 10_000)
        #expect(playbacks.all(at: 10_000).map(\.began) == [10_000], "it begins again")
        await vault.close()
    }

    @Test("Of too many playbacks the one that was requested longest ago is forgotten")
    func bounded() async throws {
        let vault = try await TestVault().open()
        let playbacks = Playbacks()
        for number in 0...Playbacks.maxCount {
            let (resource, scope) = try Self.link(to: "/\(number).mp4", of: vault)
            playbacks.note(resource, through: scope, at: number == 0 ? 99 : 100)
        }
        let found = playbacks.all(at: 100)
        #expect(found.count == Playbacks.maxCount && found.allSatisfy { $0.last == 100 })
        await vault.close()
    }

    @Test("The figures of the last hour are kept, and those before it are dropped")
    func history() async throws {
        let history = FigureHistory()
        for number in 0...FigureHistory.maxCount {
            history.add(
                HistoryDocument.Sample(
                    time: Timestamp(seconds: Int64(number)), fetched: 0, served: 0, held: 0, downloads: 0, playbacks: 0)
            )
        }
        #expect(history.samples.count == 240 && history.samples.first?.time == Timestamp(seconds: 1))
        #expect(history.samples.last?.time == Timestamp(seconds: Int64(FigureHistory.maxCount)))
    }

    @Test("A service has its first figures at once, of what it fetched, sent and holds")
    func sampled() async throws {
        let origin = try Self.origin()
        defer { origin.stop() }
        try await RunningService.run(over: try await TestVault()) { service in
            let answer = try await service.authorized("GET", "/api/v1/history")
            #expect(answer.head.status == 200)
            #expect(try SchemaCheck.faults(of: answer.body, "History") == [])
            let film = origin.url("/film.mp4")
            for try await _ in service.vault.download(film) {}
            _ = try await Self.play(
                service.vault.tokens.playbackPath(for: film, expires: Self.end), of: service)
            let sample = try await service.server.api.activity.sample()
            #expect(sample.held == 1000 && sample.fetched == 1000 && sample.served >= 1000)
            #expect(sample.playbacks == 1 && sample.downloads == 0)
        }
    }
}
