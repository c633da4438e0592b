import Testing

@testable import VaultService

@Suite(
    "Connections from another address than loopback", .timeLimit(.minutes(5)),
    .disabled(
        if: PlaybackLink.beyondLoopback == nil, "no IPv4 address but loopback: Scripts/test as root gives one"))
struct PeerTests {
    /// Two connections are a peer's share.
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

    @Test("A peer gets its share and no more; what it gives back it may have again, and others have theirs meanwhile")
    func share() async throws {
        try await run(yielding: .seconds(60)) { service, peer in
            let held = [try peer(), try peer()]
            for client in held { #expect(await client.ask("GET", "/healthz", host: service.host)?.head.status == 200) }
            #expect(await (try peer()).readToEnd() == [])
            for client in held { #expect(await client.ask("GET", "/healthz", host: service.host)?.head.status == 200) }
            let local = [try service.client(), try service.client(), try service.client()]
            for client in local { #expect(await client.ask("GET", "/healthz", host: service.host)?.head.status == 200) }
            await held[0].close()
            // The service hears of the end a moment later.
            var again: Int?
            while again == nil { again = await (try peer()).ask("GET", "/healthz", host: service.host)?.head.status }
            #expect(again == 200)
        }
    }

    @Test("Of a peer that has its share, a connection that stands still yields to another of the peer's")
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
