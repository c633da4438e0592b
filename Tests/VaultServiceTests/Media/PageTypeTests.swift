import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@Suite("Media types that an origin sends", .serialized, .timeLimit(.minutes(5)))
struct PageTypeTests {
    private func head(_ types: [String], _ path: String = "/a/film") async throws -> RawHead {
        let origin = try ScriptedOrigin { request in
            var answer = ScriptedResource(length: 1000).answer(to: request)
            answer.set("Content-Type", nil)
            for type in types { answer.fields.append(("Content-Type", type)) }
            return answer
        }
        defer { origin.stop() }
        let url = origin.url(path)
        return try await RunningService.run(over: try await TestVault()) { service in
            // A fetched answer, a cache hit, and HEAD.
            let fetched = try #require(try await service.ask("GET", url)).head
            let held = try #require(try await service.ask("GET", url, ["Range": "bytes=0-9"])).head
            let told = try #require(try await service.ask("HEAD", url)).head
            for head in [held, told] {
                #expect(head.fields["content-type"] == fetched.fields["content-type"])
                #expect(head.fields["content-security-policy"] == fetched.fields["content-security-policy"])
            }
            return fetched
        }
    }

    @Test(
        "A content type that is not exactly one media type is dropped, and the answer is sandboxed",
        arguments: [
            ["audio/mpeg, text/html"], ["audio/mpeg", "text/html"], ["audio/mpeg,"],
            ["audio/mpeg; a='; b=\"', text/html; c=x\""],
            ["audio/mpeg; a"], ["audio"], ["video/mp4 text/html"], ["video/mp4; x=\"y"], ["vidéo/mp4"],
        ])
    func several(types: [String]) async throws {
        let head = try await head(types)
        #expect(head.fields["content-type"] == "application/octet-stream")
        #expect(head.fields["content-security-policy"] == "sandbox")
    }

    @Test(
        "One media type is passed on unchanged; unless it is known audio, video or image, it is sandboxed",
        arguments: [
            ("video/mp4; codecs=\"avc1.42E01E, mp4a.40.2\"", false), ("audio/mpeg", false), ("image/png", false),
            ("Video/WebM ;a=b; ;", false), ("text/html", true), ("image/svg+xml", true), ("audio/x-page", true),
            ("application/xml; charset=utf-8", true), ("text/vtt", true),
        ])
    func one(type: String, isShutIn: Bool) async throws {
        let head = try await head([type])
        #expect(head.fields["content-type"] == type)
        #expect(head.fields["content-security-policy"] == (isShutIn ? "sandbox" : nil))
    }
}
