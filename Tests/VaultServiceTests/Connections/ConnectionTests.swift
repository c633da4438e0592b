import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Connections", .timeLimit(.minutes(5)))
struct ConnectionTests {
    private let title = ScriptedResource(seed: 5, length: 2_000_000)

    @Test(
        "A client that disconnects while its answer waits for the origin cancels the transfer",
        arguments: [true, false])
    func lostClient(properly: Bool) async throws {
        var waits: [Duration] = []
        // On a busy machine one attempt may be slow, so up to three are made.
        while waits.count < 3, waits.last.map({ $0 >= .seconds(1) }) ?? true {
            let title = try HeldTitle()
            waits.append(
                try await title.serve { service in
                    let client = try service.client()
                    await client.request(
                        "GET", service.target(title.url), host: service.host, fields: ["Range": "bytes=0-"])
                    #expect(await client.readHead()?.status == 206)
                    // The origin has sent no more than this, so the answer now waits.
                    #expect(await client.read(500_000).count == 500_000)
                    return await ContinuousClock().measure {
                        if properly { await client.close() } else { await client.reset() }
                        await title.waitUntilAbandoned()
                    }
                })
        }
        // The promised limit is one second; without the cancellation the transfer would end after thirty.
        #expect(waits.contains { $0 < .seconds(1) }, "\(waits)")
    }

    @Test("A client that disconnects before it gets a head cancels the request to the origin")
    func lostBeforeHead() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { [title] request in
            var answer = title.answer(to: request)
            answer.before = [.hold(gate)]
            return answer
        }
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault()) { service in
            let client = try service.client()
            await client.request("GET", service.target(url), host: service.host)
            await origin.wait { $0.first?.phase == .held }
            let wait = await ContinuousClock().measure {
                await client.close()
                await origin.wait { $0.first?.phase == .abandoned }
            }
            #expect(wait < .seconds(10))
        }
    }

    @Test("A lost client does not affect another client's answer")
    func others() async throws {
        let title = try HeldTitle()
        try await title.serve { service in
            let (leaving, staying) = (try service.client(), try service.client())
            for client in [leaving, staying] {
                await client.request("GET", service.target(title.url), host: service.host)
                #expect(await client.readHead()?.status == 200)
                #expect(await client.read(400_000).count == 400_000)
            }
            await leaving.close()
            title.goOn()
            let rest = await staying.read(1_600_000)
            #expect(rest.count == 1_600_000 && title.media.matches(rest, at: 400_000))
        }
    }

    @Test("Held ranges, fetched ranges and refusals are answered on one connection")
    func keepAlive() async throws {
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault()) { [title] service in
            let client = try service.client()
            for start in [0, 0, 700_000, 5000, 700_000, 1_999_999, 0] as [Int64] {
                let range = start..<min(start + 5000, 2_000_000)
                let answer = try #require(
                    await client.ask(
                        "GET", service.target(url), host: service.host, fields: ["Range": "bytes=\(range.httpBytes)"]))
                #expect(answer.head.status == 206 && title.media.matches(answer.body, at: start))
                let refusal = try #require(
                    await client.ask(
                        "GET", service.target(url), host: service.host, fields: ["Range": "bytes=2000000-"]))
                #expect(refusal.head.status == 416)
            }
        }
    }

    @Test("Connection: close is obeyed")
    func close() async throws {
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault()) { service in
            let client = try service.client()
            let fields: KeyValuePairs = ["Range": "bytes=0-9", "Connection": "close"]
            let answer = try #require(await client.ask("GET", service.target(url), host: service.host, fields: fields))
            #expect(answer.body.count == 10)
            #expect(await client.readToEnd() == [])
        }
    }

    @Test("A client that stops reading slows the origin down, and gets every byte when it resumes")
    func stalledClient() async throws {
        let large = ScriptedResource(seed: 9, length: 64_000_000)
        let origin = try ScriptedOrigin(large)
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault()) { service in
            let client = try service.client(receiveBuffer: 16 * 1024)
            await client.request("GET", service.target(url), host: service.host)
            #expect(await client.readHead()?.status == 200)
            await origin.wait { $0.last?.phase == .blocked }
            #expect((origin.exchanges.last?.bodyBytesSent ?? 0) < 64_000_000)
            var offset: Int64 = 0
            while offset < 64_000_000 {
                let bytes = await client.read(1_000_000)
                guard bytes.count == 1_000_000 else { break }
                #expect(large.media.matches(bytes, at: offset))
                offset += 1_000_000
            }
            #expect(offset == 64_000_000)
        }
    }

    @Test("The service shuts down within its limit during answers, and closes them")
    func shutdown() async throws {
        let title = try HeldTitle()
        let clients = try await title.serve { service in
            let (waiting, stalled, idle) = (
                try service.client(), try service.client(receiveBuffer: 16 * 1024), try service.client()
            )
            await waiting.request("GET", service.target(title.url), host: service.host)
            #expect(await waiting.readHead()?.status == 200)
            #expect(await waiting.read(500_000).count == 500_000)
            await stalled.request("GET", service.target(title.url), host: service.host)
            #expect(await stalled.readHead()?.status == 200)
            _ = await idle.ask("GET", "/healthz", host: service.host)
            return [waiting, idle]
        }
        for client in clients { #expect(await client.readToEnd() == []) }
    }

    @Test("A connection over the limit is not answered until another ends")
    func maxConnections() async throws {
        var configuration = ServiceConfiguration()
        configuration.maxConnections = 1
        configuration.connectionLimits.yielding = .seconds(60)
        try await RunningService.run(over: try await TestVault(), configuration: configuration) { service in
            let first = try service.client()
            #expect(await first.ask("GET", "/healthz", host: service.host)?.head.status == 200)
            let second = try service.client()
            await second.request("GET", "/healthz", host: service.host)
            // Without the limit the second client would be answered long before the end of this loop.
            for _ in 0..<200 {
                #expect(await first.ask("GET", "/healthz", host: service.host)?.head.status == 200)
            }
            #expect(service.answersGiven == 201)
            await first.close()
            #expect(await second.readHead()?.status == 200)
            #expect(service.answersGiven == 202)
        }
    }

    @Test("A silent connection is closed before, during and after a request", arguments: ["", "GET /healthz HTT"])
    func idle(begun: String) async throws {
        var configuration = ServiceConfiguration()
        configuration.connectionLimits.idle = .milliseconds(200)
        try await RunningService.run(over: try await TestVault(), configuration: configuration) { service in
            let client = try service.client()
            if begun.isEmpty {
                _ = await client.ask("GET", "/healthz", host: service.host)
            } else {
                await client.send(begun)
            }
            #expect(await client.readToEnd() == [])
        }
    }

    @Test("A second service on the same port fails; one that is reachable from the network is refused unless allowed")
    func listening() async throws {
        let test = try await TestVault()
        try await RunningService.run(over: test) { service in
            var configuration = ServiceConfiguration()
            configuration.endsOnSignals = false
            configuration.address = ListenAddress(host: "127.0.0.1", port: service.port)
            let second = try VaultServer(vault: service.vault, configuration: configuration, logger: .silent)
            await #expect(throws: ListenFailure.self) { try await second.run() }
            configuration.address = ListenAddress(host: "0.0.0.0", port: 0)
            #expect { try VaultServer(vault: service.vault, configuration: configuration, logger: .silent) } throws: {
                ($0 as? VaultError)?.code == .invalidArgument
            }
            configuration.isInsecure = true
            _ = try VaultServer(vault: service.vault, configuration: configuration, logger: .silent)
        }
    }
}
