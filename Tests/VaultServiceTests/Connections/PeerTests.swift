import Testing

@testable import VaultService

@Suite(
    "Connections from addresses other than loopback", .timeLimit(.minutes(5)),
    .disabled(
        if: PlaybackLink.beyondLoopback == nil, "no IPv4 address but loopback: Scripts/test as root gives one"))
struct PeerTests {
    /// Runs a service in which a peer's share is two connections.
    private func run(
        yielding: Duration,
        _ body: @escaping @Sendable (RunningService, _ peer: () throws -> RawClient) async throws -> Void
    ) async throws {
        let host = try #require(PlaybackLink.beyondLoopback)
        var configuration = ServiceConfiguration()
        configuration.address = ListenAddress(host: "0.0.0.0", port: 0)
        configuration.isInsecure = true
        configuration.maxConnections = 8
        configuration.connectionLimits.yielding = yielding
        try await RunningService.run(over: try await TestVault(), configuration: configuration) { service in
            try await body(service) { try RawClient(host: host, port: service.port) }
        }
    }

    @Test("A peer is limited to its share and can reuse it; other clients are served meanwhile")
    func share() async throws {
        try await run(yielding: .seconds(60)) { service, peer in
            let held = [try peer(), try peer()]
            for client in held { #expect(await client.ask("GET", "/healthz", host: service.host)?.head.status == 200) }
            #expect(await (try peer()).readToEnd() == [])
            for client in held { #expect(await client.ask("GET", "/healthz", host: service.host)?.head.status == 200) }
            let local = [try service.client(), try service.client(), try service.client()]
            for client in local { #expect(await client.ask("GET", "/healthz", host: service.host)?.head.status == 200) }
            await held[0].close()
            // The service notices the end a moment later.
            var again: Int?
            while again == nil { again = await (try peer()).ask("GET", "/healthz", host: service.host)?.head.status }
            #expect(again == 200)
        }
    }

    @Test("If a peer has used its share, its idle connection is closed for its new one")
    func yields() async throws {
        try await run(yielding: .zero) { service, peer in
            var held: [RawClient] = []
            for _ in 0..<6 {
                held.append(try peer())
                #expect(await held.last?.ask("GET", "/healthz", host: service.host)?.head.status == 200)
            }
            #expect(await held[0].readToEnd() == [])
        }
    }
}
