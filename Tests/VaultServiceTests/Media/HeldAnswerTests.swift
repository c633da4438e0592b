import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Held bytes are answered on the spot, and like all others", .timeLimit(.minutes(5)))
struct HeldAnswerTests {
    private let film = ScriptedResource(seed: 9, length: 2_000_000)

    /// A service that holds the film, with a segment of it open.
    private func holding(
        configuration: ServiceConfiguration = ServiceConfiguration(),
        _ body: @escaping @Sendable (RunningService, MediaURL, ScriptedOrigin) async throws -> Void
    ) async throws {
        let origin = try ScriptedOrigin(film)
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault(), configuration: configuration) { service in
            for try await _ in service.vault.download(url) {}
            #expect(try await service.ask("GET", url, ["Range": "bytes=0-99"])?.head.status == 206)
            // What the suite is about: nothing has to be waited for.
            #expect(
                service.vault.held(MediaReference(url), range: .closed(first: 100, last: 199), atMost: 100) != nil)
            try await body(service, url, origin)
        }
    }

    private func media(_ range: ByteRange) -> [UInt8] { film.media.bytes(range) }

    @Test("Requests sent together are answered in their order, those that are held and those that are not")
    func order() async throws {
        try await holding { service, url, _ in
            let (target, client) = (service.target(url), try service.client())
            func request(_ target: String, _ fields: String = "") -> String {
                "GET \(target) HTTP/1.1\r\nHost: \(service.host)\r\n\(fields)\r\n"
            }
            await client.send(
                request(target, "Range: bytes=1000-1099\r\n") + request("/healthz")
                    + request(target, "Range: bytes=500000-500009\r\n") + request("/nothing")
                    + request(target, "Range: bytes=0-1999999\r\n") + request(target, "Range: bytes=7-8\r\n"))
            for (status, range) in [
                (206, 1000..<1100), (200, nil), (206, 500_000..<500_010), (404, nil), (206, 0..<2_000_000),
                (206, 7..<9),
            ] as [(Int, ByteRange?)] {
                let head = try #require(await client.readHead())
                #expect(head.status == status)
                let body = await client.read(Int(head.fields["content-length"] ?? "") ?? 0)
                if let range { #expect(body == media(range)) }
            }
        }
    }

    @Test("The head says what it says of every other answer")
    func head() async throws {
        try await holding { service, url, _ in
            let held = try #require(try await service.ask("GET", url, ["Range": "bytes=10-19"])).head
            // More than is answered on the spot.
            let long = try #require(try await service.ask("GET", url, ["Range": "bytes=10-900009"])).head
            #expect(Set(held.fields.keys) == Set(long.fields.keys))
            for name in ["etag", "content-type", "cache-status", "accept-ranges", "cache-control", "last-modified"] {
                #expect(held.fields[name] == long.fields[name], "\(name)")
            }
            #expect(held.fields["content-range"] == "bytes 10-19/2000000")
            #expect(held.fields["cache-status"] == "MediaVault; hit")
        }
    }

    @Test("Titles that are asked for in turn on one connection have each its own head")
    func turns() async throws {
        let tone = ScriptedResource(
            seed: 4, length: 5000, contentType: "audio/mpeg", lastModified: "Sat, 21 Nov 2020 12:00:00 GMT")
        try await holding { [film] service, url, origin in
            origin.answer { tone.answer(to: $0) }
            let other = origin.url("/tone.mp3")
            for try await _ in service.vault.download(other) {}
            let client = try service.client()
            var tags: Set<String?> = []
            for _ in 0..<3 {
                for (url, resource) in [(url, film), (other, tone)] {
                    let (head, body) = try #require(
                        await client.ask(
                            "GET", service.target(url), host: service.host, fields: ["Range": "bytes=10-29"]))
                    #expect(head.status == 206 && body == resource.media.bytes(10..<30))
                    #expect(head.fields["content-range"] == "bytes 10-29/\(resource.media.length)")
                    #expect(head.fields["content-type"] == resource.contentType)
                    #expect(head.fields["last-modified"] == resource.lastModified)
                    tags.insert(head.fields["etag"])
                }
            }
            #expect(tags.count == 2 && !tags.contains(nil))
        }
    }

    @Test("What heads have in common counts for one representation, and for the second of its Date")
    func common() async throws {
        try await holding { service, url, origin in
            func held(_ url: MediaURL) throws -> HeldMedia {
                try #require(
                    service.vault.held(MediaReference(url), range: .closed(first: 0, last: 9), atMost: 10))
            }
            let other = origin.url("/other.mp4")
            for try await _ in service.vault.download(other) {}
            _ = try await service.ask("GET", other, ["Range": "bytes=0-9"])
            let head = CacheHitHead(try held(url), now: 1_800_000_000)
            #expect(try head.isValid(for: held(url), now: 1_800_000_000))
            #expect(try !head.isValid(for: held(url), now: 1_800_000_001))
            #expect(try !head.isValid(for: held(other), now: 1_800_000_000))
        }
    }

    @Test("On one connection an address stops opening when it is revoked")
    func revoked() async throws {
        try await holding { service, url, _ in
            let (target, client) = (service.target(url), try service.client())
            func status() async -> Int? {
                await client.ask("GET", target, host: service.host, fields: ["Range": "bytes=0-9"])?.head.status
            }
            #expect(await status() == 206)
            #expect(await status() == 206)
            try await service.vault.revokeLinks()
            #expect(await status() == 404)
        }
    }

    @Test("On one connection an address stops opening when its time is over")
    func expired() async throws {
        try await holding { service, url, _ in
            func seconds() -> Int64 { Int64(Date().timeIntervalSince1970) }
            let (client, end) = (try service.client(), seconds() + 2)
            let target = service.vault.tokens.playbackPath(for: url, expires: end)
            func status() async -> Int? {
                await client.ask("GET", target, host: service.host, fields: ["Range": "bytes=0-9"])?.head.status
            }
            #expect(await status() == 206)
            // The connection is at work all the time: what it has found out is not looked up again.
            while seconds() < end { #expect([206, 404].contains(await status())) }
            #expect(await status() == 404)
        }
    }

    @Test("Another page, another name and another method are judged before")
    func judged() async throws {
        try await holding { service, url, _ in
            let (target, client) = (service.target(url), try service.client())
            func status(
                _ fields: KeyValuePairs<String, String>, host: String? = nil, method: String = "GET"
            ) async -> Int? {
                await client.ask(method, target, host: host ?? service.host, fields: fields)?.head.status
            }
            #expect(await status(["Range": "bytes=0-9"]) == 206)
            #expect(await status(["Range": "bytes=0-9", "Origin": "https://evil.example"]) == 403)
            #expect(await status(["Range": "bytes=0-9"], host: "evil.example") == 421)
            #expect(await status(["Range": "bytes=0-9"], method: "POST") == 405)
        }
    }

    @Test("A connection that is to be closed is closed after the answer")
    func close() async throws {
        try await holding { service, url, _ in
            let client = try service.client()
            await client.request(
                "GET", service.target(url), host: service.host, fields: ["Range": "bytes=0-9", "Connection": "close"])
            #expect(await client.readHead()?.fields["connection"] == "close")
            #expect(await client.readToEnd() == media(0..<10))
        }
    }

    @Test("A body that a request has is no reason for a wrong answer")
    func body() async throws {
        try await holding { service, url, _ in
            let (target, client) = (service.target(url), try service.client())
            for _ in 0..<2 {
                let answer = try #require(
                    await client.ask(
                        "GET", target, host: service.host, fields: ["Range": "bytes=0-9"], body: "GET / HTTP/1.1"))
                #expect(answer.head.status == 206 && answer.body == media(0..<10))
            }
        }
    }

    @Test("A block that was changed on disk is fetched anew, and its bytes are never given")
    func damage() async throws {
        try await holding { service, url, origin in
            let asked = origin.exchanges.count
            try Self.flipByte(in: service.folder + "/segments")
            let answer = try #require(try await service.ask("GET", url, ["Range": "bytes=0-1999"]))
            #expect(answer.head.status == 206 && answer.body == media(0..<2000))
            #expect(origin.exchanges.count > asked)
        }
    }

    /// Changes a byte of the first block of every segment.
    private static func flipByte(in folder: String) throws {
        var count = 0
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) where name.count > 30 {
            let file = try FileHandle(forUpdating: URL(filePath: folder + "/" + name))
            try file.seek(toOffset: 90)
            let byte = try #require(try file.read(upToCount: 1)?.first)
            try file.seek(toOffset: 90)
            try file.write(contentsOf: [byte ^ 1])
            try file.close()
            count += 1
        }
        #expect(count > 0)
    }

    @Test("A client that takes nothing is not given more and more (L18)")
    func standing() async throws {
        try await holding { service, url, _ in
            let client = try service.client(receiveBuffer: 4096)
            let request =
                "GET \(service.target(url)) HTTP/1.1\r\nHost: \(service.host)\r\nRange: bytes=0-99999\r\n\r\n"
            for _ in 0..<200 { await client.send(request) }
            // Others are answered meanwhile, and all that was asked for comes once it is taken.
            #expect(try await service.ask("GET", url, ["Range": "bytes=5-9"])?.body == media(5..<10))
            for _ in 0..<200 {
                #expect(await client.readHead()?.status == 206)
                #expect(await client.read(100_000) == media(0..<100_000))
            }
        }
    }
}
