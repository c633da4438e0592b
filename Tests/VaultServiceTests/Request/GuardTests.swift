import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@Suite("Which requests are answered", .timeLimit(.minutes(5)))
struct GuardTests {
    private func service(_ body: @escaping @Sendable (RunningService, MediaURL) async throws -> Void) async throws {
        let origin = try ScriptedOrigin(ScriptedResource(length: 1000))
        defer { origin.stop() }
        let url = origin.url("/a/film.mp4")
        try await RunningService.run(over: try await TestVault()) { try await body($0, url) }
        // A refused request never reaches the origin; only the answered request of each test does.
        #expect(origin.exchanges.allSatisfy { $0.request.target == "/a/film.mp4" })
    }

    private func statusOf(_ service: RunningService, raw: String) async throws -> Int? {
        let client = try service.client()
        await client.send(raw)
        return await client.readHead()?.status
    }

    @Test("Health needs no token and answers GET and HEAD")
    func health() async throws {
        try await service { service, _ in
            let client = try service.client()
            for method in ["GET", "HEAD", "GET"] {
                let answer = try #require(await client.ask(method, "/healthz", host: service.host))
                #expect(answer.head.status == 200)
            }
            let answer = try #require(await client.ask("POST", "/healthz", host: service.host))
            #expect(answer.head.status == 405 && answer.head.fields["allow"] == "GET, HEAD")
        }
    }

    @Test("A foreign host is refused before anything else; a missing, empty or repeated one is a bad request")
    func hosts() async throws {
        try await service { service, url in
            for target in ["/healthz", service.target(url), "/x"] {
                for (lines, expected) in [
                    ("Host: evil.test:\(service.port)\r\n", 421), ("Host: 127.0.0.1\r\n", 421),
                    ("Host: localhost:\(service.port + 1)\r\n", 421), ("Host: [::1%25lo]:\(service.port)\r\n", 421),
                    ("", 400), ("Host:\r\n", 400), ("Host: \(service.host)\r\nHost: \(service.host)\r\n", 400),
                ] {
                    let status = try await statusOf(service, raw: "GET \(target) HTTP/1.1\r\n\(lines)\r\n")
                    #expect(status == expected, "\(lines)")
                }
            }
            let named = try #require(await service.client().ask("GET", "/healthz", host: "LOCALHOST:\(service.port)"))
            #expect(named.head.status == 200)
        }
    }

    @Test("An absolute target cannot name another host")
    func absoluteForm() async throws {
        try await service { service, _ in
            let foreign = "GET http://evil.test/healthz HTTP/1.1\r\nHost: evil.test\r\n\r\n"
            let status = try await statusOf(service, raw: foreign)
            #expect(status == 421)
        }
    }

    @Test("Unknown, unauthorised, expired and out-of-scope requests get exactly the same answer")
    func notFound() async throws {
        try await service { service, url in
            let good = service.target(url)
            let parts = good.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
            let (capability, rest) = (String(parts[2]), String(parts[3]))
            let expired = service.vault.tokens.playbackPath(for: url, expires: 1)
            let other = capability.last == "0" ? "1" : "0"
            // A link that covers every path of its host, including the paths of playback links.
            let root = service.vault.tokens.playbackPath(
                for: try MediaURL("http://\(url.authority)/x.mp4"), expires: .max)
            let within = String(root.dropLast("/x.mp4".count))
            let hidden = [1, 2, 5].map { String(repeating: within, count: $0) + expired }
            let targets = [
                "/x", "/pages", "/pages/x", "/media", "/media/", "/media/x", "//media/\(capability)/\(rest)",
                "/media/" + rest,
                "/media/\(capability.dropLast())/\(rest)", "/media/\(capability)\(other)/\(rest)",
                "/media/\(capability.dropLast())\(other)/\(rest)", expired, good.replacing("/a/", with: "/b/"),
                good.replacing("/http/", with: "/https/"), good.replacing("/a/", with: "/a/../b/"),
                good.replacing("/film", with: "/..%2f\\film"), good.replacing("/http/", with: "/file/"),
                "/api/v1/other", "/media/" + String(repeating: "a", count: 60_000),
            ]
            let client = try service.client()
            var bodies: Set<[UInt8]> = []
            for target in targets + hidden {
                let answer = try #require(await client.ask("GET", target, host: service.host))
                #expect(answer.head.status == 404, "\(target.prefix(60))")
                bodies.insert(answer.body)
            }
            let posted = try #require(await client.ask("POST", "/api/v1/other", host: service.host, body: "url=x"))
            bodies.insert(posted.body)
            #expect(posted.head.status == 404 && bodies.count == 1)
            let known = try await service.authorized("DELETE", "/api/v1/tokens/abc")
            #expect(known.head.status == 404 && String(decoding: known.body, as: UTF8.self).contains("no such path"))
            // The body of an unauthorized request makes no difference.
            for path in ["/api/v1/modes", "/api/v1/status", "/metrics"] {
                let answer = try #require(await client.ask("POST", path, host: service.host, body: "url=x"))
                #expect(answer.head.status == 401, "\(path)")
                #expect(answer.head.fields["www-authenticate"] == #"Bearer realm="mediavault""#)
            }
            for target in [good, within + good] {
                let answer = try #require(await client.ask("GET", target, host: service.host))
                #expect(answer.head.status == 200)
            }
            // Held bytes, too, are not reachable through an expired link.
            #expect(await client.ask("GET", within + expired, host: service.host)?.head.status == 404)
        }
    }

    @Test("The vault's status requires a token")
    func status() async throws {
        try await service { service, _ in
            let client = try service.client()
            let token = service.token
            for field in ["Bearer \(token)x", "Bearer \(token.dropLast())", "Bearer", "Basic \(token)", token, ""] {
                let answer = try #require(
                    await client.ask("GET", "/api/v1/status", host: service.host, fields: ["Authorization": field]))
                #expect(answer.head.status == 401)
            }
            let answer = try #require(
                await client.ask(
                    "GET", "/api/v1/status", host: service.host, fields: ["Authorization": "Bearer \(token)"]))
            #expect(answer.head.status == 200)
            #expect(answer.head.fields["content-type"] == "application/json")
            #expect(String(decoding: answer.body, as: UTF8.self).contains("\"unlock\":{"))
        }
    }
}
