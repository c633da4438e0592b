import OriginTestSupport
import Testing
import VaultModel

@Suite("Range answers over HTTP", .timeLimit(.minutes(5)))
struct RangeAnswerTests {
    private let film = ScriptedResource(seed: 7, length: 300_000, lastModified: "Sat, 21 Nov 2026 12:00:00 GMT")

    private func service<Value: Sendable>(
        _ resource: ScriptedResource, _ body: @escaping @Sendable (RunningService, MediaURL) async throws -> Value
    ) async throws -> Value {
        let origin = try ScriptedOrigin(resource)
        defer { origin.stop() }
        let url = origin.url("/media//film%2F1;a.mp4?token=x")
        return try await RunningService.run(over: try await TestVault()) { try await body($0, url) }
    }

    @Test(
        "Ranges are answered with exactly the bytes asked for (H6, H7, X1–X3)",
        arguments: [
            ("bytes=0-", 0..<300_000), ("bytes=0-0", 0..<1), ("bytes=0-100", 0..<101),
            ("bytes=65535-65536", 65535..<65537),
            ("bytes=299999-", 299_999..<300_000), ("bytes=-500", 299_500..<300_000),
            ("bytes=-99999999999", 0..<300_000),
            ("bytes=100000-99999999999999999999", 100_000..<300_000), ("Bytes=5-9", 5..<10),
        ] as [(String, ByteRange)])
    func ranges(field: String, range: ByteRange) async throws {
        try await service(film) { [film] service, url in
            let (head, body) = try #require(try await service.ask("GET", url, ["Range": field]))
            #expect(head.status == 206)
            #expect(head.fields["content-range"] == "bytes \(range.httpBytes)/300000")
            #expect(head.fields["content-length"] == String(range.length))
            #expect(head.fields["transfer-encoding"] == nil)
            #expect(Int64(body.count) == range.length)
            #expect(film.media.matches(body, at: range.lowerBound))
        }
    }

    @Test(
        "Fields that are no single range are answered whole",
        arguments: [
            "items=0-9", "bytes = 0-9", "", "bytes=0-0,2-2", "bytes=0-99,50-149", "bytes=0-,0-,0-,0-",
        ])
    func whole(field: String) async throws {
        try await service(film) { [film] service, url in
            let (head, body) = try #require(try await service.ask("GET", url, ["Range": field]))
            #expect(head.status == 200)
            #expect(head.fields["content-range"] == nil)
            #expect(body.count == 300_000 && film.media.matches(body, at: 0))
        }
    }

    @Test(
        "A range past the end, or one that is none, is 416 with the length (players.md 4)",
        arguments: [
            "bytes=300000-", "bytes=-0", "bytes=5-2", "bytes=abc", "bytes=18446744073709551615-", "bytes=+0-9",
        ])
    func unsatisfiable(field: String) async throws {
        try await service(film) { service, url in
            let (head, _) = try #require(try await service.ask("GET", url, ["Range": field]))
            #expect(head.status == 416)
            #expect(head.fields["content-range"] == "bytes */300000")
        }
    }

    @Test("Two Range lines are answered whole, on a connection that goes on")
    func twoLines() async throws {
        try await service(film) { service, url in
            let client = try service.client()
            let fields: KeyValuePairs = ["Range": "bytes=0-1", "range": "bytes=3-4"]
            let first = try #require(await client.ask("GET", service.target(url), host: service.host, fields: fields))
            #expect(first.head.status == 200)
            let second = try #require(
                await client.ask("GET", service.target(url), host: service.host, fields: ["Range": "bytes=0-1"]))
            #expect(second.head.status == 206)
        }
    }

    @Test("HEAD is answered 200 with the whole length and no body, with a range too")
    func head() async throws {
        try await service(film) { service, url in
            let client = try service.client()
            for fields in [[:], ["Range": "bytes=0-9"], ["Range": "bytes=9-2"]] as [KeyValuePairs<String, String>] {
                let (head, _) = try #require(
                    await client.ask("HEAD", service.target(url), host: service.host, fields: fields))
                #expect(head.status == 200)
                #expect(head.fields["content-length"] == "300000")
                #expect(head.fields["accept-ranges"] == "bytes")
                #expect(head.fields["content-range"] == nil)
            }
            // Had a body followed, this answer would not begin where the client looks for it.
            let (head, body) = try #require(
                await client.ask("GET", service.target(url), host: service.host, fields: ["Range": "bytes=1-2"]))
            #expect(head.status == 206 && body.count == 2)
        }
    }

    @Test("GET and HEAD give the same strong tag, held or not, and If-Range honours only that (players.md 6)")
    func entityTag() async throws {
        try await service(film) { service, url in
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

    @Test("A media answer carries the fields that keep it out of caches and other pages")
    func fields() async throws {
        try await service(film) { service, url in
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
        }
    }

    @Test("What an origin puts into its fields cannot end a field of ours")
    func splitting() async throws {
        let origin = try ScriptedOrigin { [film] request in
            var answer = film.answer(to: request)
            answer.set("Content-Type", "video/mp4\u{B}\u{1}x\rSet-Cookie: a=b")
            return answer
        }
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault()) { service in
            let answer = try await service.ask("GET", url, ["Range": "bytes=0-9"])
            #expect(answer?.head.fields["set-cookie"] == nil)
        }
    }

    @Test("An empty resource has a whole and no range")
    func empty() async throws {
        try await service(ScriptedResource(length: 0)) { service, url in
            let whole = try #require(try await service.ask("GET", url))
            #expect(whole.head.status == 200 && whole.head.fields["content-length"] == "0")
            let range = try #require(try await service.ask("GET", url, ["Range": "bytes=0-0"]))
            #expect(range.head.status == 416 && range.head.fields["content-range"] == "bytes */0")
        }
    }
}
