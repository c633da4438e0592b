import OriginTestSupport
import Testing
import VaultModel

@testable import VaultFetch

@Suite("Following redirects", .soon)
struct RedirectTests {
    @Test("A redirect within the origin keeps all fields of the request", arguments: [301, 302, 303, 307, 308])
    func sameOrigin(_ status: Int) async throws {
        let resource = ScriptedResource(length: 1000)
        let server = try ScriptedOrigin { request in
            request.target == "/film.mp4" ? .redirect(status, to: "real.mp4?token=1") : resource.answer(to: request)
        }
        let request = OriginRequest(
            url: server.url(), first: 10, end: 20, ifRange: "\"v1\"", fields: HeaderFields(["X-Token": "t"]))
        let response = try await CurlOrigin.make().send(request)
        #expect(response.head.status == 206)
        #expect(try await response.allBytes() == resource.media.bytes(10..<20))
        let exchanges = server.exchanges
        #expect(exchanges.map(\.request.target) == ["/film.mp4", "/real.mp4?token=1"])
        #expect(exchanges.map(\.request.range) == ["bytes=10-19", "bytes=10-19"])
        #expect(exchanges.map(\.request.ifRange) == ["\"v1\"", "\"v1\""])
        #expect(exchanges.map { $0.request.fields["X-Token"] } == ["t", "t"])
        #expect(exchanges.map(\.connection) == [0, 0])
    }

    @Test(
        "An answer says where permanent redirects led, up to the first that is not",
        arguments: [
            ([301], "/1"), ([308, 301], "/2"), ([301, 302], "/1"), ([301, 307, 301], "/1"), ([302, 301], nil),
            ([303], nil), ([], nil),
        ] as [([Int], String?)])
    func permanent(statuses: [Int], expected: String?) async throws {
        let resource = ScriptedResource(length: 100)
        let server = try ScriptedOrigin { request in
            let step = request.target == "/film.mp4" ? 0 : Int(request.target.dropFirst()) ?? 0
            return step < statuses.count
                ? .redirect(statuses[step], to: "/\(step + 1)") : resource.answer(to: request)
        }
        let response = try await CurlOrigin.make().send(OriginRequest(url: server.url()))
        #expect(response.head.movedTo == expected.map { server.url($0) })
        response.cancel()
    }

    @Test("A redirect to itself that sets a cookie is followed with it, and a host gets no other host's")
    func cookies() async throws {
        let resource = ScriptedResource(length: 100)
        let (home, away) = (try ScriptedOrigin(resource), try ScriptedOrigin(resource))
        let there = "http://localhost:\(away.port)/there"
        home.answer { request in
            guard request.fields["Cookie"] != "seen=1" else { return .redirect(to: there) }
            return ScriptedAnswer(302, fields: ["Location": request.target, "Set-Cookie": "seen=1; Path=/"])
        }
        let client = CurlOrigin.make(allowing: ["127.0.0.1", "localhost"])
        let response = try await client.send(OriginRequest(url: home.url(), first: 1, end: 9))
        #expect(try await response.allBytes() == resource.media.bytes(1..<9))
        #expect(home.exchanges.map { $0.request.fields["Cookie"] } == [nil, "seen=1"])
        #expect(away.exchanges.map { $0.request.fields["Cookie"] } == [nil])
    }

    @Test("A redirect to another origin drops the caller's fields and credentials, also on the way back")
    func crossOrigin() async throws {
        let resource = ScriptedResource(length: 1000)
        let home = try ScriptedOrigin(resource)
        let away = try ScriptedOrigin(resource)
        let (back, there) = (home.url("/back").absoluteString, away.url("/away").absoluteString)
        away.answer { _ in .redirect(to: back) }
        home.answer { request in
            switch request.target {
            case "/film.mp4": .redirect(to: there)
            case "/back": .redirect(to: "/again")
            default: resource.answer(to: request)
            }
        }
        let request = OriginRequest(
            url: try MediaURL("http://user:pass@127.0.0.1:\(home.port)/film.mp4"), first: 10, end: 20,
            fields: HeaderFields(["X-Token": "t", "Cookie": "c"]))
        #expect(
            try await CurlOrigin.make(allowing: ["127.0.0.1"]).send(request).allBytes()
                == resource.media.bytes(10..<20))
        let stranger = try #require(away.exchanges.first?.request)
        #expect(stranger.range == "bytes=10-19")
        for name in ["X-Token", "Cookie", "Authorization", "Referer"] { #expect(stranger.fields[name] == nil) }
        try #require(home.exchanges.map(\.request.target) == ["/film.mp4", "/back", "/again"])
        let first = home.exchanges[0].request
        #expect(first.fields["X-Token"] == "t" && first.fields["Authorization"] == "Basic dXNlcjpwYXNz")
        // The other origin chose the target, so the request must not have the caller's rights.
        for last in home.exchanges.dropFirst().map(\.request) {
            #expect(last.range == "bytes=10-19")
            for name in ["X-Token", "Cookie", "Authorization"] { #expect(last.fields[name] == nil, "\(last.target)") }
        }
    }

    @Test("A redirected HEAD stays a HEAD")
    func head() async throws {
        let server = try ScriptedOrigin { request in
            request.target == "/film.mp4" ? .redirect(to: "/real.mp4") : ScriptedResource(length: 7).answer(to: request)
        }
        let response = try await CurlOrigin.make().send(OriginRequest(url: server.url(), method: .head))
        #expect(response.head.fields["Content-Length"] == "7")
        #expect(server.exchanges.map(\.request.method) == ["HEAD", "HEAD"])
    }

    @Test("A loop ends after ten hops")
    func loop() async throws {
        let server = try ScriptedOrigin { _ in .redirect(to: "/film.mp4") }
        let failure = try await #require(throws: OriginFailure.self) {
            try await CurlOrigin.make().send(OriginRequest(url: server.url()))
        }
        #expect(failure.kind == .invalidResponse)
        #expect(server.exchanges.count == 11)
    }

    @Test("A redirect's body is dropped, however long it is", arguments: [100, 1 << 40] as [Int64])
    func body(_ length: Int64) async throws {
        let resource = ScriptedResource(length: 1000)
        let page = PseudoRandomMedia(seed: 2, length: length)
        let server = try ScriptedOrigin { request in
            guard request.target == "/film.mp4" else { return resource.answer(to: request) }
            return ScriptedAnswer(
                302, fields: ["Location": "/real.mp4", "Content-Length": "\(length)"], body: [.media(page, 0..<length)])
        }
        let response = try await CurlOrigin.make().send(OriginRequest(url: server.url()))
        #expect(try await response.allBytes() == resource.media.bytes(0..<1000))
    }

    @Test("A redirect whose body stalls is followed at once", arguments: [0, 10] as [Int64])
    func stalledBody(_ sent: Int64) async throws {
        let resource = ScriptedResource(length: 1000)
        let server = try ScriptedOrigin { request in
            guard request.target == "/film.mp4" else { return resource.answer(to: request) }
            var answer = ScriptedAnswer(
                302, fields: ["Location": "/real.mp4", "Content-Length": "1000"],
                body: [.media(resource.media, 0..<1000)])
            answer.insert(.hold(Gate()), at: sent)
            return answer
        }
        let response = try await CurlOrigin.make().send(OriginRequest(url: server.url()))
        #expect(try await response.allBytes() == resource.media.bytes(0..<1000))
        await server.wait { $0[0].phase == .abandoned }
    }

    @Test("A redirect to another scheme is refused")
    func scheme() async throws {
        let server = try ScriptedOrigin { _ in .redirect(to: "file:///etc/passwd") }
        let failure = try await #require(throws: OriginFailure.self) {
            try await CurlOrigin.make().send(OriginRequest(url: server.url()))
        }
        #expect(failure.kind == .invalidResponse)
    }
}
