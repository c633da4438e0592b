import CCurl
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultFetch

@Suite("The way through proxies", .soon)
struct ProxyRouteTests {
    private static let variables = [
        "http_proxy": "plain.example:1", "HTTPS_PROXY": "socks5://secure.example:2",
        "no_proxy": "direct.example, .inner.example,192.0.2.0/24,2001:db8::1", "HTTP_PROXY": "http://forged.example:3",
    ]

    private func port(
        _ url: String, _ settings: NetworkSettings, _ variables: [String: String] = variables
    ) throws -> Int? {
        try ProxyEnvironment(variables).route(to: MediaURL(url), settings)?.port
    }

    private func client(through proxy: String, allowingPrivate allowed: String? = nil) throws -> CurlOrigin {
        var settings = NetworkSettings()
        settings.proxy = try ProxyAddress(proxy)
        var configuration = CurlConfiguration(userAgent: "MediaVault/test")
        configuration.network = { [settings] () throws(OriginFailure) in settings }
        configuration.allowsPrivate = { $0 == allowed }
        return CurlOrigin(configuration: configuration)
    }

    @Test("The host's own rule comes before the proxy for all hosts, and that before the environment")
    func order() throws {
        var settings = NetworkSettings()
        #expect(try port("http://a.example/", settings) == nil)
        settings.proxyFromEnvironment = true
        #expect(try port("http://a.example/", settings) == 1)
        settings.proxy = try ProxyAddress("http://all.example:10")
        try settings.setProxy(.direct, for: "b.example")
        try settings.setProxy(ProxyChoice("socks5h://own.example:11"), for: "[::1]")
        #expect(try port("http://direct.example/", settings) == 10, "no_proxy exempts from the environment alone")
        #expect(try port("https://b.example:8443/", settings) == nil)
        #expect(try port("http://[::1]/", settings) == 11)
    }

    @Test(
        "The environment's proxy depends on the scheme, and no_proxy lists hosts, domains and networks",
        arguments: [
            ("http://a.example/", 1), ("https://a.example/", 2), ("http://direct.example/", nil),
            ("http://x.direct.example/", nil), ("http://indirect.example/", 1), ("http://inner.example/", nil),
            ("http://192.0.2.77/", nil), ("http://192.0.3.77/", 1), ("http://[2001:db8::1]/", nil),
            ("http://[2001:db8::2]/", 1),
        ] as [(String, Int?)])
    func environment(url: String, expected: Int?) throws {
        var settings = NetworkSettings()
        settings.proxyFromEnvironment = true
        #expect(try port(url, settings) == expected)
    }

    @Test("Without a usable variable there is no proxy; one that cannot be read fails the request")
    func otherEnvironments() throws {
        var settings = NetworkSettings()
        settings.proxyFromEnvironment = true
        #expect(try port("http://a.example/", settings, ["HTTP_PROXY": "http://forged.example:3"]) == nil)
        #expect(try port("http://a.example/", settings, ["ALL_PROXY": "http://all.example:4"]) == 4)
        #expect(try port("http://a.example/", settings, ["http_proxy": "x:5", "no_proxy": "*"]) == nil)
        #expect(throws: OriginFailure.self) { try port("http://a.example/", settings, ["http_proxy": "no proxy"]) }
    }

    @Test(
        "Through a proxy, a host that is private by its name is told from one that may be public",
        arguments: [
            ("media.example.org", true), ("1.1.1.1", true), ("[2606:4700::1]", true), ("local.example.org", true),
            ("localhost", false), ("a.localhost", false), ("localhost.", false), ("127.0.0.1", false),
            ("127.0.0.1.", false), ("127.1", false), ("0x7f.1", false), ("2130706433", false), ("10.0.0.1", false),
            ("[::1]", false), ("[::ffff:10.0.0.1]", false), ("[fd00::1]", false), ("intranet", false),
            ("nas.local", false), ("nas.lan", false), ("box.home.arpa", false), ("db.corp", false),
            ("a.1e100x.08", false), ("localhost4.localdomain4", false), ("kubernetes.default.svc", false),
            ("fritz.box", false), ("1.0.0.127.in-addr.arpa", false), ("nas.alt", false),
        ])
    func privateNames(host: String, isPublic: Bool) {
        #expect(ProxiedHost.mayBePublic(host) == isPublic)
    }

    @Test("A request from outside to a private host is not sent through a proxy, unless the operator allowed the host")
    func outside() async throws {
        let proxy = try ScriptedOrigin(ScriptedResource(length: 100))
        let client = try client(through: "http://127.0.0.1:\(proxy.port)", allowingPrivate: "10.0.0.2")
        let url = try MediaURL("http://10.0.0.1/film.mp4")
        let refusal = await #expect(throws: OriginFailure.self) {
            try await client.send(OriginRequest(url: url, reach: .publicOnly))
        }
        #expect(refusal == .privateAddress)
        #expect(proxy.exchanges.isEmpty)
        let allowed = try MediaURL("http://10.0.0.2/film.mp4")
        #expect(try await client.send(OriginRequest(url: allowed, reach: .publicOnly)).head.status == 200)
        #expect(try await client.send(OriginRequest(url: url)).head.privateHosts == ["10.0.0.1"])
        let named = try MediaURL("http://media.example/film.mp4")
        #expect(try await client.send(OriginRequest(url: named)).head.privateHosts == nil, "only the proxy knows it")
        #expect(try await client.send(OriginRequest(url: named, reach: .publicOnly)).head.privateHosts == [])
        #expect(proxy.exchanges.count == 4)
    }

    @Test(
        "A proxy that opens no tunnel is named as the cause, and not for what the origin does in a tunnel",
        arguments: [
            (CURLE_RECV_ERROR, 0, true), (CURLE_GOT_NOTHING, 0, true), (CURLE_RECV_ERROR, 302, true),
            (CURLE_RECV_ERROR, 407, true), (CURLE_RECV_ERROR, 503, true), (CURLE_RECV_ERROR, 200, false),
            (CURLE_GOT_NOTHING, nil, false), (CURLE_COULDNT_RESOLVE_PROXY, nil, true),
        ] as [(CURLcode, Int?, Bool)])
    func blame(code: CURLcode, status: Int?, isOfProxy: Bool) {
        let failure = CurlFailure.failure(ofProxy: code, tunnelStatus: status, isRefused: false)
        #expect((failure != nil) == isOfProxy)
        #expect(failure?.reason.contains("the proxy") ?? true)
        #expect((failure?.remedy != nil) == (status == 407))
    }

    @Test("Authorities that libcurl cannot read are named as the cause")
    func unreadableAuthorities() {
        let failure = CurlFailure.failure(CURLE_SSL_CACERT_BADFILE, headArrived: false)
        #expect(failure.remedy == "check the setting ca-file")
    }

    @Test("What a proxy requests by itself shows no connection to the origin, so that no two versions seem to be one")
    func unknownConnection() async throws {
        let server = try ScriptedOrigin(ScriptedResource(length: 100))
        let direct = CurlOrigin(configuration: CurlConfiguration(userAgent: "MediaVault/test"))
        #expect(try await direct.send(OriginRequest(url: server.url())).head.connection != nil, "premise")
        let proxied = try client(through: "http://127.0.0.1:\(server.port)")
        let named = try MediaURL("http://media.example/film.mp4")
        #expect(try await proxied.send(OriginRequest(url: named)).head.connection == nil)
    }

    @Test("A name that this machine would look up for a proxy is not asked for by a request from outside")
    func localLookup() async throws {
        let proxy = try ScriptedOrigin(ScriptedResource(length: 100))
        let client = try client(through: "socks5://127.0.0.1:\(proxy.port)")
        let named = try MediaURL("http://media.example/film.mp4")
        let refusal = await #expect(throws: OriginFailure.self) {
            try await client.send(OriginRequest(url: named, reach: .publicOnly))
        }
        #expect(refusal == .privateAddress)
    }
}
