import OriginTestSupport
import Testing
import VaultModel

@Suite("Conditions over HTTP", .timeLimit(.minutes(5)))
struct ConditionAnswerTests {
    private static let date = "Sat, 21 Nov 2026 12:00:00 GMT"
    private let title = ScriptedResource(seed: 8, length: 100_000, lastModified: ConditionAnswerTests.date)

    private func service(
        _ script: (@Sendable (ScriptedRequest) -> ScriptedAnswer)? = nil,
        _ body: @escaping @Sendable (RunningService, MediaURL, ScriptedOrigin) async throws -> Void
    ) async throws {
        let title = title
        let origin = try ScriptedOrigin(script ?? { title.answer(to: $0) })
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault()) { try await body($0, url, origin) }
    }

    @Test("Conditions are evaluated in the order of RFC 9110 §13.2.2, for GET and HEAD alike")
    func table() async throws {
        try await service { [title] service, url, _ in
            let tag = try #require(try await service.ask("HEAD", url)?.head.fields["etag"])
            let (earlier, later) = ("Fri, 20 Nov 2026 12:00:00 GMT", "Sun, 22 Nov 2026 12:00:00 GMT")
            let client = try service.client()
            for (fields, status) in [
                (["If-Match": tag], 200), (["If-Match": "*"], 200), (["If-Match": "W/" + tag], 412),
                (["If-Match": "\"other\""], 412), (["If-Match": "\"other\", \(tag)"], 200),
                (["If-Match": "\"other\"", "if-match": tag], 200),
                (["If-None-Match": tag], 304), (["If-None-Match": "W/" + tag], 304), (["If-None-Match": "*"], 304),
                (["If-None-Match": "\"other\""], 200),
                (["If-Modified-Since": Self.date], 304), (["If-Modified-Since": later], 304),
                (["If-Modified-Since": earlier], 200), (["If-Modified-Since": "garbage"], 200),
                (["If-Unmodified-Since": Self.date], 200), (["If-Unmodified-Since": earlier], 412),
                (["If-None-Match": "\"other\"", "If-Modified-Since": later], 200),
                (["If-Match": tag, "If-Unmodified-Since": earlier], 200),
                (["If-Match": "\"other\"", "If-None-Match": tag], 412),
                (["If-Match": tag, "If-None-Match": tag], 304),
            ] as [(KeyValuePairs<String, String>, Int)] {
                for method in ["GET", "HEAD"] {
                    let answer = try #require(
                        await client.ask(method, service.target(url), host: service.host, fields: fields))
                    #expect(answer.head.status == status, "\(method) \(fields)")
                    switch status {
                    case 304:
                        // If a body followed, the client would misread the next answer.
                        #expect(answer.head.fields["etag"] == tag && answer.head.fields["content-length"] == nil)
                        #expect(answer.head.fields["cache-control"] == "no-store")
                        #expect(answer.head.fields["transfer-encoding"] == nil)
                    case 412: #expect(answer.head.fields["content-type"] == "application/problem+json")
                    default: #expect(method == "HEAD" || title.media.matches(answer.body, at: 0))
                    }
                }
            }
        }
    }

    @Test("A condition precedes a range: 304 or 412, even if the range alone would be 206 or 416")
    func ranges() async throws {
        try await service { service, url, _ in
            let tag = try #require(try await service.ask("HEAD", url)?.head.fields["etag"])
            for range in ["bytes=0-9", "bytes=0-0,5-5", "bytes=100000-", "bytes=9-2"] {
                for (fields, status) in [
                    (["Range": range, "If-None-Match": tag], 304), (["Range": range, "If-Match": "\"other\""], 412),
                    (["Range": range, "If-Match": tag, "If-Range": "\"other\""], 200),
                    (["Range": range, "If-Match": tag, "If-Range": tag], range.hasPrefix("bytes=0-") ? 206 : 416),
                ] as [(KeyValuePairs<String, String>, Int)] {
                    let answer = try #require(try await service.ask("GET", url, fields))
                    #expect(answer.head.status == status, "\(fields)")
                }
            }
        }
    }

    @Test("A condition is ignored if the answer without it would be an error (RFC 9110 §13.2.1)")
    func refused() async throws {
        let refusal = ScriptedAnswer(404, fields: ["Content-Length": "0"])
        try await service({ _ in refusal }) { service, url, _ in
            for fields in [["If-None-Match": "*"], ["If-Match": "\"x\""]] as [KeyValuePairs<String, String>] {
                let answer = try #require(try await service.ask("GET", url, fields))
                #expect(answer.head.status == 404)
            }
        }
    }

    @Test("For held bytes a condition is evaluated without a request to the origin")
    func held() async throws {
        try await service { service, url, origin in
            let whole = try #require(try await service.ask("GET", url))
            let asked = origin.exchanges.count
            let tag = try #require(whole.head.fields["etag"])
            for fields in [["If-None-Match": tag], ["If-Match": "\"x\""], ["If-Modified-Since": Self.date]]
                as [KeyValuePairs<String, String>]
            {
                let answer = try #require(try await service.ask("GET", url, fields))
                #expect([304, 412].contains(answer.head.status))
            }
            #expect(origin.exchanges.count == asked)
        }
    }

    @Test("If a resource changes between the evaluation and the answer, the condition is evaluated again")
    func changesMeanwhile() async throws {
        // They are far longer than the bytes that may arrive before the transfer for the first range ends.
        let length: Int64 = 64 << 20
        let old = ScriptedResource(seed: 8, length: length)
        let new = ScriptedResource(seed: 9, length: length, entityTag: "\"v2\"")
        let isArmed = Locked(false)
        let isNew = Locked(false)
        let script: @Sendable (ScriptedRequest) -> ScriptedAnswer = { request in
            // The revalidation finds no change; after it the resource changes.
            if request.method == "GET", isArmed.withLock({ $0 }) { isNew.withLock { $0 = true } }
            var answer = (isNew.withLock { $0 } ? new : old).answer(to: request)
            answer.set("Cache-Control", "max-age=0")
            return answer
        }
        try await service(script) { service, url, _ in
            let first = try #require(try await service.ask("GET", url, ["Range": "bytes=0-9"]))
            let tag = try #require(first.head.fields["etag"])
            isArmed.withLock { $0 = true }
            let answer = try #require(
                try await service.ask("GET", url, ["Range": "bytes=\(length - 10)-\(length - 1)", "If-Match": tag]))
            #expect(isNew.withLock { $0 }, "the resource changed during the request")
            #expect(answer.head.status == 412)
        }
    }

    @Test("Without a valid date a resource has no date to compare, and sends none")
    func undated() async throws {
        for said in [nil, "yesterday"] as [String?] {
            let title = ScriptedResource(seed: 8, length: 1000, lastModified: said)
            try await service({ title.answer(to: $0) }) { service, url, _ in
                let answer = try #require(
                    try await service.ask("GET", url, ["If-Modified-Since": "Sat, 01 Jan 2050 00:00:00 GMT"]))
                #expect(answer.head.status == 200 && answer.head.fields["last-modified"] == nil)
            }
        }
    }
}
