import OriginTestSupport
import Testing
import VaultModel

@testable import VaultFetch

@Suite("Back-pressure", .soon)
struct BackPressureTests {
    @Test("Without a reader, the origin can send no more than the buffers hold")
    func bounded() async throws {
        let huge = ScriptedResource(length: 1 << 40)
        let server = try ScriptedOrigin(huge)
        let origin = CurlOrigin.make()
        let response = try #require(try await origin.send(OriginRequest(url: server.url())) as? CurlResponse)
        await server.wait { $0[0].phase == .blocked && $0[0].bodyBytesSent >= Int64(Transfer.bufferLimit) }

        // Another transfer on the same thread is long enough to show that the first one is paused.
        let other = try ScriptedOrigin(ScriptedResource(length: 32_000_000))
        var count = 0
        let whole = try await origin.send(OriginRequest(url: other.url()))
        while let bytes = try await whole.nextBytes() { count += bytes.count }
        #expect(count == 32_000_000)

        #expect(response.transfer.backlog.isPaused)
        #expect(response.transfer.backlog.bytes <= Transfer.bufferLimit)
        #expect(server.exchanges[0].bodyBytesSent < 8_000_000)
    }

    @Test("A paused transfer that is read again delivers every byte, at most 64 KiB at a time")
    func resumes() async throws {
        let resource = ScriptedResource(length: 10_000_001)
        let server = try ScriptedOrigin(resource)
        let response = try #require(
            try await CurlOrigin.make().send(OriginRequest(url: server.url())) as? CurlResponse)
        var offset: Int64 = 0
        while true {
            // Lets the buffer fill up every megabyte or so.
            if offset % 1_000_000 < 16_384, offset < 9_000_000 {
                while !response.transfer.backlog.isPaused { try await Task.sleep(for: .milliseconds(1)) }
            }
            guard let bytes = try await response.nextBytes() else { break }
            #expect((1...65_536).contains(bytes.count))
            #expect(resource.media.matches(bytes, at: offset))
            offset += Int64(bytes.count)
        }
        #expect(offset == 10_000_001)
    }

    @Test("A paused transfer does not time out, and its time limit starts again on resumption")
    func pausedIsNotSilent() async throws {
        let isWhole = try await holds { limit in
            let resource = ScriptedResource(length: 5_000_000)
            let server = try ScriptedOrigin(resource)
            let origin = CurlOrigin.make(stall: limit)
            do {
                let response = try await origin.send(OriginRequest(url: server.url()))
                await server.wait { [.blocked, .abandoned].contains($0[0].phase) }
                // On the same thread, another transfer does stall for that long.
                let gate = Gate()
                let silent = try ScriptedOrigin { request in
                    var answer = resource.answer(to: request)
                    answer.insert(.hold(gate), at: 1)
                    return answer
                }
                let (bytes, failure) = try await origin.send(OriginRequest(url: silent.url())).bytesBeforeFailure()
                #expect(bytes.count == 1 && failure == OriginFailure(.interrupted, "no data for too long"))
                return try await response.allBytes() == resource.media.bytes(0..<5_000_000)
            } catch is OriginFailure {
                return false
            }
        }
        #expect(isWhole)
    }
}
