import OriginTestSupport
import Testing
import VaultModel

@testable import VaultFetch

@Suite("Credentials of the settings", .soon)
struct HostCredentialsTests {
    private static func settings(_ hosts: [String] = ["127.0.0.1"]) throws -> NetworkSettings {
        var settings = NetworkSettings()
        for host in hosts {
            try settings.headers.set("Authorization", to: "Bearer host", for: host)
            try settings.headers.set("X-Key", to: "k", for: host)
        }
        return settings
    }

    private static func client(_ settings: NetworkSettings) -> CurlOrigin {
        var configuration = CurlConfiguration(userAgent: "MediaVault/test")
        configuration.network = { () throws(OriginFailure) in settings }
        configuration.allowsPrivate = { _ in true }
        return CurlOrigin(configuration: configuration)
    }

    private static func sent(_ exchanges: [Exchange]) -> [String] {
        exchanges.map { $0.request.fields["X-Key"] ?? "-" }
    }

    @Test(
        "A redirect takes them along only within the host and port, and to TLS from port 80 to 443",
        arguments: [
            (["http://a.example/1", "http://a.example/2"], true),
            (["http://a.example/1", "https://a.example/2", "https://a.example/3"], true),
            (["http://a.example/1", "http://a.example:8080/2"], false),
            (["http://a.example:8080/1", "https://a.example/2"], false),
            (["http://a.example/1", "http://a.example:443/2"], false),
            (["http://a.example/1", "http://b.example/2"], false),
            (["http://a.example/1", "http://b.example/2", "http://b.example/3"], false),
            (["http://a.example/1", "http://b.example/2", "http://a.example/3", "http://a.example/4"], false),
        ])
    func redirects(urls: [String], arePresented: Bool) throws {
        let urls = try urls.map { try MediaURL($0) }
        let hop = urls.dropFirst().reduce(Hop(urls[0])) { hop, url in hop.following(to: url) }
        let credentials = HostCredentials(
            try Self.settings(["a.example", "b.example"]), for: OriginRequest(url: urls[0]), at: hop, now: 1000)
        #expect(credentials.isEmpty != arePresented)
        #expect(credentials.lines == (arePresented ? ["Authorization: Bearer host", "X-Key: k"] : []))
    }

    @Test("A request that a manifest led to presents none, not even to a host that the operator allows")
    func derived() async throws {
        let server = try ScriptedOrigin(ScriptedResource(length: 100))
        let client = Self.client(try Self.settings())
        _ = try await client.send(OriginRequest(url: server.url()))
        _ = try await client.send(OriginRequest(url: server.url(), reach: .publicOnly))
        #expect(Self.sent(server.exchanges) == ["k", "-"])
    }

    @Test("What a request has of its own replaces the host's, also on a hop that does not get it")
    func own() throws {
        let settings = try Self.settings(["a.example"])
        let own = OriginRequest(url: try MediaURL("http://a.example/"), fields: ["authorization": "Bearer own"])
        let named = OriginRequest(url: try MediaURL("http://me:secret@a.example/"))
        for request in [own, named] {
            let first = Hop(request.url)
            for hop in [first, first.following(to: try MediaURL("https://a.example/"))] {
                #expect(HostCredentials(settings, for: request, at: hop, now: 1000).lines == ["X-Key: k"])
            }
        }
    }

    @Test("They are on the wire for their host, in no redirect to another one, and in none that leads back")
    func wire() async throws {
        let resource = ScriptedResource(length: 100)
        let (home, away) = (try ScriptedOrigin(resource), try ScriptedOrigin(resource))
        let (there, back) = (away.url("/away").absoluteString, home.url("/back").absoluteString)
        home.answer { $0.target == "/film.mp4" ? .redirect(to: there) : resource.answer(to: $0) }
        away.answer { _ in .redirect(to: back) }
        let response = try await Self.client(try Self.settings(["127.0.0.1:\(home.port)", "127.0.0.1:\(away.port)"]))
            .send(OriginRequest(url: home.url(), first: 1, end: 9))
        #expect(response.head.status == 206)
        #expect(Self.sent(home.exchanges) == ["k", "-"])
        #expect(Self.sent(away.exchanges) == ["-"])
    }

    @Test("A host that they were sent to counts as private, so that no manifest of another site gets its bytes")
    func restricted() async throws {
        let server = try ScriptedOrigin(ScriptedResource(length: 100))
        var settings = try Self.settings(["media.example"])
        settings.proxy = try ProxyAddress("http://127.0.0.1:\(server.port)")
        let client = Self.client(settings)
        for (url, hosts) in [("http://media.example/a", ["media.example"]), ("http://other.example/a", nil)] {
            let head = try await client.send(OriginRequest(url: try MediaURL(url))).head
            #expect(head.privateHosts == hosts.map(Set.init), "\(url)")
        }
    }

    @Test("Cookies of the settings are one field; a Cookie header of the host, or of the request, replaces them")
    func cookies() throws {
        var settings = NetworkSettings()
        settings.cookies = try CookieFile(
            "a.example\tFALSE\t/\tFALSE\t0\tone\t1\na.example\tFALSE\t/\tFALSE\t2000\ttwo\t2\n")
        let url = try MediaURL("http://a.example/")
        func lines(at now: Int64 = 1000, _ fields: HeaderFields = HeaderFields()) -> [String] {
            HostCredentials(settings, for: OriginRequest(url: url, fields: fields), at: Hop(url), now: now).lines
        }
        #expect(lines() == ["Cookie: one=1; two=2"])
        #expect(lines(at: 2000) == ["Cookie: one=1"])
        #expect(lines(["cookie": "own"]) == [])
        try settings.headers.set("cookie", to: "three=3", for: "a.example")
        #expect(lines() == ["cookie: three=3"])
    }

    @Test("What a redirect leads to gets the cookies of its URL and those that it set, and no other request these")
    func cookiesOnTheWay() async throws {
        let resource = ScriptedResource(length: 100)
        let server = try ScriptedOrigin { request in
            guard request.target == "/film.mp4" else { return resource.answer(to: request) }
            return ScriptedAnswer(302, fields: ["Location": "/deep/real.mp4", "Set-Cookie": "seen=1; Path=/"])
        }
        var settings = NetworkSettings()
        settings.cookies = try CookieFile(
            "127.0.0.1\tFALSE\t/deep\tFALSE\t0\tdeep\t1\n127.0.0.1\tFALSE\t/\tTRUE\t0\tsecure\t1\n")
        let client = Self.client(settings)
        for _ in 0..<2 { _ = try await client.send(OriginRequest(url: server.url())) }
        #expect(server.exchanges.map { $0.request.fields["Cookie"] } == [nil, "seen=1; deep=1", nil, "seen=1; deep=1"])
    }

    @Test("A change applies to the next request")
    func change() async throws {
        let server = try ScriptedOrigin(ScriptedResource(length: 100))
        let settings = Locked(NetworkSettings())
        var configuration = CurlConfiguration(userAgent: "MediaVault/test")
        configuration.network = { () throws(OriginFailure) in settings.withLock { $0 } }
        let client = CurlOrigin(configuration: configuration)
        _ = try await client.send(OriginRequest(url: server.url()))
        let changed = try Self.settings()
        settings.withLock { $0 = changed }
        _ = try await client.send(OriginRequest(url: server.url()))
        #expect(Self.sent(server.exchanges) == ["-", "k"])
    }
}
