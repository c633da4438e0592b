import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultModel

/// The rows of the table in *HTTP behaviour* that no other suite covers.
@Suite("Status table", .timeLimit(.minutes(5)))
struct StatusTableTests {
    private let title = ScriptedResource(seed: 41, length: 1_000_000)

    private func problem(_ body: [UInt8]) throws -> [String: any Sendable] {
        try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [String: any Sendable])
    }

    @Test("A range of a resource of unknown length is 206 with an asterisk")
    func unknownLength() async throws {
        let origin = try ScriptedOrigin { [title] request in
            var answer = title.answer(to: request)
            if let range = answer.fields.first(where: { $0.name == "Content-Range" })?.value {
                answer.set("Content-Range", range.replacing("/1000000", with: "/*"))
            } else {
                answer = ScriptedAnswer(405, fields: ["Content-Length": "0"])
            }
            return answer
        }
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault()) { [title] service in
            for _ in 0..<2 {
                let (head, body) = try #require(try await service.ask("GET", url, ["Range": "bytes=5-104"]))
                #expect(head.status == 206 && head.fields["content-range"] == "bytes 5-104/*")
                #expect(body.count == 100 && title.media.matches(body, at: 5))
            }
        }
    }

    @Test(
        "A range without bytes is ignored if the length is unknown (RFC 9110 §14.2, §14.4)",
        arguments: ["bytes=-0", "bytes=9-2"])
    func nothingOfUnknownLength(field: String) async throws {
        let origin = try ScriptedOrigin { [title] request in
            var answer = title.answer(to: request)
            answer.status = 200
            for name in ["Accept-Ranges", "Content-Range", "Content-Length"] { answer.set(name, nil) }
            guard request.method == "GET" else { return answer }
            answer.body = [.media(title.media, 0..<1_000_000)]
            answer.sendInChunks()
            return answer
        }
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault()) { [title] service in
            let client = try service.client()
            await client.request("GET", service.target(url), host: service.host, fields: ["Range": field])
            let head = try #require(await client.readHead())
            #expect(head.status == 200 && head.fields["content-range"] == nil)
            try #require(head.fields["transfer-encoding"] == "chunked" && head.fields["content-length"] == nil)
            var body: [UInt8] = []
            while let chunk = await client.readChunk() { body += chunk }
            #expect(body.count == 1_000_000)
            #expect(title.media.matches(body, at: 0))
        }
    }

    @Test("If the origin is unreachable, a missing first byte is 504, and a later gap shortens the range")
    func unreachable() async throws {
        let origin = try ScriptedOrigin(title)
        let url = origin.url()
        try await RunningService.run(over: try await TestVault()) { [title] service in
            _ = try await service.ask("GET", url, ["Range": "bytes=0-199999"])
            origin.stop()
            let (gone, body) = try #require(try await service.ask("GET", url, ["Range": "bytes=500000-"]))
            #expect(gone.status == 504 && gone.fields["content-type"] == "application/problem+json")
            #expect(gone.fields["cache-status"] == "MediaVault; fwd=miss; detail=unreachable")
            #expect(try problem(body)["firstMissing"] as? Int == 500_000)

            let (cut, held) = try #require(try await service.ask("GET", url, ["Range": "bytes=100-"]))
            #expect(cut.status == 206 && cut.fields["content-range"] == "bytes 100-199999/1000000")
            #expect(held.count == 199_900 && title.media.matches(held, at: 100))
            #expect(cut.fields["cache-status"] == "MediaVault; hit", "no byte comes from the origin")

            let client = try service.client()
            await client.request("GET", service.target(url), host: service.host)
            let whole = try #require(await client.readHead())
            #expect(whole.status == 200 && whole.fields["content-length"] == "1000000")
            #expect(await client.readToEnd().count == 200_000)
        }
    }

    @Test("A busy origin is 503 with its Retry-After, an invalid response 502", arguments: [429, 503, 206])
    func refusals(status: Int) async throws {
        let origin = try ScriptedOrigin { [title] request in
            guard status != 206 else {
                var answer = title.answer(to: request)
                answer.set("Content-Range", "bytes 7-16/1000000")
                return answer
            }
            return ScriptedAnswer(status, fields: ["Content-Length": "0", "Retry-After": "23"])
        }
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault()) { service in
            let (head, _) = try #require(try await service.ask("GET", url, ["Range": "bytes=0-9"]))
            #expect(head.status == (status == 206 ? 502 : 503))
            #expect(head.fields["retry-after"] == (status == 206 ? nil : "23"))
            #expect(head.fields["content-type"] == "application/problem+json")
            let told = status == 206 ? "detail=invalidResponse" : "fwd-status=\(status)"
            #expect(head.fields["cache-status"] == "MediaVault; fwd=miss; " + told)
        }
    }

    @Test("A byte that fails its tag is fetched again within the request; without an origin it is a gap")
    func damage() async throws {
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        let url = origin.url()
        let test = try await TestVault()
        try await RunningService.run(over: test) { service in
            let whole = try await service.ask("GET", url)
            #expect(whole?.body.count == 1_000_000)
            try await service.waitUntilHeld(1_000_000, of: url)
        }
        try flipByte(of: test, at: 500_000)
        try await RunningService.run(over: test, isOffline: true) { [title] service in
            let client = try service.client()
            await client.request("GET", service.target(url), host: service.host)
            #expect(await client.readHead()?.status == 200)
            let body = await client.readToEnd()
            #expect(body.count > 400_000 && body.count < 500_001 && title.media.matches(body, at: 0))
            let (head, _) = try #require(try await service.ask("GET", url, ["Range": "bytes=\(body.count)-"]))
            #expect(head.status == 504)
        }
        let asked = origin.exchanges.count
        try await RunningService.run(over: test) { [title] service in
            let (head, body) = try #require(try await service.ask("GET", url))
            #expect(head.status == 200 && body.count == 1_000_000 && title.media.matches(body, at: 0))
        }
        #expect(origin.exchanges.count > asked)
    }

    /// Changes one byte of the vault's only segment file.
    private func flipByte(of test: TestVault, at offset: Int) throws {
        let folder = URL(filePath: test.place.folder).appending(path: "segments")
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.count > 30 }
        #expect(files.count == 1)
        let file = folder.appending(path: try #require(files.first))
        var bytes = try Data(contentsOf: file)
        try #require(bytes.count > offset)
        bytes[offset] ^= 1
        try bytes.write(to: file)
    }

    @Test("Every refusal is a problem document, with the protective fields and without a capability (RFC 9457)")
    func problems() async throws {
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        let url = origin.url("/a/film.mp4?token=secret")
        try await RunningService.run(over: try await TestVault()) { service in
            let target = service.target(url)
            let capability = String(target.split(separator: "/")[1])
            for (method, target, host, fields, status) in [
                ("GET", target, "evil.test", [:], 421), ("GET", target, "", [:], 400), ("GET", "/x", nil, [:], 404),
                ("GET", target.replacing("/a/", with: "/a/../"), nil, [:], 404),
                ("POST", target, nil, ["Content-Length": "0"], 405),
                ("OPTIONS", target, nil, [:], 405), ("GET", target, nil, ["If-Match": "\"x\""], 412),
                ("GET", target, nil, ["Range": "bytes=5-2"], 416),
            ] as [(String, String, String?, KeyValuePairs<String, String>, Int)] {
                let answer = try #require(
                    await service.client().ask(method, target, host: host ?? service.host, fields: fields))
                #expect(answer.head.status == status)
                #expect(answer.head.fields["content-type"] == "application/problem+json", "\(status)")
                #expect(answer.head.fields["cache-control"] == "no-store", "\(status)")
                #expect(answer.head.fields["x-content-type-options"] == "nosniff", "\(status)")
                let document = try problem(answer.body)
                #expect(document["status"] as? Int == status && document["title"] as? String != nil)
                let text = String(decoding: answer.body, as: UTF8.self)
                #expect(!text.contains(capability) && !text.contains("secret"), "\(status)")
            }
        }
    }
}
