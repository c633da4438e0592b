import OriginTestSupport
import Testing
import VaultModel

@Suite("Connection options", .timeLimit(.minutes(5)))
struct ConnectionOptionsTests {
    private let title = ScriptedResource(seed: 51, length: 200_000)

    private func service(
        _ origin: ScriptedOrigin, _ body: @escaping @Sendable (RunningService, MediaURL) async throws -> Void
    ) async throws {
        let url = origin.url()
        try await RunningService.run(over: try await TestVault()) { try await body($0, url) }
    }

    @Test(
        "If a client asks to close the connection, the answer confirms it and the connection closes (RFC 9112 §9.6)",
        arguments: ["close", "Close", "CLOSE", "TE, close", "keep-alive, Close"])
    func close(option: String) async throws {
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        try await service(origin) { [title] service, url in
            let client = try service.client()
            let fields: KeyValuePairs = ["Range": "bytes=5-99", "Connection": option]
            let answer = try #require(await client.ask("GET", service.target(url), host: service.host, fields: fields))
            #expect(answer.head.status == 206 && answer.head.fields["connection"] == "close")
            #expect(title.media.matches(answer.body, at: 5))
            #expect(await client.readToEnd() == [])
        }
    }

    @Test("If a client does not ask to close, the connection stays open and the answer does not mention it")
    func keep() async throws {
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        try await service(origin) { service, url in
            let client = try service.client()
            for _ in 0..<3 {
                let fields: KeyValuePairs = ["Range": "bytes=5-99", "Connection": "keep-alive"]
                let answer = try #require(
                    await client.ask("GET", service.target(url), host: service.host, fields: fields))
                #expect(answer.head.status == 206 && answer.head.fields["connection"] == nil)
            }
        }
    }

    @Test("Two pipelined requests are answered in order, and only the second closes the connection")
    func pipelined() async throws {
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        try await service(origin) { [title] service, url in
            let client = try service.client()
            let target = service.target(url)
            await client.send(
                "GET \(target) HTTP/1.1\r\nHost: \(service.host)\r\nRange: bytes=0-9\r\n\r\n"
                    + "GET \(target) HTTP/1.1\r\nHost: \(service.host)\r\nRange: bytes=20-29\r\nConnection: Close\r\n\r\n"
            )
            for (start, connection) in [(0, nil), (20, "close")] as [(Int64, String?)] {
                #expect(await client.readHead()?.fields["connection"] == connection)
                #expect(title.media.matches(await client.read(10), at: start))
            }
            #expect(await client.readToEnd() == [])
        }
    }

    @Test("HTTP/1.0 is answered and closed; a body of unknown length ends with the connection, without chunks")
    func old() async throws {
        let origin = try ScriptedOrigin { [title] request in
            var answer = title.answer(to: request)
            if request.target == "/endless" {
                answer.status = 200
                answer.set("Content-Range", nil)
                answer.body = [.media(title.media, 0..<200_000)]
                answer.sendInChunks()
            }
            return answer
        }
        defer { origin.stop() }
        let endless = origin.url("/endless")
        try await service(origin) { [title] service, url in
            for (url, length) in [(url, "200000"), (endless, nil)] {
                let client = try service.client()
                await client.send("GET \(service.target(url)) HTTP/1.0\r\nHost: \(service.host)\r\n\r\n")
                let head = try #require(await client.readHead())
                #expect(head.status == 200 && head.fields["connection"] == "close")
                #expect(head.fields["transfer-encoding"] == nil && head.fields["content-length"] == length)
                let body = await client.readToEnd()
                #expect(body.count == 200_000 && title.media.matches(body, at: 0))
            }
        }
    }

    @Test("A client that expects 100 Continue before it sends a body gets it (RFC 9110 §10.1.1)")
    func expectation() async throws {
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        try await service(origin) { service, url in
            let client = try service.client()
            await client.send(
                "POST \(service.target(url)) HTTP/1.1\r\nHost: \(service.host)\r\nContent-Length: 2\r\n"
                    + "Expect: 100-continue\r\n\r\n")
            #expect(await client.readHead()?.status == 100)
            await client.send("{}")
            let head = try #require(await client.readHead())
            #expect(head.status == 405)
            _ = await client.read(head.fields["content-length"].flatMap { Int($0) } ?? 0)
            #expect(await client.ask("GET", "/healthz", host: service.host)?.head.status == 200)
        }
    }

    @Test(
        "What a client goes on sending after the answer is read up to a bound, then the connection is closed",
        arguments: [
            "GET /healthz", "GET /", "GET /nothing", "GET /api/v1/status", "POST /api/v1/subscriptions",
            "POST /api/v1/imports", "BREW /healthz", "HEAD TARGET", "admin POST /api/v1/subscriptions",
            "admin GET /api/v1/status", "Host: elsewhere", "Transfer-Encoding: chunked, chunked",
        ])
    func endlessBody(request: String) async throws {
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        try await service(origin) { service, url in
            let client = try service.client()
            let line = request.replacing("admin ", with: "").replacing("TARGET", with: service.target(url))
            let isLine = !request.contains(": ")
            let field = isLine ? "" : request + "\r\n"
            let token = request.hasPrefix("admin") ? "Authorization: Bearer \(service.token)\r\n" : ""
            let host = request.hasPrefix("Host") ? "" : "Host: \(service.host)\r\n"
            let coding = request.hasPrefix("Transfer") ? "" : "Transfer-Encoding: chunked\r\n"
            await client.send(
                "\(isLine ? line : "GET /healthz") HTTP/1.1\r\n\(host)\(field)\(token)\(coding)"
                    + "Content-Type: application/json\r\n\r\n")
            let chunk = "10000\r\n" + String(repeating: " ", count: 65536) + "\r\n"
            var isOpen = true
            // Far more than a body may have, and more than the system buffers.
            for _ in 0..<1024 where isOpen { isOpen = await client.send(chunk) }
            #expect(!isOpen)
        }
    }

    @Test("A body that comes after the answer to the request before its own is read, not dropped")
    func bodyAfterAnotherAnswer() async throws {
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        try await service(origin) { service, _ in
            let client = try service.client()
            await client.send(
                "GET /healthz HTTP/1.1\r\nHost: \(service.host)\r\n\r\n"
                    + "POST /api/v1/syncs HTTP/1.1\r\nHost: \(service.host)\r\nContent-Type: application/json\r\n"
                    + "Authorization: Bearer \(service.token)\r\nTransfer-Encoding: chunked\r\n\r\n")
            let first = try #require(await client.readHead())
            #expect(first.status == 200)
            _ = await client.read(Int(first.fields["content-length"] ?? "") ?? 0)
            let chunk = "10000\r\n" + String(repeating: " ", count: 65536) + "\r\n"
            for _ in 0..<48 { #expect(await client.send(chunk)) }
            await client.send("2\r\n{}\r\n0\r\n\r\n")
            #expect(try #require(await client.readHead()).status == 400, "the order names no source")
        }
    }

    @Test("A client that sends less than the bound too much reads its answer, and may go on")
    func shortRest() async throws {
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        try await service(origin) { service, _ in
            let client = try service.client()
            for _ in 0..<5 {
                let body = String(repeating: " ", count: 500_000)
                let answer = try #require(await client.ask("GET", "/healthz", host: service.host, body: body))
                #expect(answer.head.status == 200)
            }
        }
    }
}
