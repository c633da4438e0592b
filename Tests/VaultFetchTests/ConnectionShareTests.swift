import OriginTestSupport
import Testing
import VaultModel

@testable import VaultFetch

@Suite("Connections to origins have a share of the system's file limit", .soon)
struct ConnectionShareTests {
    private let resource = ScriptedResource(length: 10_000)

    @Test("A request beyond the share waits for a connection, and is then answered")
    func bounded() async throws {
        let (gate, other) = (Gate(), Gate())
        let server = try ScriptedOrigin { [resource] request in
            var answer = resource.answer(to: request)
            if request.target == "/held" { answer.before = [.hold(gate)] }
            if request.target == "/other" { answer.before = [.hold(other)] }
            return answer
        }
        var configuration = CurlConfiguration(userAgent: "MediaVault/test")
        configuration.maxConnections = { 2 }
        let client = CurlOrigin(configuration: configuration)
        let held = Task { try await client.send(OriginRequest(url: server.url("/held"))).allBytes() }
        let second = Task { try await client.send(OriginRequest(url: server.url("/other"))).allBytes() }
        await server.wait { $0.count == 2 }
        let third = Task { try await client.send(OriginRequest(url: server.url("/third"))).allBytes() }
        other.open()
        #expect(try await second.value.count == 10_000)
        #expect(try await third.value.count == 10_000)
        gate.open()
        #expect(try await held.value.count == 10_000)
        #expect(Set(server.exchanges.map(\.connection)).count == 2)
        await client.shutdown()
    }

    @Test("A request that waits for a connection longer than the origin's time limit is still answered")
    func longWait() async throws {
        let title = ScriptedResource(length: 20_000_000)
        let isAnswered = try await holds(within: [.milliseconds(300), .seconds(10)]) { limit in
            let server = try ScriptedOrigin { [resource] in ($0.target == "/film" ? title : resource).answer(to: $0) }
            var configuration = CurlConfiguration(userAgent: "MediaVault/test")
            configuration.maxConnections = { 1 }
            configuration.stallTimeout = limit
            let client = CurlOrigin(configuration: configuration)
            do {
                // A reader that takes no bytes holds the only connection.
                let paused = try await client.send(OriginRequest(url: server.url("/film")))
                let waiting = Task { try await client.send(OriginRequest(url: server.url("/other"))).allBytes() }
                try await Task.sleep(for: limit * 3)
                #expect(server.exchanges.count == 1, "the second request must be waiting")
                paused.cancel()
                #expect(try await waiting.value.count == 10_000)
                await client.shutdown()
                return true
            } catch is OriginFailure {
                await client.shutdown()
                return false
            }
        }
        #expect(isAnswered)
    }

    @Test("A cancelled request leaves its connection to a waiting one")
    func withReserve() async throws {
        let gate = Gate()
        let server = try ScriptedOrigin { [resource] request in
            var answer = resource.answer(to: request)
            if request.target == "/held" { answer.before = [.hold(gate)] }
            return answer
        }
        var configuration = CurlConfiguration(userAgent: "MediaVault/test")
        configuration.maxConnections = { 1 }
        let client = CurlOrigin(configuration: configuration)
        let held = Task { try await client.send(OriginRequest(url: server.url("/held"))) }
        await server.wait { $0.first?.phase == .held }
        let waiting = Task { try await client.send(OriginRequest(url: server.url("/film"))).allBytes() }
        held.cancel()
        _ = await held.result
        #expect(try await waiting.value.count == 10_000)
        await client.shutdown()
    }

    @Test("Idle connections make way for connections to other origins")
    func kept() async throws {
        var configuration = CurlConfiguration(userAgent: "MediaVault/test")
        configuration.maxConnections = { 1 }
        let client = CurlOrigin(configuration: configuration)
        for _ in 0..<3 {
            let server = try ScriptedOrigin { [resource] in resource.answer(to: $0) }
            #expect(try await client.send(OriginRequest(url: server.url("/film"))).allBytes().count == 10_000)
        }
        await client.shutdown()
    }
}
