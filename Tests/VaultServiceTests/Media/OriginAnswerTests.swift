import OriginTestSupport
import Testing
import VaultModel

@Suite("Answers and failures of origins over HTTP", .timeLimit(.minutes(5)))
struct OriginAnswerTests {
    private let title = ScriptedResource(seed: 11, length: 300_000)

    @Test(
        "An origin's refusal reaches the player",
        arguments: [
            (401, 401), (403, 403), (404, 404), (410, 410), (451, 451), (500, 502),
        ])
    func refused(origin status: Int, answered: Int) async throws {
        let origin = try ScriptedOrigin { _ in ScriptedAnswer(status, fields: ["Content-Length": "0"]) }
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault()) { service in
            for method in ["GET", "HEAD"] {
                let answer = try #require(try await service.ask(method, url))
                #expect(answer.head.status == answered)
                #expect(answer.head.fields["content-type"] == "application/problem+json")
            }
        }
    }

    @Test("A busy origin's Retry-After reaches the player")
    func busy() async throws {
        let origin = try ScriptedOrigin { _ in
            ScriptedAnswer(503, fields: ["Content-Length": "0", "Retry-After": "17"])
        }
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault()) { service in
            let answer = try #require(try await service.ask("GET", url))
            #expect(answer.head.status == 503)
            #expect(answer.head.fields["retry-after"] == "17")
        }
    }

    @Test("An unreachable origin without held bytes is 504 at once")
    func unreachable() async throws {
        let origin = try ScriptedOrigin(title)
        let url = origin.url()
        origin.stop()
        try await RunningService.run(over: try await TestVault()) { service in
            let answer = try #require(try await service.ask("GET", url))
            #expect(answer.head.status == 504)
            #expect(answer.head.fields["content-type"] == "application/problem+json")
        }
    }

    @Test("An origin without range support is answered whole until everything is held")
    func withoutRanges() async throws {
        var resource = title
        resource.supportsRanges = false
        let media = resource.media
        let origin = try ScriptedOrigin(resource)
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault()) { service in
            let first = try #require(try await service.ask("GET", url, ["Range": "bytes=1000-"]))
            #expect(first.head.status == 200)
            #expect(first.head.fields["accept-ranges"] == "none")
            #expect(first.body.count == 300_000 && media.matches(first.body, at: 0))
            let second = try #require(try await service.ask("GET", url, ["Range": "bytes=1000-"]))
            #expect(second.head.status == 206)
            #expect(second.head.fields["accept-ranges"] == "bytes")
            #expect(media.matches(second.body, at: 1000))
        }
    }

    @Test("A body of unknown length is sent in chunks; a HEAD answer for it ends with its head")
    func unknownLength() async throws {
        let origin = try ScriptedOrigin { [title] request in
            var answer = title.answer(to: request)
            answer.status = 200
            answer.set("Content-Range", nil)
            answer.set("Accept-Ranges", nil)
            answer.body = [.media(title.media, 0..<100_000)]
            if request.method == "HEAD" { answer.set("Content-Length", nil) } else { answer.sendInChunks() }
            if request.method == "HEAD" {
                answer.body = []
                answer.closes = true
            }
            return answer
        }
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault()) { service in
            let client = try service.client()
            await client.request("HEAD", service.target(url), host: service.host)
            let head = try #require(await client.readHead())
            #expect(head.status == 200 && head.fields["content-length"] == nil)
            #expect(await client.readToEnd() == [])

            let other = try service.client()
            await other.request("GET", service.target(url), host: service.host, fields: ["Range": "bytes=5-"])
            let whole = try #require(await other.readHead())
            #expect(whole.status == 200)
            #expect(whole.fields["transfer-encoding"] == "chunked")
        }
    }
}
