import OriginTestSupport
import Testing
import VaultModel

@testable import VaultFetch

@Suite("Connections that carry a second request", .soon)
struct ReusedConnectionTests {
    private let resource = ScriptedResource(length: 100_000)

    /// An origin that sends extra bytes after its first answer, once the gate opens, and holds the answer to `/held`.
    private func origin(sending unasked: String, _ gate: Gate) throws -> ScriptedOrigin {
        try ScriptedOrigin { [resource] request in
            var answer = resource.answer(to: request)
            if request.target == "/held" { answer.before = [.hold(gate)] }
            if request.target == "/first" { answer.body += [.hold(gate), .bytes(Array(unasked.utf8))] }
            return answer
        }
    }

    @Test(
        "Bytes that follow a finished response do not answer the next request",
        arguments: ["HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlies", "HTTP/1.1 408 Late\r\n\r\n", "x"])
    func unasked(_ text: String) async throws {
        let gate = Gate()
        let server = try origin(sending: text, gate)
        let client = CurlOrigin.make()
        #expect(try await client.send(OriginRequest(url: server.url("/first"))).allBytes().count == 100_000)
        gate.open()
        await server.wait { $0[0].phase == .done }
        let second = try await client.send(OriginRequest(url: server.url("/second"), first: 5, end: 9000))
        #expect(try await second.allBytes() == resource.media.bytes(5..<9000))
        #expect(server.exchanges.map(\.request.target) == ["/first", "/second"])
        #expect(server.exchanges.map(\.connection) == [0, 1])
    }

    @Test("Such bytes answer no request while other transfers wait for their heads")
    func unaskedInCompany() async throws {
        let (gate, never) = (Gate(), Gate())
        let server = try origin(sending: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlies", gate)
        let other = try origin(sending: "", never)
        let client = CurlOrigin.make()
        let waiting = Task { try await client.send(OriginRequest(url: other.url("/held"))) }
        await other.wait { $0.first?.phase == .held }
        #expect(try await client.send(OriginRequest(url: server.url("/first"))).allBytes().count == 100_000)
        gate.open()
        await server.wait { $0[0].phase == .done }
        let second = try await client.send(OriginRequest(url: server.url("/second")))
        #expect(try await second.allBytes() == resource.media.bytes(0..<100_000))
        #expect(server.exchanges.map(\.connection) == [0, 1])
        #expect(other.exchanges[0].phase == .held, "the request keeps waiting")
        waiting.cancel()
        _ = await waiting.result
    }

    @Test("If such bytes are on every kept connection, the request uses a fresh one")
    func unaskedOnAll() async throws {
        let (gate, title) = (Gate(), ScriptedResource(length: 1_000_000))
        let server = try ScriptedOrigin { request in
            var answer = title.answer(to: request)
            let lies = Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlies".utf8)
            if request.target == "/first" { answer.body += [.hold(gate), .bytes(lies)] }
            return answer
        }
        let client = CurlOrigin.make()
        // The first answer is not read yet when the second is requested, so each has its own connection.
        let first = [
            try await client.send(OriginRequest(url: server.url("/first"))),
            try await client.send(OriginRequest(url: server.url("/first"))),
        ]
        for response in first { #expect(try await response.allBytes().count == 1_000_000) }
        gate.open()
        await server.wait { $0.count == 2 && $0.allSatisfy { $0.phase == .done } }
        let second = try await client.send(OriginRequest(url: server.url("/second"), first: 5, end: 9000))
        #expect(try await second.allBytes() == title.media.bytes(5..<9000))
        #expect(server.exchanges.map(\.connection) == [0, 1, 2])
    }

    @Test("An invalid head on a kept connection is retried once, on a fresh one, and no more than once")
    func malformed() async throws {
        let server = try ScriptedOrigin { [resource] request in
            request.target == "/bad" || request.number == 1 ? .raw("junk\r\n\r\n") : resource.answer(to: request)
        }
        let client = CurlOrigin.make()
        for _ in 0..<2 {
            let response = try await client.send(OriginRequest(url: server.url("/good")))
            #expect(try await response.allBytes() == resource.media.bytes(0..<100_000))
        }
        #expect(server.exchanges.map(\.connection) == [0, 0, 1])
        let failure = await #expect(throws: OriginFailure.self) {
            try await client.send(OriginRequest(url: server.url("/bad")))
        }
        #expect(failure?.kind == .invalidResponse)
        #expect(server.exchanges.map(\.connection) == [0, 0, 1, 1, 2])
    }

    @Test("A valid head is accepted or refused at once, without a retry")
    func wellFormed() async throws {
        let server = try ScriptedOrigin { [resource] request in
            request.number == 1 ? .redirect(to: "file:///etc/passwd") : resource.answer(to: request)
        }
        let client = CurlOrigin.make()
        _ = try await client.send(OriginRequest(url: server.url())).allBytes()
        await #expect(throws: OriginFailure.self) { try await client.send(OriginRequest(url: server.url())) }
        #expect(server.exchanges.count == 2)
    }
}

#if os(Linux)
import Glibc

extension ReusedConnectionTests {
    @Test("No child process inherits a connection to an origin")
    func closedOnExec() async throws {
        let server = try ScriptedOrigin(ScriptedResource(length: 1 << 40))
        let response = try await CurlOrigin.make().send(OriginRequest(url: server.url()))
        let socket = try #require((0..<4096).first { Self.peerPort(of: $0) == server.port })
        #expect(fcntl(socket, F_GETFD) & FD_CLOEXEC != 0)
        response.cancel()
    }

    private static func peerPort(of socket: Int32) -> Int? {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = unsafe withUnsafeMutableBytes(of: &address) { bytes in
            let plain = unsafe bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
            return unsafe plain.map { unsafe getpeername(socket, $0, &size) }
        }
        return result == 0 && address.sin_family == AF_INET ? Int(in_port_t(bigEndian: address.sin_port)) : nil
    }
}
#endif
