import OriginTestSupport
import Synchronization
import Testing
import VaultModel

@testable import VaultFetch

@Suite("Which addresses are asked", .soon)
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
        "Whatever the spelling, an address of this machine is not asked for a URL that somebody else named",
        arguments: ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0", "localhost", "[::ffff:7f00:1]"])
    func spellings(host: String) async throws {
        let server = try ScriptedOrigin(resource)
        let url = try MediaURL("http://\(host):\(server.port)/film.mp4")
        let refusal = await failure(client(), OriginRequest(url: url, reach: .publicOnly))
        #expect(refusal == AddressPolicy.privateAddress)
        #expect(server.exchanges.isEmpty)
        #expect(await failure(client(), OriginRequest(url: url)) == nil, "the operator may name it")
    }

    @Test("A host that the operator allowed is asked for a URL that somebody else named")
    func allowed() async throws {
        let server = try ScriptedOrigin(resource)
        let request = OriginRequest(url: server.url(), reach: .publicOnly)
        #expect(await failure(client(allowing: ["127.0.0.1"]), request) == nil)
        #expect(await failure(client(allowing: ["127.0.0.2", "localhost"]), request) == AddressPolicy.privateAddress)
    }

    @Test("A connection that was kept for the operator's request carries nobody else's")
    func keptConnection() async throws {
        let server = try ScriptedOrigin(resource)
        let client = client()
        for _ in 0..<2 { _ = try await client.send(OriginRequest(url: server.url())).allBytes() }
        #expect(server.exchanges.map(\.connection) == [0, 0], "it is kept from request to request")
        #expect(
            await failure(client, OriginRequest(url: server.url(), reach: .publicOnly)) == AddressPolicy.privateAddress)
        #expect(server.exchanges.count == 2)
        // It was taken for the request that was refused, and closed with it: no other was opened for that one.
        _ = try await client.send(OriginRequest(url: server.url())).allBytes()
        #expect(server.exchanges.map(\.connection) == [0, 0, 1])
    }

    @Test(
        "A redirect within the host and port that were named may be private; to every other one it may not",
        arguments: [("127.0.0.1", true), ("localhost", false), ("127.0.0.2", false), ("2130706433", false)])
    func redirect(host: String, isFollowed: Bool) async throws {
        let server = try ScriptedOrigin(resource)
        let port = server.port
        server.answer { [resource] request in
            request.target == "/film.mp4" ? .redirect(to: "http://\(host):\(port)/x") : resource.answer(to: request)
        }
        let refusal = await failure(client(), OriginRequest(url: server.url()))
        #expect(refusal == (isFollowed ? nil : AddressPolicy.privateAddress))
        #expect(server.exchanges.count == (isFollowed ? 2 : 1))
    }

    @Test("A redirect to another port of this machine reaches nobody, unless its host is allowed")
    func otherPort() async throws {
        let inside = try ScriptedOrigin(resource)
        let target = inside.url("/admin").absoluteString
        let server = try ScriptedOrigin { _ in .redirect(to: target) }
        #expect(await failure(client(), OriginRequest(url: server.url())) == AddressPolicy.privateAddress)
        #expect(inside.exchanges.isEmpty)
        #expect(await failure(client(allowing: ["127.0.0.1"]), OriginRequest(url: server.url())) == nil)
        #expect(inside.exchanges.count == 1)
    }

    @Test(
        "The service itself is never asked, whoever named it and however it is spelled",
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

    @Test("A redirect keeps its reach on the host and port that were named, and from http to https; no other way")
    func reach() throws {
        let named = try MediaURL("http://nas.test/a")
        for (target, expected) in [
            ("http://nas.test/b", NetworkReach.anywhere), ("https://nas.test/b", .anywhere),
            ("https://nas.test:8443/b", .publicOnly), ("http://nas.test:81/b", .publicOnly),
            ("http://nas2.test/b", .publicOnly), ("http://x.nas.test/b", .publicOnly),
        ] {
            #expect(RedirectPolicy.reach(of: try MediaURL(target), named: named, .anywhere) == expected, "\(target)")
            #expect(RedirectPolicy.reach(of: try MediaURL(target), named: named, .publicOnly) == .publicOnly)
        }
    }
}
