import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Web pages", .timeLimit(.minutes(5)))
struct PageTests {
    private static let kiosk = "https://kiosk.example"

    private func service(
        allowing origins: [String] = [], _ body: @escaping @Sendable (RunningService, MediaURL) async throws -> Void
    ) async throws {
        let origin = try ScriptedOrigin(ScriptedResource(length: 1000))
        defer { origin.stop() }
        let url = origin.url("/a/film.mp4")
        var configuration = ServiceConfiguration()
        configuration.allowedOrigins = origins
        try await RunningService.run(over: try await TestVault(), configuration: configuration) {
            try await body($0, url)
        }
        // A refused request never reaches the origin; one request of each test is answered.
        #expect(origin.exchanges.count { $0.request.method == "GET" } == 1)
    }

    @Test("A page of another site gets 403 from media, health and API, even with a valid capability and token")
    func foreign() async throws {
        try await service { service, url in
            let token = "Bearer \(service.token)"
            for fields in [
                ["Origin": "http://evil.test", "Authorization": token], ["Origin": "null", "Authorization": token],
                ["Sec-Fetch-Site": "cross-site", "Authorization": token],
                ["Sec-Fetch-Site": "same-site", "Authorization": token],
                ["Origin": Self.kiosk, "Authorization": token],
            ] as [KeyValuePairs<String, String>] {
                for target in [service.target(url), "/healthz", "/api/v1/status", "/nothing"] {
                    for method in ["GET", "HEAD", "POST", "OPTIONS"] {
                        let answer = try #require(
                            await service.client().ask(method, target, host: service.host, fields: fields))
                        #expect(answer.head.status == 403, "\(method) \(target.prefix(20)) \(fields)")
                        #expect(answer.head.fields["access-control-allow-origin"] == nil)
                        #expect(answer.head.fields["cross-origin-resource-policy"] == "same-origin")
                    }
                }
            }
            let answer = try await service.ask("GET", url, ["Sec-Fetch-Site": "none"])
            #expect(answer?.head.status == 200)
        }
    }

    @Test("Media is refused to what runs in a page, and not to what plays or fetches it")
    func running() async throws {
        try await service { service, url in
            for destination in ["script", "style", "worker", "serviceworker", "sharedworker"] {
                let answer = try await service.ask(
                    "GET", url, ["Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": destination])
                #expect(answer?.head.status == 403, "\(destination)")
            }
            for destination in ["video", "empty"] {
                let answer = try await service.ask(
                    "HEAD", url, ["Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": destination])
                #expect(answer?.head.status == 200, "\(destination)")
            }
            _ = try await service.ask("GET", url)
        }
    }

    @Test("A page of an allowed origin sends a preflight, plays ranges, and can read Content-Range")
    func allowed() async throws {
        try await service(allowing: [Self.kiosk]) { service, url in
            let client = try service.client()
            await client.request(
                "OPTIONS", service.target(url), host: service.host,
                fields: [
                    "Origin": Self.kiosk, "Access-Control-Request-Method": "GET",
                    "Access-Control-Request-Headers": "range", "Access-Control-Request-Private-Network": "true",
                ])
            let asked = try #require(await client.readHead())
            #expect(asked.status == 204 && service.answersGiven == 1)
            #expect(asked.fields["access-control-allow-origin"] == Self.kiosk)
            #expect(asked.fields["access-control-allow-methods"] == "GET, HEAD")
            #expect(asked.fields["access-control-allow-headers"]?.contains("Range") == true)
            #expect(asked.fields["access-control-allow-private-network"] == "true")
            let answer = try #require(
                await client.ask(
                    "GET", service.target(url), host: service.host,
                    fields: ["Origin": Self.kiosk, "Range": "bytes=0-99", "Sec-Fetch-Site": "cross-site"]))
            #expect(answer.head.status == 206 && answer.body.count == 100)
            #expect(answer.head.fields["access-control-allow-origin"] == Self.kiosk)
            #expect(answer.head.fields["access-control-expose-headers"]?.contains("Content-Range") == true)
            #expect(answer.head.fields["cross-origin-resource-policy"] == "cross-origin")
            #expect(answer.head.fields["vary"]?.contains("Origin") == true)
        }
    }

    @Test("Without Origin a page is identified by its Referer; without either a video element is refused")
    func videoElement() async throws {
        try await service(allowing: [Self.kiosk]) { service, url in
            let held = try await service.ask(
                "GET", url, ["Sec-Fetch-Site": "cross-site", "Referer": Self.kiosk + "/"])
            #expect(held?.head.status == 200)
            #expect(held?.head.fields["cross-origin-resource-policy"] == "cross-origin")
            for referer in ["", "https://evil.test/", "https://kiosk.example.evil.test/"] {
                let answer = try await service.ask("GET", url, ["Sec-Fetch-Site": "cross-site", "Referer": referer])
                #expect(answer?.head.status == 403)
            }
        }
    }

    @Test("A page that may play may not administer")
    func notTheAPI() async throws {
        try await service(allowing: [Self.kiosk]) { service, url in
            let fields: KeyValuePairs = [
                "Origin": Self.kiosk, "Authorization": "Bearer \(service.token)",
            ]
            for (method, path) in [("GET", "status"), ("POST", "modes"), ("OPTIONS", "modes"), ("GET", "nothing")] {
                let answer = try #require(
                    await service.client().ask(method, "/api/v1/\(path)", host: service.host, fields: fields))
                #expect(answer.head.status == 403, "\(path)")
            }
            for path in ["/metrics", "/readyz"] {
                let answer = try #require(
                    await service.client().ask("GET", path, host: service.host, fields: fields), "\(path)")
                #expect(answer.head.status == 403 && answer.head.fields["access-control-allow-origin"] == nil)
            }
            _ = try await service.ask("GET", url)
        }
    }

    @Test("A change by the API requires a JSON content type, so that a form changes nothing")
    func forms() async throws {
        try await service { service, url in
            let token = "Bearer \(service.token)"
            _ = try await service.ask("GET", url)
            let body = #"{"url":"\#(url.absoluteString)","mode":"offline"}"#
            func setMode(_ type: String?) async throws -> Int? {
                let fields: KeyValuePairs<String, String> =
                    type.map { ["Authorization": token, "Content-Type": $0] } ?? ["Authorization": token]
                return try await service.client().ask(
                    "POST", "/api/v1/modes", host: service.host, fields: fields, body: body)?.head.status
            }
            for type in [nil, "text/plain", "application/x-www-form-urlencoded", "application/jsonx"] {
                #expect(try await setMode(type) == 415, "\(type ?? "none")")
            }
            // A body without a length counts as well.
            let chunked = try service.client()
            await chunked.send(
                "POST /api/v1/modes HTTP/1.1\r\nHost: \(service.host)\r\nAuthorization: \(token)\r\n"
                    + "Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n")
            #expect(await chunked.readHead()?.status == 415)
            #expect(try await service.vault.titles.summary(of: url)?.mode == nil)
            #expect(try await setMode("Application/JSON; charset=utf-8") == 200)
            #expect(try await service.vault.titles.summary(of: url)?.mode == .offline)
        }
    }
}
