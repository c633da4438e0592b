import OriginTestSupport
import Testing
import VaultModel

@testable import VaultFetch

@Suite("Origins that break off, send invalid responses, or are not there", .soon)
struct BrokenAnswerTests {
    private static func failure(_ script: @escaping @Sendable (ScriptedRequest) -> ScriptedAnswer) async throws
        -> OriginFailure
    {
        let server = try ScriptedOrigin(script)
        return try await #require(throws: OriginFailure.self) {
            try await CurlOrigin.make().send(OriginRequest(url: server.url()))
        }
    }

    @Test("A truncated body is interrupted after its bytes", arguments: [true, false])
    func truncated(isChunked: Bool) async throws {
        let resource = ScriptedResource(length: 100_000)
        let server = try ScriptedOrigin { request in
            var answer = resource.answer(to: request)
            if isChunked { answer.sendInChunks() }
            answer.cut(at: 70_000, by: .close)
            return answer
        }
        let response = try await CurlOrigin.make().send(OriginRequest(url: server.url()))
        let (bytes, failure) = try await response.bytesBeforeFailure()
        #expect(bytes == resource.media.bytes(0..<70_000))
        #expect(failure.kind == .interrupted)
    }

    @Test("A reset connection is interrupted after correct bytes")
    func reset() async throws {
        let resource = ScriptedResource(length: 100_000)
        let gate = Gate()
        let server = try ScriptedOrigin { request in
            var answer = resource.answer(to: request)
            answer.insert(.hold(gate), at: 1000)
            answer.cut(at: 1000, by: .reset)
            return answer
        }
        let response = try await CurlOrigin.make().send(OriginRequest(url: server.url()))
        let first = try await response.bytes(atLeast: 1000)
        gate.open()
        let (rest, failure) = try await response.bytesBeforeFailure()
        #expect(first + rest == resource.media.bytes(0..<1000))
        #expect(failure.kind == .interrupted)
    }

    @Test("A connection closed without an answer is interrupted")
    func nothing() async throws {
        let closing = try await Self.failure { _ in
            var answer = ScriptedAnswer(200)
            answer.before = [.close]
            return answer
        }
        #expect(closing.kind == .interrupted)
    }

    @Test("Silence before the head is unreachable")
    func silentBeforeHead() async throws {
        let gate = Gate()
        let server = try ScriptedOrigin { _ in
            var answer = ScriptedAnswer(200)
            answer.before = [.hold(gate)]
            return answer
        }
        let failure = try await #require(throws: OriginFailure.self) {
            try await CurlOrigin.make(stall: .seconds(1)).send(OriginRequest(url: server.url()))
        }
        #expect(failure == OriginFailure(.unreachable, "no response in time"))
    }

    @Test("A host without an address is unreachable")
    func noHost() async throws {
        let failure = try await #require(throws: OriginFailure.self) {
            try await CurlOrigin.make().send(
                OriginRequest(url: MediaURL("http://nowhere.invalid/film.mp4?token=secret")))
        }
        #expect(failure.kind == .unreachable && failure.reason == "host name not found")
        #expect(failure.remedy?.contains("check the host in the URL") == true)
    }

    @Test("An https address that does not speak TLS is unreachable")
    func noTLS() async throws {
        let server = try ScriptedOrigin(ScriptedResource(length: 1))
        let failure = try await #require(throws: OriginFailure.self) {
            try await CurlOrigin.make(connect: .seconds(2)).send(
                OriginRequest(url: MediaURL("https://127.0.0.1:\(server.port)/")))
        }
        #expect(failure.kind == .unreachable)
    }

    @Test(
        "An answer that is not HTTP is an invalid response",
        arguments: [
            "SSH-2.0-x\r\n\r\n", "<html>hello</html>", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        ])
    func notHTTP(_ text: String) async throws {
        #expect(try await Self.failure { _ in .raw(text) }.kind == .invalidResponse)
    }

    @Test(
        "A head of too many fields or bytes is an invalid response, also if libcurl itself gives up on it",
        arguments: [(1, 201), (995, 70), (300_000, 1)])
    func hugeHead(_ length: Int, _ count: Int) async throws {
        let field = "A: " + String(repeating: "x", count: length) + "\r\n"
        let head = "HTTP/1.1 200 OK\r\n" + String(repeating: field, count: count) + "\r\n"
        #expect(try await Self.failure { _ in .raw(head) }.kind == .invalidResponse)
    }

    @Test("A field with a line break sends nothing at all")
    func injection() async throws {
        let server = try ScriptedOrigin(ScriptedResource(length: 1))
        let origin = CurlOrigin.make()
        let error = try await #require(throws: VaultError.self) {
            try await origin.send(
                OriginRequest(url: server.url(), fields: HeaderFields(["X-A": "b\r\nX-Injected: c"])))
        }
        #expect(error.code == .invalidArgument)
        _ = try await origin.send(OriginRequest(url: server.url("/after")))
        #expect(server.exchanges.map(\.request.target) == ["/after"])
    }
}
