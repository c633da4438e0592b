import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Ambiguous requests and other HTTP versions", .serialized, .timeLimit(.minutes(5)))
struct RequestReadingTests {
    private let title = ScriptedResource(seed: 61, length: 1000)

    /// Runs a service that holds the title, so that cache hits are tested, too.
    private func service(
        hasControl: Bool = false, _ body: @escaping @Sendable (RunningService, MediaURL) async throws -> Void
    ) async throws {
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        let url = origin.url("/a/film.mp4")
        try await RunningService.run(over: try await TestVault(), hasControl: hasControl) { service in
            for try await _ in service.vault.download(url) {}
            #expect(try await service.ask("GET", url, ["Range": "bytes=0-9"])?.head.status == 206)
            try await body(service, url)
        }
    }

    /// Sends a request on its own connection and returns its only answer, after which the connection must end.
    private func onlyAnswer(
        _ service: RunningService, _ url: MediaURL, _ text: String
    ) async throws -> (head: RawHead, body: [UInt8]) {
        let client = try service.client()
        await client.send(
            text.replacing("TARGET", with: service.target(url)).replacing("HOST", with: service.host))
        let head = try #require(await client.readHead(), "\(text)")
        let body = await client.read(Int(head.fields["content-length"] ?? "") ?? 0)
        #expect(await client.readToEnd() == [], "\(text): another answer follows")
        return (head, body)
    }

    @Test(
        "The last transfer coding must be chunked, and the only one; the request gets no other answer",
        arguments: [
            ("gzip", 400), ("chunked, gzip", 400), ("identity", 400), ("", 400), (",", 400), ("chunked, chunked", 400),
            ("gzip, chunked", 501), ("Gzip , Chunked", 501), ("x, y, chunked", 501),
        ])
    func codings(field: String, status: Int) async throws {
        try await service { service, url in
            for method in ["GET", "POST"] {
                let request =
                    "\(method) TARGET HTTP/1.1\r\nHost: HOST\r\nRange: bytes=0-9\r\nTransfer-Encoding: \(field)\r\n\r\n"
                let answer = try await onlyAnswer(service, url, request + "0\r\n\r\n")
                #expect(answer.head.status == status, "\(method)")
                #expect(answer.head.fields["connection"] == "close")
                // The parser itself refuses some fields, before the service sees a head.
                let isJudgedHere = !field.hasPrefix("chunked, ")
                #expect(!isJudgedHere || answer.head.fields["content-type"] == "application/problem+json")
            }
        }
    }

    @Test("Chunks that are read cause no second answer", arguments: ["GET", "POST"])
    func chunked(method: String) async throws {
        try await service { service, url in
            let client = try service.client()
            for coding in ["chunked", "Chunked"] {
                await client.send(
                    "\(method) \(service.target(url)) HTTP/1.1\r\nHost: \(service.host)\r\nRange: bytes=0-9\r\n"
                        + "Transfer-Encoding: \(coding)\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
                let head = try #require(await client.readHead())
                #expect(head.status == (method == "GET" ? 206 : 405))
                _ = await client.read(Int(head.fields["content-length"] ?? "") ?? 0)
            }
        }
    }

    @Test(
        "An invalid first chunk is 400, whatever the answer would have been, and the connection closes",
        arguments: ["GET", "POST"])
    func firstChunk(method: String) async throws {
        try await service { service, url in
            let request =
                "\(method) TARGET HTTP/1.1\r\nHost: HOST\r\nRange: bytes=0-9\r\nTransfer-Encoding: chunked\r\n\r\n"
            for chunk in ["xyz\r\n", "-1\r\n\r\n", "0x1\r\na\r\n", "ffffffffffffffffff\r\n"] {
                let answer = try await onlyAnswer(service, url, request + chunk)
                #expect(answer.head.status == 400 && answer.head.fields["connection"] == "close", "\(chunk)")
            }
        }
    }

    @Test("After an invalid later chunk the request gets only the answer that it had or was due")
    func laterChunk() async throws {
        try await service { service, url in
            let request = "GET TARGET HTTP/1.1\r\nHost: HOST\r\nRange: bytes=0-9\r\nTransfer-Encoding: chunked\r\n\r\n"
            let answer = try await onlyAnswer(service, url, request + "3\r\nabc\r\nxyz\r\n")
            #expect(answer.head.status == 206 && title.media.matches(answer.body, at: 0))
        }
    }

    @Test("A refusal waits for the answers to the requests before it")
    func order() async throws {
        try await service { service, url in
            let client = try service.client()
            let first = "GET \(service.target(url)) HTTP/1.1\r\nHost: \(service.host)\r\n"
            await client.send(
                "\(first)If-Match: *\r\n\r\n\(first)Transfer-Encoding: gzip\r\n\r\n\(first)\r\n")
            let head = try #require(await client.readHead())
            #expect(head.status == 200 && head.fields["connection"] == nil)
            #expect(title.media.matches(await client.read(1000), at: 0))
            #expect(await client.readHead()?.status == 400)
            let rest = String(decoding: await client.readToEnd(), as: UTF8.self)
            #expect(!rest.contains("HTTP/1.1"), "the request after it is not answered")
        }
    }

    @Test(
        "A body of an API request that breaks off or is badly chunked is 400, and the connection closes")
    func brokenBody() async throws {
        try await service(hasControl: true) { service, url in
            let modes = "POST /api/v1/modes HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n"
            let token = "Authorization: Bearer \(service.token)\r\n"
            for body in ["2\r\n{\"\r\nxyz\r\n", "zz\r\n"] {
                let answer = try await onlyAnswer(
                    service, url, modes + token + "Transfer-Encoding: chunked\r\n\r\n" + body)
                #expect(answer.head.status == 400 && answer.head.fields["connection"] == "close", "\(body)")
                #expect(answer.head.fields["content-type"] == "application/problem+json" && !answer.body.isEmpty)
            }
            let control = try service.controlClient()
            await control.send(
                modes.replacing("HOST", with: "localhost") + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\nxyz\r\n")
            let head = try #require(await control.readHead())
            #expect(head.status == 400 && head.fields["content-type"] == "application/problem+json")
            #expect(try await service.vault.titles.summary(of: url)?.resourceClass != "pinned")
        }
    }

    @Test("The host of an absolute target counts, and must equal the Host field (RFC 9112 §3.2.2)")
    func absoluteForm() async throws {
        try await service { service, url in
            for (target, host, status) in [
                ("http://HOSTTARGET", "HOST", 206), ("http://HOST/healthz", "HOST", 200),
                ("HTTP://HOST/healthz?x", "HOST", 200),
                ("http://evil.testTARGET", "HOST", 421), ("http://evil.test/healthz", "HOST", 421),
                ("http://HOST/healthz", "evil.test", 421), ("http://evil.test/healthz", "evil.test", 421),
                ("http://user@HOST/healthz", "HOST", 421),
                ("ftp://evil.test/healthz", "HOST", 421), ("http://evil.test", "HOST", 421),
            ] {
                let client = try service.client()
                let text = "GET \(target) HTTP/1.1\r\nHost: \(host)\r\nRange: bytes=0-9\r\n\r\n"
                await client.send(
                    text.replacing("TARGET", with: service.target(url)).replacing("HOST", with: service.host))
                #expect(await client.readHead()?.status == status, "\(target) \(host)")
            }
        }
    }

    @Test(
        "An unknown method is 501, an unsupported one 405, one in the wrong letter case 400",
        arguments: [
            ("BREW", 501), ("X-y!", 501), ("PRI", 501), ("PROPFIND", 501), ("PATCH", 405), ("QUERY", 405), ("get", 400),
            ("Head", 400),
            ("G(T", 400),
        ])
    func methods(method: String, status: Int) async throws {
        try await service { service, url in
            for target in ["/healthz", "TARGET"] {
                let client = try service.client()
                let text = "\(method) \(target) HTTP/1.1\r\nHost: \(service.host)\r\n\r\n"
                await client.send(text.replacing("TARGET", with: service.target(url)))
                #expect(await client.readHead()?.status == status, "\(target)")
            }
            // The same on a connection that has already served a request.
            let client = try service.client()
            #expect(await client.ask("GET", "/healthz", host: service.host)?.head.status == 200)
            await client.request(method, "/healthz", host: service.host)
            #expect(await client.readHead()?.status == status)
        }
    }

    @Test(
        "Another HTTP/1 version is read as HTTP/1.1, and another major version is 505",
        arguments: [
            ("1.2", 206), ("1.9", 206), ("1.1", 206), ("2.0", 505), ("3.0", 505), ("0.9", 505), ("9.9", 505),
            ("1.x", 400),
            ("1.10", 400),
        ])
    func versions(version: String, status: Int) async throws {
        try await service { [title] service, url in
            let request = "GET TARGET HTTP/\(version)\r\nHost: HOST\r\nRange: bytes=0-9\r\n\r\n"
                .replacing("TARGET", with: service.target(url)).replacing("HOST", with: service.host)
            // In one piece, and with the first line split within each of its parts and its line end.
            let line = try #require(request.utf8.firstIndex(of: 0x0D).map { request.utf8[..<$0].count })
            for cuts in [[], [1, 5, line - 8, line - 3, line - 1, line, line + 1]] {
                let client = try service.client()
                for (start, end) in zip([0] + cuts, cuts + [request.utf8.count]) {
                    await client.send(String(decoding: Array(request.utf8)[start..<end], as: UTF8.self))
                }
                let head = try #require(await client.readHead())
                #expect(head.status == status)
                if status == 206 {
                    #expect(await client.read(10) == title.media.bytes(0..<10))
                    // The parser would not accept a second request line of this version.
                    #expect(head.fields["connection"] == (version == "1.1" ? nil : "close"))
                }
            }
        }
    }
}
