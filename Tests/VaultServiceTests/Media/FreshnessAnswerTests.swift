import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Stale answers and modes (RFC 9211)", .timeLimit(.minutes(5)))
struct FreshnessAnswerTests {
    private let title = ScriptedResource(seed: 9, length: 300_000)

    /// An origin whose title is stale as soon as it is stored.
    private func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { [title] request in
            var answer = title.answer(to: request)
            answer.set("Cache-Control", "max-age=0")
            return answer
        }
    }

    @Test("If the origin is unreachable, stale bytes are served, and Cache-Status reports it")
    func unreachable() async throws {
        let origin = try origin()
        let test = try await TestVault()
        try await RunningService.run(over: test) { [title] service in
            let url = origin.url()
            _ = try #require(try await service.ask("GET", url))
            origin.stop()
            for method in ["GET", "HEAD"] {
                let answer = try #require(try await service.ask(method, url))
                #expect(answer.head.status == 200)
                #expect(answer.head.fields["cache-status"] == "MediaVault; fwd=stale; detail=unreachable")
                #expect(answer.body.count == (method == "GET" ? 300_000 : 0) && title.media.matches(answer.body, at: 0))
            }
            let range = try #require(try await service.ask("GET", url, ["Range": "bytes=5-9"]))
            #expect(range.head.status == 206 && title.media.matches(range.body, at: 5))
            #expect(range.head.fields["cache-status"] == "MediaVault; fwd=stale; detail=unreachable")
        }
    }

    @Test("Bytes that the origin confirmed are marked so (RFC 9211 §2); with If-Range this costs one request")
    func confirmed() async throws {
        let origin = try origin()
        try await RunningService.run(over: try await TestVault()) { service in
            let url = origin.url()
            let first = try #require(try await service.ask("GET", url))
            let tag = try #require(first.head.fields["etag"])
            let second = try #require(try await service.ask("GET", url, ["Range": "bytes=0-9", "If-Range": tag]))
            #expect(second.head.status == 206)
            #expect(second.head.fields["cache-status"] == "MediaVault; fwd=stale; fwd-status=304")
            #expect(origin.exchanges.map(\.request.method) == ["GET", "HEAD"])
            // The origin confirmed it a moment ago, so nothing is forwarded. On a busy machine it may have been longer
            // ago: then the answer confirms it again, and the next one is a hit.
            var isHit = false
            for _ in 0..<10 where !isHit {
                let asked = origin.exchanges.count
                let next = try #require(try await service.ask("GET", url, ["Range": "bytes=0-9"]))
                isHit = next.head.fields["cache-status"] == "MediaVault; hit" && origin.exchanges.count == asked
            }
            #expect(isHit)
        }
    }

    @Test("The mode of a title is set by the API, and applies at once")
    func modes() async throws {
        let origin = try origin()
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            let url = origin.url()
            func set(_ mode: String) async throws -> Int {
                let body = #"{"url":"\#(url.absoluteString)","mode":"\#(mode)"}"#
                return try await service.control("POST", "/api/v1/modes", body: body).head.status
            }
            #expect(try await set("no-store") == 200)
            let passed = try #require(try await service.ask("GET", url))
            #expect(passed.head.fields["cache-status"] == "MediaVault; fwd=bypass; detail=no-store")
            #expect(try await set("offline") == 200)
            #expect(try await service.ask("GET", url)?.head.status == 504)
            #expect(try await set("prefer-vault") == 200)
            #expect(try await service.ask("GET", url)?.head.fields["cache-status"] == "MediaVault; fwd=miss; stored")
            let asked = origin.exchanges.count
            #expect(try await service.ask("GET", url)?.head.fields["cache-status"] == "MediaVault; hit; detail=stale")
            #expect(origin.exchanges.count == asked)
            #expect(try await set("sometimes") == 400)
            let document: ResourceSummary = try JSONText.read(
                from: await service.control("GET", "/api/v1/resource?url=\(url.absoluteString)").body)
            #expect(document.mode == .preferVault)
        }
    }

    @Test("The API changes the vault's mode for the running service")
    func setting() async throws {
        let origin = try origin()
        let test = try await TestVault()
        try await RunningService.run(over: test, hasControl: true) { service in
            #expect(
                try await service.control("PATCH", "/api/v1/settings", body: #"{"mode":"prefer-vault"}"#).head.status
                    == 200)
            let settings: SettingsDocument = try JSONText.read(
                from: await service.control("GET", "/api/v1/settings").body)
            #expect(settings.mode == .preferVault)
            #expect(
                try await service.control("PATCH", "/api/v1/settings", body: #"{"mode":"often"}"#).head.status == 400)
        }
        let vault = try await test.open()
        #expect(try await vault.settings.ownMode() == .preferVault)
        await vault.close()
        _ = origin
    }
}
