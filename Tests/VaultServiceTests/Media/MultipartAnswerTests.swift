import Foundation
import OriginTestSupport
import Testing
import VaultModel

@Suite("Several ranges over HTTP", .timeLimit(.minutes(5)))
struct MultipartAnswerTests {
    private let title = ScriptedResource(seed: 31, length: 1_000_000)

    private func service(
        over test: TestVault? = nil, isOffline: Bool = false, _ origin: ScriptedOrigin,
        _ body: @escaping @Sendable (RunningService, MediaURL) async throws -> Void
    ) async throws {
        let url = origin.url()
        let vault = if let test { test } else { try await TestVault() }
        try await RunningService.run(over: vault, isOffline: isOffline) { try await body($0, url) }
    }

    private func ranges(_ ranges: [ByteRange]) -> String {
        "bytes=" + ranges.map(\.httpBytes).joined(separator: ",")
    }

    @Test("Held parts are opened and only gaps are fetched, in the requested order")
    func gaps() async throws {
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        try await service(origin) { [title] service, url in
            _ = try await service.ask("GET", url, ["Range": "bytes=0-99999"])
            let before = origin.exchanges.reduce(0) { $0 + $1.bodyBytesSent }
            let asked: [ByteRange] = [500_000..<500_100, 10..<90_000, 99_990..<100_010]
            let client = try service.client()
            for status in ["MediaVault; fwd=partial; stored", "MediaVault; hit"] {
                let (head, body) = try #require(
                    await client.ask("GET", service.target(url), host: service.host, fields: ["Range": ranges(asked)]))
                #expect(head.status == 206 && head.fields["cache-status"] == status)
                #expect(head.fields["content-length"] == String(body.count))
                let parts = try #require(BodyPart.parts(of: body, type: head.fields["content-type"]))
                #expect(parts.map(\.bytes) == asked.map { title.media.bytes($0) })
            }
            let fetched = origin.exchanges.reduce(0) { $0 + $1.bodyBytesSent } - before
            // Each gap is smaller than a block, and is extended to the block as far as bytes are missing.
            #expect(fetched == 32_768 + (131_072 - 100_000))
            // Only the first part is held.
            let mixed = try #require(try await service.ask("GET", url, ["Range": "bytes=0-9,700000-700009"]))
            #expect(mixed.head.fields["cache-status"] == "MediaVault; fwd=partial; stored")
        }
    }

    @Test("If the origin is unreachable, parts end where the held bytes end")
    func unreachable() async throws {
        let origin = try ScriptedOrigin(title)
        try await service(origin) { [title, ranges] service, url in
            _ = try await service.ask("GET", url, ["Range": "bytes=0-199999"])
            origin.stop()
            // The origin answered a moment ago and counts as reachable until a request fails.
            #expect(try await service.ask("GET", url, ["Range": "bytes=500000-"])?.head.status == 504)
            let asked: [ByteRange] = [0..<10, 199_000..<300_000, 500_000..<500_010]
            let (head, body) = try #require(try await service.ask("GET", url, ["Range": ranges(asked)]))
            #expect(head.status == 206 && head.fields["cache-status"] == "MediaVault; hit")
            let parts = try #require(BodyPart.parts(of: body, type: head.fields["content-type"]))
            #expect(parts.map(\.bytes) == [title.media.bytes(0..<10), title.media.bytes(199_000..<200_000)])
            let alone = try #require(try await service.ask("GET", url, ["Range": "bytes=0-9,500000-500009"]))
            #expect(
                alone.head.fields["content-range"] == "bytes 0-9/1000000" && alone.body == title.media.bytes(0..<10))
        }
    }

    /// An origin that holds back the block with byte 600 000 until the gate opens.
    private func origin(holdingAt gate: Gate) throws -> ScriptedOrigin {
        try ScriptedOrigin { [title] request in
            var answer = title.answer(to: request)
            if request.range?.hasPrefix("bytes=589824") == true { answer.before = [.hold(gate)] }
            return answer
        }
    }

    /// The bytes after the first part: the head of the second, its ten bytes, and the end.
    private static let restCount = 109 + 10 + 40

    @Test("A part is sent while the next one is still awaited")
    func partByPart() async throws {
        let gate = Gate()
        let origin = try origin(holdingAt: gate)
        defer { origin.stop() }
        try await service(origin) { [title, ranges] service, url in
            let client = try service.client()
            let field = ranges([0..<300_000, 600_000..<600_010])
            await client.request("GET", service.target(url), host: service.host, fields: ["Range": field])
            let head = try #require(await client.readHead())
            let length = try #require(head.fields["content-length"].flatMap { Int($0) })
            let first = await client.read(length - Self.restCount)
            #expect(title.media.matches(Array(first.suffix(300_000)), at: 0))
            gate.open()
            let rest = await client.read(Self.restCount)
            #expect(title.media.matches(Array(rest.suffix(50).prefix(10)), at: 600_000))
        }
    }

    @Test("A client that disconnects between two parts cancels the request to the origin")
    func leaving() async throws {
        let origin = try origin(holdingAt: Gate())
        defer { origin.stop() }
        try await service(origin) { service, url in
            let client = try service.client()
            await client.request(
                "GET", service.target(url), host: service.host, fields: ["Range": "bytes=0-9,600000-600009"])
            #expect(await client.readHead()?.status == 206)
            await origin.wait { $0.contains { $0.phase == .held } }
            await client.close()
            await origin.wait { $0.contains { $0.phase == .abandoned } }
            #expect(origin.exchanges.contains { $0.phase == .abandoned })
        }
    }

    @Test("A representation that changes between two parts closes the connection; the two are never mixed")
    func changed() async throws {
        let (title, other) = (title, ScriptedResource(seed: 32, length: 1_000_000, entityTag: "\"v2\""))
        let origin = try ScriptedOrigin { request in
            (request.range?.hasPrefix("bytes=589824") == true ? other : title).answer(to: request)
        }
        defer { origin.stop() }
        try await service(origin) { service, url in
            let client = try service.client()
            await client.request(
                "GET", service.target(url), host: service.host, fields: ["Range": "bytes=0-9,600000-600009"])
            let head = try #require(await client.readHead())
            let length = try #require(head.fields["content-length"].flatMap { Int($0) })
            let body = await client.readToEnd()
            #expect(body.count < length)
            let bytes = String(decoding: body, as: UTF8.self)
            #expect(bytes.contains("bytes 0-9/1000000"))
            #expect(!body.suffix(10).elementsEqual(other.media.bytes(600_000..<600_010)))
        }
    }

    @Test("Offline, parts end where the held bytes end, and parts without held bytes are omitted")
    func offline() async throws {
        let origin = try ScriptedOrigin(title)
        let test = try await TestVault()
        try await service(over: test, origin) { service, url in
            for range in ["bytes=0-199999", "bytes=400000-499999"] {
                _ = try await service.ask("GET", url, ["Range": range])
            }
        }
        origin.stop()
        try await service(over: test, isOffline: true, origin) { [title, ranges] service, url in
            let cut: [ByteRange] = [0..<10, 450_000..<600_000, 700_000..<700_010]
            let (head, body) = try #require(try await service.ask("GET", url, ["Range": ranges(cut)]))
            #expect(head.status == 206)
            let parts = try #require(BodyPart.parts(of: body, type: head.fields["content-type"]))
            #expect(parts.map(\.range) == ["bytes 0-9/1000000", "bytes 450000-499999/1000000"])
            #expect(parts.map(\.bytes) == [title.media.bytes(0..<10), title.media.bytes(450_000..<500_000)])

            // If only one part is left, it is sent as a single range.
            for alone in [[0..<10, 700_000..<700_010], [199_990..<300_000, 0..<10]] as [[ByteRange]] {
                let (head, body) = try #require(try await service.ask("GET", url, ["Range": ranges(alone)]))
                let first = alone[0].clamped(to: 0..<200_000)
                #expect(head.status == 206)
                #expect(head.fields["content-range"] == "bytes \(first.httpBytes)/1000000")
                #expect(body == title.media.bytes(first))
            }
            let missing = try #require(try await service.ask("GET", url, ["Range": "bytes=700000-700009,0-9"]))
            #expect(missing.head.status == 504)
            let document = try #require(
                try JSONSerialization.jsonObject(with: Data(missing.body)) as? [String: any Sendable])
            #expect(document["firstMissing"] as? Int == 700_000)
        }
    }

    @Test("An origin's type cannot add fields to the head of a part")
    func hostileType() async throws {
        let origin = try ScriptedOrigin { [title] request in
            var answer = title.answer(to: request)
            answer.set("Content-Type", "video/mp4\rX-Injected: yes\u{B}")
            return answer
        }
        defer { origin.stop() }
        try await service(origin) { service, url in
            let (head, body) = try #require(try await service.ask("GET", url, ["Range": "bytes=0-0,2-2"]))
            let parts = try #require(BodyPart.parts(of: body, type: head.fields["content-type"]))
            // libcurl ends the value at the first line end of any kind.
            #expect(parts.count == 2 && parts.allSatisfy { $0.type == "video/mp4" })
            #expect(!String(decoding: body, as: UTF8.self).contains("X-Injected"))
        }
    }

    @Test("No two answers have the same boundary")
    func boundary() async throws {
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        try await service(origin) { service, url in
            var types: Set<String> = []
            for _ in 0..<20 {
                let (head, _) = try #require(try await service.ask("GET", url, ["Range": "bytes=0-0,2-2"]))
                types.insert(try #require(head.fields["content-type"]))
            }
            #expect(types.count == 20 && types.allSatisfy { $0.count == "multipart/byteranges; boundary=".count + 32 })
        }
    }
}
