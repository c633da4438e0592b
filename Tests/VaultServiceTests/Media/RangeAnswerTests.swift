import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@Suite("Range answers over HTTP", .timeLimit(.minutes(5)))
struct RangeAnswerTests {
    private let title = ScriptedResource(seed: 7, length: 300_000, lastModified: "Sat, 21 Nov 2026 12:00:00 GMT")

    private func service<Value: Sendable>(
        _ resource: ScriptedResource, _ body: @escaping @Sendable (RunningService, MediaURL) async throws -> Value
    ) async throws -> Value {
        let origin = try ScriptedOrigin(resource)
        defer { origin.stop() }
        let url = origin.url("/media//film%2F1;a.mp4?token=x")
        return try await RunningService.run(over: try await TestVault()) { try await body($0, url) }
    }

    @Test("Two Range lines are answered whole, and the connection stays open")
    func twoLines() async throws {
        try await service(title) { service, url in
            let client = try service.client()
            let fields: KeyValuePairs = ["Range": "bytes=0-1", "range": "bytes=3-4"]
            let first = try #require(await client.ask("GET", service.target(url), host: service.host, fields: fields))
            #expect(first.head.status == 200)
            let second = try #require(
                await client.ask("GET", service.target(url), host: service.host, fields: ["Range": "bytes=0-1"]))
            #expect(second.head.status == 206)
        }
    }

    @Test(
        "GET and HEAD give the same strong tag, held or not, and If-Range accepts only that"
    )
    func entityTag() async throws {
        try await service(title) { service, url in
            let first = try #require(try await service.ask("GET", url, ["Range": "bytes=0-9"]))
            let tag = try #require(first.head.fields["etag"])
            #expect(tag.hasPrefix("\""))
            let head = try #require(try await service.ask("HEAD", url))
            #expect(head.head.fields["etag"] == tag)
            for (condition, status) in [
                (tag, 206), ("W/" + tag, 200), ("\"other\"", 200), ("Sat, 21 Nov 2026 12:00:00 GMT", 200),
                ("garbage", 200),
            ] {
                let answer = try #require(
                    try await service.ask("GET", url, ["Range": "bytes=0-9", "If-Range": condition]))
                #expect(answer.head.status == status, "\(condition)")
                #expect(answer.head.fields["etag"] == tag)
            }
            for (condition, status) in [(tag, 416), ("\"other\"", 200)] {
                for range in ["bytes=300000-", "bytes=9-2"] {
                    let answer = try #require(
                        try await service.ask("GET", url, ["Range": range, "If-Range": condition]))
                    #expect(answer.head.status == status, "\(condition) \(range)")
                }
            }
        }
    }

    @Test("A media answer has the fields that keep it out of caches and other pages")
    func fields() async throws {
        try await service(title) { service, url in
            let (head, _) = try #require(try await service.ask("GET", url, ["Range": "bytes=0-9"]))
            for (name, value) in [
                ("content-type", "video/mp4"), ("accept-ranges", "bytes"), ("cache-control", "no-store"),
                ("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"),
                ("cross-origin-resource-policy", "same-origin"), ("last-modified", "Sat, 21 Nov 2026 12:00:00 GMT"),
                ("cache-status", "MediaVault; fwd=miss; stored"),
            ] {
                #expect(head.fields[name] == value, "\(name)")
            }
            let (again, _) = try #require(try await service.ask("GET", url, ["Range": "bytes=0-9"]))
            #expect(again.fields["cache-status"] == "MediaVault; hit")
            let (more, _) = try #require(try await service.ask("GET", url, ["Range": "bytes=0-99999"]))
            #expect(more.fields["cache-status"] == "MediaVault; fwd=partial; stored")
            let told = try #require(try await service.ask("HEAD", url)).head
            #expect(told.fields["cache-status"] == "MediaVault; hit", "all of its facts were known")
        }
    }

    @Test("An empty resource is answered whole")
    func empty() async throws {
        try await service(ScriptedResource(length: 0)) { service, url in
            let whole = try #require(try await service.ask("GET", url))
            #expect(whole.head.status == 200 && whole.head.fields["content-length"] == "0")
        }
    }

    @Test("Server-Timing states the time for opening and the time to the first byte")
    func timing() async throws {
        try await service(title) { service, url in
            let range = try #require(try await service.ask("GET", url, ["Range": "bytes=0-9"]))
            let value = try #require(range.head.fields["server-timing"])
            #expect(value.wholeMatch(of: #/open;dur=\d+\.\d{3}, first-byte;dur=\d+\.\d{3}/#) != nil, "\(value)")
            let head = try #require(try await service.ask("HEAD", url))
            let opening = try #require(head.head.fields["server-timing"])
            #expect(opening.wholeMatch(of: #/open;dur=\d+\.\d{3}/#) != nil, "\(opening)")
        }
    }

    @Test("What the look at the beginning has just brought is no hit", arguments: ["bytes=1000-1999", "bytes=1000-"])
    func looked(range: String) async throws {
        let origin = try ScriptedOrigin(ScriptedResource(seed: 8, length: 300_000, contentType: nil))
        defer { origin.stop() }
        let url = origin.url("/film")
        try await RunningService.run(over: try await TestVault()) { service in
            for status in ["MediaVault; fwd=miss; stored", "MediaVault; hit"] {
                let answer = try #require(try await service.ask("GET", url, ["Range": range]))
                #expect(answer.head.status == 206 && answer.head.fields["cache-status"] == status)
            }
        }
    }

    @Test("A probe of two bytes is answered with one request to the origin")
    func probe() async throws {
        let origin = try ScriptedOrigin(ScriptedResource(seed: 10, length: 300_000, contentType: nil))
        defer { origin.stop() }
        let url = origin.url("/film")
        try await RunningService.run(over: try await TestVault()) { service in
            let answer = try #require(try await service.ask("GET", url, ["Range": "bytes=0-1"]))
            #expect(answer.head.status == 206 && answer.body.count == 2)
            #expect(!ManifestContent.mayBeginText(answer.body), "premise")
        }
        #expect(origin.exchanges.filter { $0.request.method == "GET" }.map(\.request.range) == ["bytes=0-1"])
    }
}
