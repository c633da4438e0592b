import OriginTestSupport
import Testing
import VaultModel

@testable import VaultFetch

/// Each test ends when the origin sees its client go, or fails by the time limit.
@Suite("Cancellation", .soon)
struct CancelTests {
    private static func held(_ gate: Gate, at place: Int64?) throws -> ScriptedOrigin {
        let resource = ScriptedResource(length: 1_000_000)
        return try ScriptedOrigin { request in
            var answer = resource.answer(to: request)
            if let place { answer.insert(.hold(gate), at: place) } else { answer.before = [.hold(gate)] }
            return answer
        }
    }

    @Test("Before the head, the task ends and the connection is closed")
    func beforeHead() async throws {
        let server = try Self.held(Gate(), at: nil)
        let origin = CurlOrigin.make()
        let task = Task { try await origin.send(OriginRequest(url: server.url())) }
        await server.wait { $0.first?.phase == .held }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await server.wait { $0[0].phase == .abandoned }
    }

    @Test("A task cancelled beforehand sends nothing")
    func beforeStart() async throws {
        let server = try ScriptedOrigin(ScriptedResource(length: 1))
        let origin = CurlOrigin.make()
        let task = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await origin.send(OriginRequest(url: server.url()))
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        _ = try await origin.send(OriginRequest(url: server.url("/after")))
        #expect(server.exchanges.map(\.request.target) == ["/after"])
    }

    @Test("Cancelling the task ends a wait for bytes")
    func waitingTask() async throws {
        let server = try Self.held(Gate(), at: 10)
        let response = try await CurlOrigin.make().send(OriginRequest(url: server.url()))
        #expect(try await response.bytes(atLeast: 10).count == 10)
        let task = Task { try await response.nextBytes() }
        await server.wait { $0[0].phase == .held }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await server.wait { $0[0].phase == .abandoned }
        await #expect(throws: CancellationError.self) { try await response.nextBytes() }
    }

    @Test("cancel() ends a wait for bytes")
    func waitingCancel() async throws {
        let server = try Self.held(Gate(), at: 10)
        let response = try await CurlOrigin.make().send(OriginRequest(url: server.url()))
        #expect(try await response.bytes(atLeast: 10).count == 10)
        let task = Task { try await response.nextBytes() }
        response.cancel()
        response.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await server.wait { $0[0].phase == .abandoned }
    }

    @Test("Cancelling a paused transfer drops its buffered bytes", arguments: [true, false])
    func paused(byLettingGo: Bool) async throws {
        let server = try ScriptedOrigin(ScriptedResource(length: 1 << 40))
        let origin = CurlOrigin.make()
        var response: (any OriginResponse)? = try await origin.send(OriginRequest(url: server.url()))
        await server.wait { $0[0].phase == .blocked }
        if byLettingGo { response = nil } else { response?.cancel() }
        await server.wait { $0[0].phase == .abandoned }
        if let response { await #expect(throws: CancellationError.self) { try await response.nextBytes() } }
    }

    @Test("A transfer can be cancelled from within the reading loop")
    func reading() async throws {
        let server = try ScriptedOrigin(ScriptedResource(length: 1 << 40))
        let response = try await CurlOrigin.make().send(OriginRequest(url: server.url()))
        _ = try await response.bytes(atLeast: 1_000_000)
        response.cancel()
        await server.wait { $0[0].phase == .abandoned }
    }

    @Test("Cancelling during a host lookup ends the transfer, and other transfers do not wait for it")
    func lookingUp() async throws {
        let server = try ScriptedOrigin(ScriptedResource(length: 1000))
        let origin = CurlOrigin.make()
        for index in 0..<20 {
            let url = try MediaURL("http://host\(index).invalid/")
            let task = Task { try await origin.send(OriginRequest(url: url)) }
            await Task.yield()
            task.cancel()
            await #expect(throws: (any Error).self) { try await task.value }
        }
        #expect(try await origin.send(OriginRequest(url: server.url())).allBytes().count == 1000)
    }

    @Test("AVPlayer's pattern of open ranges cut off again and again leaves no transfer running")
    func playerPattern() async throws {
        let resource = ScriptedResource(length: 50_000_000)
        let server = try ScriptedOrigin(resource)
        let origin = CurlOrigin.make()
        for index in 0..<50 as Range<Int64> {
            let first = index * 997_331
            let response = try await origin.send(OriginRequest(url: server.url(), first: first))
            let bytes = try await response.bytes(atLeast: 1000)
            #expect(resource.media.matches(bytes, at: first))
            response.cancel()
        }
        await server.wait { $0.count == 50 && $0.allSatisfy { $0.phase == .abandoned || $0.phase == .done } }
    }

    @Test("Cancelled at any moment, by the task and by the answer at once, each wait ends exactly once")
    func races() async throws {
        let server = try Self.held(Gate(), at: 300_000)
        let origin = CurlOrigin.make()
        for turn in 0..<100 {
            let task = Task {
                let response = try await origin.send(OriginRequest(url: server.url()))
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        await #expect(throws: CancellationError.self) { try await response.allBytes() }
                    }
                    group.addTask {
                        await server.wait { $0[turn].bodyBytesSent >= turn * 3000 }
                        response.cancel()
                    }
                }
            }
            // From the first sent byte to the last one before the gate, which stays closed.
            await server.wait { $0.count > turn && $0[turn].bodyBytesSent >= turn * 3000 }
            task.cancel()
            // A continuation resumed twice traps; one never resumed runs into the time limit.
            if case .failure(let error) = await task.result { #expect(error is CancellationError) }
            await server.wait { $0[turn].phase == .abandoned }
        }
        #expect(server.exchanges.count == 100)
    }
}
