import OriginTestSupport
import Testing
import VaultModel

@testable import VaultFetch

@Suite("Delivery from a real socket", .soon)
struct DeliveryTests {
    @Test("A request asks for an inclusive range and delivers it unchanged")
    func range() async throws {
        let resource = ScriptedResource(length: 300_000)
        let server = try ScriptedOrigin(resource)
        let response = try await CurlOrigin.make().send(OriginRequest(url: server.url(), first: 1000, end: 201_000))
        #expect(response.head.status == 206)
        #expect(response.head.fields["content-range"] == "bytes 1000-200999/300000")
        #expect(try await response.allBytes() == resource.media.bytes(1000..<201_000))
        #expect(try await response.nextBytes() == nil)
        let request = try #require(server.exchanges.first?.request)
        #expect(request.method == "GET" && request.range == "bytes=1000-200999")
        #expect(request.fields["Accept-Encoding"] == "identity")
        #expect(request.fields["User-Agent"] == "MediaVault/test")
        #expect(request.fields["Cookie"] == nil && request.fields["Referer"] == nil)
    }

    @Test("The target is sent byte for byte")
    func target() async throws {
        let server = try ScriptedOrigin(ScriptedResource(length: 1))
        let url = try MediaURL("http://127.0.0.1:\(server.port)/a//b%2Fc/;d/é?x=%20&y=[1]|/../z")
        _ = try await CurlOrigin.make().send(OriginRequest(url: url)).allBytes()
        #expect(server.exchanges.first?.request.target == "/a//b%2Fc/;d/%C3%A9?x=%20&y=[1]|/../z")
    }

    @Test("HEAD returns a head and no body")
    func head() async throws {
        let server = try ScriptedOrigin(ScriptedResource(length: 300_000))
        let response = try await CurlOrigin.make().send(OriginRequest(url: server.url(), method: .head))
        #expect(response.head.fields["Content-Length"] == "300000")
        #expect(try await response.nextBytes() == nil)
        #expect(server.exchanges.first?.request.method == "HEAD")
    }

    @Test("Bytes are delivered before the body ends")
    func progressive() async throws {
        let resource = ScriptedResource(length: 100_000)
        let gates = [Gate(), Gate()]
        let server = try ScriptedOrigin { request in
            var answer = resource.answer(to: request)
            answer.insert(.hold(gates[1]), at: 10)
            answer.insert(.hold(gates[0]), at: 0)
            return answer
        }
        let response = try await CurlOrigin.make().send(OriginRequest(url: server.url()))
        // The head has arrived; the origin holds the body until the gate opens.
        await server.wait { $0[0].phase == .held }
        #expect(server.exchanges[0].bodyBytesSent == 0)
        gates[0].open()
        #expect(try await response.bytes(atLeast: 10) == resource.media.bytes(0..<10))
        gates[1].open()
        #expect(try await response.allBytes() == resource.media.bytes(10..<100_000))
    }

    @Test("Chunked and close-delimited bodies end properly", arguments: [true, false])
    func framings(isChunked: Bool) async throws {
        let resource = ScriptedResource(length: 100_000)
        let server = try ScriptedOrigin { request in
            var answer = resource.answer(to: request)
            if isChunked { answer.sendInChunks() } else { answer.sendUntilClose() }
            return answer
        }
        let response = try await CurlOrigin.make().send(OriginRequest(url: server.url()))
        #expect(try await response.allBytes() == resource.media.bytes(0..<100_000))
    }

    @Test("Two requests one after the other use one connection")
    func keepAlive() async throws {
        let server = try ScriptedOrigin(ScriptedResource(length: 100_000))
        let origin = CurlOrigin.make()
        for _ in 0..<2 { _ = try await origin.send(OriginRequest(url: server.url(), first: 5)).allBytes() }
        #expect(server.exchanges.map(\.connection) == [0, 0])
    }

    @Test("Informational responses are skipped and trailers ignored")
    func informational() async throws {
        let server = try ScriptedOrigin { _ in
            .raw(
                "HTTP/1.1 103 Early Hints\r\nX: 1\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "2\r\nab\r\n0\r\nTrailer: x\r\n\r\n")
        }
        let response = try await CurlOrigin.make().send(OriginRequest(url: server.url()))
        #expect(response.head.status == 200 && response.head.fields["X"] == nil)
        #expect(try await response.allBytes() == Array("ab".utf8))
    }

    @Test("Bytes beyond Content-Length are not delivered")
    func extraBytes() async throws {
        let server = try ScriptedOrigin { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabcd") }
        let response = try await CurlOrigin.make().send(OriginRequest(url: server.url()))
        #expect(try await response.allBytes() == Array("ab".utf8))
    }

    @Test("Empty bodies end at once")
    func empty() async throws {
        let server = try ScriptedOrigin(ScriptedResource(length: 0))
        let response = try await CurlOrigin.make().send(OriginRequest(url: server.url()))
        #expect(try await response.nextBytes() == nil)
    }

    @Test("Each of a hundred simultaneous transfers delivers its own bytes")
    func hundred() async throws {
        let resource = ScriptedResource(length: 20_000_000)
        let server = try ScriptedOrigin(resource)
        let origin = CurlOrigin.make()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<100 as Range<Int64> {
                let range = index * 150_000..<index * 150_000 + 200_000
                group.addTask {
                    let request = OriginRequest(url: server.url(), first: range.lowerBound, end: range.upperBound)
                    return try await origin.send(request).allBytes() == resource.media.bytes(range)
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
        #expect(server.exchanges.count == 100)
    }

    @Test("An origin that went away and came back is reached again")
    func comesBack() async throws {
        let server = try ScriptedOrigin(ScriptedResource(length: 1000))
        let origin = CurlOrigin.make()
        #expect(try await origin.send(OriginRequest(url: server.url())).allBytes().count == 1000)
        server.stop()
        let failure = try await #require(throws: OriginFailure.self) {
            try await origin.send(OriginRequest(url: server.url()))
        }
        #expect(failure == OriginFailure(.unreachable, "connection refused"))
        try server.start()
        #expect(try await origin.send(OriginRequest(url: server.url())).allBytes().count == 1000)
    }

    @Test("A client lives as long as its answers, even if no variable holds it")
    func lifetime() async throws {
        let resource = ScriptedResource(length: 1_000_000)
        let gate = Gate()
        let server = try ScriptedOrigin(resource, holdingAt: 500_000, gate)
        weak var client: CurlOrigin?
        var response: (any OriginResponse)? = try await {
            let origin = CurlOrigin.make()
            client = origin
            return try await origin.send(OriginRequest(url: server.url()))
        }()
        await server.wait { $0[0].phase == .held || $0[0].phase == .blocked }
        gate.open()
        #expect(try await response?.allBytes() == resource.media.bytes(0..<1_000_000))
        // The kept connection ends with the client's thread, which ends with the last answer.
        #expect(client != nil && !server.exchanges[0].isConnectionClosed)
        response = nil
        await server.wait { $0[0].isConnectionClosed }
        #expect(client == nil)
    }

    @Test("A client that is shut down ends its transfers and refuses new ones")
    func shutdown() async throws {
        let gate = Gate()
        let server = try ScriptedOrigin { request in
            var answer = ScriptedResource(length: 1000).answer(to: request)
            answer.insert(.hold(gate), at: 500)
            return answer
        }
        let origin = CurlOrigin.make()
        let response = try await origin.send(OriginRequest(url: server.url()))
        await origin.shutdown()
        let (_, failure) = try await response.bytesBeforeFailure()
        #expect(failure.kind == .unreachable)
        await server.wait { $0[0].phase == .abandoned }
        await #expect(throws: OriginFailure.self) { try await origin.send(OriginRequest(url: server.url())) }
        await origin.shutdown()
    }
}
