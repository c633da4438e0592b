import Foundation
import OriginTestSupport
import Testing
import VaultModel

/// The inputs of the article *Hostile inputs* that are sent as requests.
///
/// Inputs 1 and 2 are rows of ``RangeTableTests``, input 3 is in ``RangeAnswerTests``.
@Suite("Hostile requests", .timeLimit(.minutes(5)))
struct HostileRequestTests {
    private func service(_ body: @escaping @Sendable (RunningService, MediaURL) async throws -> Void) async throws {
        // The origin answers every target, so a 404 comes from the service.
        let origin = try ScriptedOrigin(ScriptedResource(length: 1000))
        defer { origin.stop() }
        let url = origin.url("/a/film.mp4")
        try await RunningService.run(over: try await TestVault()) { service in
            try await body(service, url)
            // The service still answers after the hostile requests.
            let answer = try #require(await service.client().ask("GET", "/healthz", host: service.host))
            #expect(answer.head.status == 200)
        }
        // No target outside the folder was requested.
        let targets = origin.exchanges.map(\.request.target)
        #expect(targets.allSatisfy { $0.hasPrefix("/a/") && !$0.contains("..") && !$0.contains("\\") }, "\(targets)")
    }

    @Test(
        "Unsupported methods are 405 with Allow, unknown ones 501, and the connection stays open",
        arguments: ["OPTIONS", "TRACE", "PUT", "DELETE", "PATCH", "PROPFIND", "LOCK", "M-SEARCH", "Get"])
    func methods(method: String) async throws {
        try await service { service, url in
            let client = try service.client()
            await client.request(method, service.target(url), host: service.host)
            let head = try #require(await client.readHead())
            guard method != "Get" else {
                #expect(head.status == 400)
                return
            }
            let isKnown = !["PROPFIND", "LOCK", "M-SEARCH"].contains(method)
            #expect(head.status == (isKnown ? 405 : 501) && head.fields["allow"] == (isKnown ? "GET, HEAD" : nil))
            _ = await client.read(head.fields["content-length"].flatMap { Int($0) } ?? 0)
            #expect(await client.ask("GET", "/healthz", host: service.host)?.head.status == 200)
        }
    }

    @Test("TRACE returns nothing, CONNECT opens no tunnel, OPTIONS * is refused")
    func connectionMethods() async throws {
        try await service { service, _ in
            for line in ["TRACE / HTTP/1.1", "OPTIONS * HTTP/1.1", "CONNECT \(service.host) HTTP/1.1"] {
                let client = try service.client()
                await client.send("\(line)\r\nHost: \(service.host)\r\nX-Secret: canary\r\nConnection: close\r\n\r\n")
                let head = try #require(await client.readHead())
                #expect([400, 405].contains(head.status), "\(line)")
                #expect(!String(decoding: await client.readToEnd(), as: UTF8.self).contains("canary"), "\(line)")
            }
        }
    }

    @Test("An unwanted body is read and discarded, and does not become the next request")
    func bodies() async throws {
        try await service { service, url in
            let client = try service.client()
            let hidden = "GET /healthz HTTP/1.1\r\nHost: \(service.host)\r\n\r\n"
            for method in ["POST", "GET"] {
                let answer = try #require(
                    await client.ask(method, service.target(url), host: service.host, body: hidden))
                #expect(answer.head.status == (method == "GET" ? 200 : 405))
                #expect(answer.head.fields["content-type"] != "text/plain; charset=utf-8")
            }
            let next = try #require(
                await client.ask("GET", service.target(url), host: service.host, fields: ["Range": "bytes=0-9"]))
            #expect(next.head.status == 206 && next.body.count == 10)
        }
    }

    @Test(
        "An invalid HTTP/1.1 request is 400, and the connection is closed",
        arguments: [
            "get /healthz HTTP/1.1\r\nHost: h\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n",
            "POST /healthz HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST /healthz HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "POST /healthz HTTP/1.1\r\nHost: h\r\nContent-Length: 1, 2\r\n\r\nab",
            "POST /healthz HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
            "POST /healthz HTTP/1.1\r\nHost: h\r\nContent-Length: +1\r\n\r\na",
            "GET /healthz HTTP/1.1\nHost: h\n\n", "GET /healthz HTTP/1.1\r\nHost: h\r\nX: \u{0}\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nHost: h\r\nX : a\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n",
            "GET /\u{E9} HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /healthz HTTP/1.1\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", "\u{1}\u{2}\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\u{0}",
        ])
    func malformed(request: String) async throws {
        try await service { service, _ in
            let client = try service.client()
            await client.send(request.replacing("Host: h", with: "Host: \(service.host)"))
            let head = try #require(await client.readHead())
            #expect(head.status == 400)
            await client.send("GET /healthz HTTP/1.1\r\nHost: \(service.host)\r\n\r\n")
            #expect(await client.readToEnd().count == Int(head.fields["content-length"] ?? "0"))
        }
    }

    @Test("Invalid chunks are 400 and close the connection")
    func chunks() async throws {
        try await service { service, _ in
            let client = try service.client()
            await client.send(
                "POST /healthz HTTP/1.1\r\nHost: \(service.host)\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n")
            let head = try #require(await client.readHead())
            #expect(head.status == 400)
            #expect(await client.readToEnd().count == Int(head.fields["content-length"] ?? ""))
        }
    }

    @Test("Paths that leave their folder, or are invalid, find nothing and send no request to the origin")
    func paths() async throws {
        try await service { service, url in
            let folder = String(service.target(url).dropLast("film.mp4".count))
            let targets = [
                "/../../etc/passwd", "/media/../../etc/passwd", "//etc/passwd", "//\(service.host)/healthz",
                folder + "../../etc/passwd", folder + "%2e%2e/x", folder + "%2e%2e%2fx", folder + "..%2fx",
                folder + ".%2e/film.mp4", folder + "..%5cx", folder + "..\\x", folder + "%00",
                folder + "film.mp4%00.txt", folder + "..%00", folder + "..%00/x", folder + "%252e%252e/x",
                folder + "%252e%252e%252fx", folder + "%25252525252e/x", folder + "..%20/x", folder + "..%09",
                folder + "%c0%ae%c0%ae/x", folder + "..%c0%afx",
                folder + String(repeating: "a", count: 64_000), "/media/" + String(repeating: "../", count: 1000),
            ]
            for target in targets {
                let client = try service.client()
                let answer = try #require(await client.ask("GET", target, host: service.host), "\(target.prefix(80))")
                #expect([400, 404].contains(answer.head.status), "\(answer.head.status) \(target.suffix(80))")
            }
            // Unusual but valid names are passed to the origin unchanged.
            for name in ["%ff%fe", "%", "%2", "%zz", "100%25.mp4", "film%20end.mp4", "a%2Fb"] {
                let answer = try #require(await service.client().ask("GET", folder + name, host: service.host))
                #expect(answer.head.status == 200, "\(name)")
            }
        }
    }

    @Test("An origin's field values cannot end a field of the service")
    func splitting() async throws {
        let hostile = "a\rSet-Cookie: x=y\u{B}"
        let origin = try ScriptedOrigin { request in
            var answer = ScriptedResource(length: 1000, entityTag: "\"\(hostile)\"", lastModified: hostile)
                .answer(to: request)
            answer.set("Content-Type", "video/mp4\r" + hostile)
            answer.set("X-Origin", "canary")
            return answer
        }
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault()) { service in
            for (method, field, status) in [
                ("GET", "bytes=0-9", 206), ("HEAD", "", 200), ("GET", "bytes=0-0,2-2", 206), ("GET", "bytes=5-2", 416),
            ] {
                let client = try service.client()
                await client.request(method, service.target(url), host: service.host, fields: ["Range": field])
                let head = try #require(await client.readHead())
                #expect(head.status == status, "\(method) \(field)")
                #expect(head.fields["set-cookie"] == nil && head.fields["x-origin"] == nil)
                #expect(!head.fields.values.contains { $0.contains("Set-Cookie") || $0.contains("\u{B}") }, "\(head)")
            }
        }
    }
}
