import Foundation
import OriginTestSupport
import Testing
import VaultModel

@Suite("Offline answers", .timeLimit(.minutes(5)))
struct OfflineAnswerTests {
    private let title = ScriptedResource(seed: 3, length: 1_000_000)

    /// A vault that holds these ranges of a title, and whose origin is stopped.
    private func vault(
        holding ranges: [ByteRange], of other: ScriptedResource? = nil
    ) async throws -> (TestVault, MediaURL) {
        let origin = try ScriptedOrigin(other ?? title)
        defer { origin.stop() }
        let url = origin.url()
        let test = try await TestVault()
        try await RunningService.run(over: test) { service in
            for range in ranges {
                let answer = try #require(try await service.ask("GET", url, ["Range": "bytes=\(range.httpBytes)"]))
                #expect(answer.head.status == 206)
            }
        }
        return (test, url)
    }

    @Test("Held bytes play without an origin, byte for byte")
    func held() async throws {
        let (test, url) = try await vault(holding: [0..<1_000_000])
        try await RunningService.run(over: test, isOffline: true) { [title] service in
            let whole = try #require(try await service.ask("GET", url))
            #expect(whole.head.status == 200 && whole.head.fields["cache-status"] == "MediaVault; hit")
            #expect(whole.body.count == 1_000_000 && title.media.matches(whole.body, at: 0))
            let tail = try #require(try await service.ask("GET", url, ["Range": "bytes=-70000"]))
            #expect(tail.head.status == 206 && title.media.matches(tail.body, at: 930_000))
            let head = try #require(try await service.ask("HEAD", url))
            #expect(head.head.status == 200 && head.head.fields["content-length"] == "1000000")
        }
    }

    @Test("A missing first byte is 504, with the missing position and the held ranges")
    func firstByteMissing() async throws {
        let (test, url) = try await vault(holding: [0..<200_000])
        try await RunningService.run(over: test, isOffline: true) { service in
            let answer = try #require(try await service.ask("GET", url, ["Range": "bytes=500000-"]))
            #expect(answer.head.status == 504)
            #expect(answer.head.fields["content-type"] == "application/problem+json")
            let document = try #require(
                try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: any Sendable])
            #expect(document["firstMissing"] as? Int == 500_000)
            let held = try #require(document["held"] as? [[Int]])
            #expect(held.first?.first == 0 && (held.first?.last ?? 0) >= 200_000)
        }
    }

    @Test("A gap after the first byte shortens the range to the held bytes")
    func shortened() async throws {
        let (test, url) = try await vault(holding: [0..<200_000])
        try await RunningService.run(over: test, isOffline: true) { [title] service in
            let (head, body) = try #require(try await service.ask("GET", url, ["Range": "bytes=100-"]))
            #expect(head.status == 206)
            #expect(head.fields["content-range"] == "bytes 100-\(99 + body.count)/1000000")
            #expect(body.count >= 199_900 && body.count < 999_900)
            #expect(title.media.matches(body, at: 100))
            #expect(head.fields["cache-status"] == "MediaVault; hit", "the origin was not asked")
        }
    }

    @Test("A whole answer with a gap has the full length, and closes the connection at the gap without waiting")
    func wholeWithGap() async throws {
        let (test, url) = try await vault(holding: [0..<200_000])
        try await RunningService.run(over: test, isOffline: true) { [title] service in
            let client = try service.client()
            await client.request("GET", service.target(url), host: service.host)
            let head = try #require(await client.readHead())
            #expect(head.status == 200 && head.fields["content-length"] == "1000000")
            let body = await client.readToEnd()
            #expect(body.count >= 200_000 && body.count < 1_000_000)
            #expect(title.media.matches(body, at: 0))
        }
    }

    @Test("A slow client, too, gets every byte before the gap")
    func slowClientAtHole() async throws {
        // More than the kernel's buffers hold, so bytes still wait in the process at the gap.
        let title = ScriptedResource(seed: 4, length: 20_000_000)
        let (test, url) = try await vault(holding: [0..<16_000_000], of: title)
        try await RunningService.run(over: test, isOffline: true) { service in
            let full = try #require(try await service.ask("GET", url, ["Range": "bytes=0-"]))
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        let client = try service.client(receiveBuffer: 64 * 1024)
                        await client.request("GET", service.target(url), host: service.host)
                        #expect(await client.readHead()?.status == 200)
                        var body: [UInt8] = []
                        while case let more = await client.read(16 * 1024), !more.isEmpty {
                            body += more
                            // The pace of the client; the test waits for nothing here.
                            try await Task.sleep(for: .milliseconds(1))
                        }
                        #expect(body.count == full.body.count && title.media.matches(body, at: 0))
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("If an origin breaks off for good, the connection closes, and the bytes that were sent are right")
    func brokenOff() async throws {
        let title = title
        let origin = try ScriptedOrigin { request in
            var answer = title.answer(to: request)
            if request.method == "GET" {
                if request.number > 2 { return ScriptedAnswer(404, fields: ["Content-Length": "0"]) }
                answer.cut(at: 300_000, by: .close)
            }
            return answer
        }
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault()) { service in
            let client = try service.client()
            await client.request("GET", service.target(url), host: service.host)
            #expect(await client.readHead()?.status == 200)
            let body = await client.readToEnd()
            #expect(body.count < 1_000_000)
            #expect(title.media.matches(body, at: 0))
        }
    }
}
