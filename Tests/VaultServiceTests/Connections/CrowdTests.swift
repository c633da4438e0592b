import Foundation
import MediaVault
import OriginTestSupport
import Testing

@testable import VaultService

@Suite("Many clients, and slow ones", .timeLimit(.minutes(5)))
struct CrowdTests {
    private func configuration(_ change: (inout ServiceConfiguration) -> Void) -> ServiceConfiguration {
        var configuration = ServiceConfiguration()
        change(&configuration)
        return configuration
    }

    @Test("If the connection limit is reached, an idle connection is closed for a waiting client")
    func yields() async throws {
        let configuration = configuration {
            $0.maxConnections = 4
            $0.connectionLimits.yielding = .milliseconds(50)
        }
        try await RunningService.run(over: try await TestVault(), configuration: configuration) { service in
            var held: [RawClient] = []
            for _ in 0..<4 {
                let client = try service.client()
                #expect(await client.ask("GET", "/healthz", host: service.host)?.head.status == 200)
                held.append(client)
            }
            for _ in 0..<8 {
                let client = try service.client()
                #expect(await client.ask("GET", "/healthz", host: service.host)?.head.status == 200)
                held.append(client)
            }
            // Each closed connection ended before the client that replaced it was answered.
            var ended = 0
            for client in held { ended += await client.isEnded() ? 1 : 0 }
            #expect(ended >= 8)
        }
    }

    @Test("A head that trickles in, or never arrives, is limited in time")
    func slowHead() async throws {
        let configuration = configuration { $0.connectionLimits.firstHead = .milliseconds(500) }
        try await RunningService.run(over: try await TestVault(), configuration: configuration) { service in
            let (silent, trickling) = (try service.client(), try service.client())
            await trickling.send("GET /healthz HTTP/1.1\r\nX: ")
            #expect(try await trickling.endsSoon(sending: "x"))
            #expect(try await silent.endsSoon(sending: ""))
        }
    }

    @Test("A body that trickles in is limited in time, whatever the answer to its head was")
    func slowBody() async throws {
        let configuration = configuration { $0.connectionLimits.body = .milliseconds(500) }
        try await RunningService.run(over: try await TestVault(), configuration: configuration) { service in
            let client = try service.client()
            await client.send("POST /healthz HTTP/1.1\r\nHost: \(service.host)\r\nContent-Length: 1000000\r\n\r\n")
            #expect(await client.readHead()?.status == 405)
            #expect(try await client.endsSoon(sending: "x"))
        }
    }

    @Test("An awaited body that trickles in gets no more time")
    func slowAwaitedBody() async throws {
        let configuration = configuration { $0.connectionLimits.body = .milliseconds(500) }
        try await RunningService.run(over: try await TestVault(), configuration: configuration) { service in
            let client = try service.client()
            await client.send(
                "POST /api/v1/modes HTTP/1.1\r\nHost: \(service.host)\r\nContent-Type: application/json\r\n"
                    + "Authorization: Bearer \(service.token)\r\nContent-Length: 1000000\r\n\r\n")
            #expect(try await client.endsSoon(sending: " "))
        }
    }

    @Test("An answer that takes longer than the limit for a head is not cut short")
    func slowAnswer() async throws {
        #expect(try await holds(within: [.milliseconds(100), .seconds(5)]) { try await isAnsweredWhole(within: $0) })
    }

    /// Returns whether a service with this limit for heads and bodies completes an answer that takes longer.
    private func isAnsweredWhole(within limit: Duration) async throws -> Bool {
        let title = ScriptedResource(length: 1000)
        let gate = Gate()
        let origin = try ScriptedOrigin { request in
            var answer = title.answer(to: request)
            if request.method == "GET" { answer.insert(.hold(gate), at: 500) }
            return answer
        }
        let url = origin.url("/a/film.mp4")
        let configuration = configuration {
            $0.connectionLimits.firstHead = limit
            $0.connectionLimits.body = limit
        }
        return try await RunningService.run(over: try await TestVault(), configuration: configuration) { service in
            let client = try service.client()
            await client.request("GET", service.target(url), host: service.host)
            guard await client.readHead()?.status == 200 else { return false }
            // Waits until the time limits were checked: this connection is over its limit and is closed.
            let silent = try service.client()
            #expect(await silent.readToEnd() == [])
            gate.open()
            return await client.read(1000).count == 1000
        }
    }
}

extension RawClient {
    /// Whether the service closes the connection before 250 pieces were sent, one every 20 ms.
    ///
    /// That is long before the default time limit of a connection.
    fileprivate func endsSoon(sending piece: String) async throws -> Bool {
        for _ in 0..<250 {
            if await isEnded() { return true }
            await send(piece)
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }
}
