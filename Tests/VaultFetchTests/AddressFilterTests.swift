import OriginTestSupport
import Synchronization
import Testing
import VaultModel

@testable import VaultFetch

@Suite("The address filter", .soon)
struct AddressFilterTests {
    private let resource = ScriptedResource(length: 100)

    private func client(allowing hosts: Set<String> = [], own: OwnListeners = OwnListeners()) -> CurlOrigin {
        var configuration = CurlConfiguration(userAgent: "MediaVault/test")
        configuration.allowsPrivate = { hosts.contains($0) }
        configuration.ownListeners = own
        return CurlOrigin(configuration: configuration)
    }

    private func failure(_ client: CurlOrigin, _ request: OriginRequest) async -> OriginFailure? {
        do {
            _ = try await client.send(request)
            return nil
        } catch {
            return error as? OriginFailure
        }
    }

    @Test(
        "In any spelling, an address of this machine is not contacted for a URL from outside",
        arguments: ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0", "localhost", "[::ffff:7f00:1]"])
    func spellings(host: String) async throws {
        let server = try ScriptedOrigin(resource)
        let url = try MediaURL("http://\(host):\(server.port)/film.mp4")
        let refusal = await failure(client(), OriginRequest(url: url, reach: .publicOnly))
        #expect(refusal == OriginFailure.privateAddress)
        #expect(server.exchanges.isEmpty)
        #expect(await failure(client(), OriginRequest(url: url)) == nil, "the operator may use this address")
    }

    @Test("A host that the operator allowed is contacted for a URL from outside")
    func allowed() async throws {
        let server = try ScriptedOrigin(resource)
        let request = OriginRequest(url: server.url(), reach: .publicOnly)
        #expect(await failure(client(allowing: ["127.0.0.1"]), request) == nil)
        #expect(await failure(client(allowing: ["127.0.0.2", "localhost"]), request) == OriginFailure.privateAddress)
    }

    @Test("A connection kept from the operator's request serves no request from outside")
    func keptConnection() async throws {
        let server = try ScriptedOrigin(resource)
        let client = client()
        for _ in 0..<2 { _ = try await client.send(OriginRequest(url: server.url())).allBytes() }
        #expect(server.exchanges.map(\.connection) == [0, 0], "both requests use one connection")
        #expect(
            await failure(client, OriginRequest(url: server.url(), reach: .publicOnly)) == OriginFailure.privateAddress)
        #expect(server.exchanges.count == 2)
        // The refused request took the kept connection, which was closed with it; no other was opened for that request.
        _ = try await client.send(OriginRequest(url: server.url())).allBytes()
        #expect(server.exchanges.map(\.connection) == [0, 0, 1])
    }

    @Test(
        "A redirect within the named host and port may be private; a redirect elsewhere may not",
        arguments: [("127.0.0.1", true), ("localhost", false), ("127.0.0.2", false), ("2130706433", false)])
    func redirect(host: String, isFollowed: Bool) async throws {
        let server = try ScriptedOrigin(resource)
        let port = server.port
        server.answer { [resource] request in
            request.target == "/film.mp4" ? .redirect(to: "http://\(host):\(port)/x") : resource.answer(to: request)
        }
        let refusal = await failure(client(), OriginRequest(url: server.url()))
        #expect(refusal == (isFollowed ? nil : OriginFailure.privateAddress))
        #expect(server.exchanges.count == (isFollowed ? 2 : 1))
    }

    @Test("An answer names the hosts at private addresses that it came through, on a kept connection, too")
    func privateHosts() async throws {
        let server = try ScriptedOrigin(resource)
        let port = server.port
        server.answer { [resource] request in
            request.target == "/film.mp4" ? .redirect(to: "http://localhost:\(port)/x") : resource.answer(to: request)
        }
        let client = client(allowing: ["localhost"])
        for _ in 0..<2 {
            let direct = try await client.send(OriginRequest(url: server.url("/x")))
            #expect(direct.head.privateHosts == ["127.0.0.1"])
            _ = try await direct.allBytes()
            let led = try await client.send(OriginRequest(url: server.url()))
            #expect(led.head.privateHosts == ["127.0.0.1", "localhost"])
            _ = try await led.allBytes()
        }
    }

    @Test("A redirect to another port of this machine is refused, unless its host is allowed")
    func otherPort() async throws {
        let inside = try ScriptedOrigin(resource)
        let target = inside.url("/admin").absoluteString
        let server = try ScriptedOrigin { _ in .redirect(to: target) }
        #expect(await failure(client(), OriginRequest(url: server.url())) == OriginFailure.privateAddress)
        #expect(inside.exchanges.isEmpty)
        #expect(await failure(client(allowing: ["127.0.0.1"]), OriginRequest(url: server.url())) == nil)
        #expect(inside.exchanges.count == 1)
    }

    @Test(
        "The service never contacts itself, whatever the source and spelling of the URL",
        arguments: ["127.0.0.1", "localhost", "127.9.8.7", "0", "[::ffff:7f00:1]"])
    func ownPort(host: String) async throws {
        let own = OwnListeners()
        let server = try ScriptedOrigin(resource)
        own.add(port: server.port)
        let url = try MediaURL("http://\(host):\(server.port)/film.mp4")
        #expect(await failure(client(allowing: [host], own: own), OriginRequest(url: url)) == AddressPolicy.isOwn)
        let port = server.port
        let before = try ScriptedOrigin { _ in .redirect(to: "http://\(host):\(port)/film.mp4") }
        #expect(
            await failure(client(allowing: [host], own: own), OriginRequest(url: before.url())) == AddressPolicy.isOwn)
        #expect(server.exchanges.isEmpty)
    }

    @Test("A redirect keeps its reach only at the same host and port, or from http to https")
    func reach() throws {
        let named = try MediaURL("http://nas.test/a")
        for (target, expected) in [
            ("http://nas.test/b", NetworkReach.anywhere), ("https://nas.test/b", .anywhere),
            ("https://nas.test:8443/b", .publicOnly), ("http://nas.test:81/b", .publicOnly),
            ("http://nas.test:443/b", .publicOnly),
            ("http://nas2.test/b", .publicOnly), ("http://x.nas.test/b", .publicOnly),
        ] {
            #expect(RedirectPolicy.reach(of: try MediaURL(target), named: named, .anywhere) == expected, "\(target)")
            #expect(RedirectPolicy.reach(of: try MediaURL(target), named: named, .publicOnly) == .publicOnly)
        }
    }
}
