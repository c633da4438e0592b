import Foundation
import HTTPTypes
import Hummingbird
import Logging
import MediaVault
import NIOCore
import NIOEmbedded
import OriginTestSupport
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultService

@Suite("Held bytes are served at once, with the same answer as others", .timeLimit(.minutes(5)))
struct HeldAnswerTests {
    private let title = ScriptedResource(seed: 9, length: 2_000_000)

    /// Runs a service that holds the title, with one of its segments open.
    private func holding(
        configuration: ServiceConfiguration = ServiceConfiguration(),
        _ body: @escaping @Sendable (RunningService, MediaURL, ScriptedOrigin) async throws -> Void
    ) async throws {
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault(in: .disk), configuration: configuration) { service in
            for try await _ in service.vault.download(url) {}
            #expect(try await service.ask("GET", url, ["Range": "bytes=0-99"])?.head.status == 206)
            // The precondition of this suite: the bytes are available without waiting.
            let title = try await service.vault.name(MediaReference(url))
            let held = try #require(service.vault.playback.held(title, range: .closed(first: 100, last: 199)))
            let isOpen = unsafe withUnsafeTemporaryAllocation(byteCount: 100, alignment: 1) {
                unsafe service.vault.playback.open(held, into: $0)
            }
            #expect(isOpen)
            try await body(service, url, origin)
        }
    }

    private func media(_ range: ByteRange) -> [UInt8] { title.media.bytes(range) }

    @Test("Pipelined requests are answered in order, for held and missing bytes alike")
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

    @Test("A pipelined request is decided on by its own head, whatever was decided on the one before")
    func pipelined() async throws {
        try await holding { service, url, _ in
            let (target, client) = (service.target(url), try service.client())
            // Too long for an immediate answer, so each first request is passed on.
            let long = "GET \(target) HTTP/1.1\r\nHost: \(service.host)\r\nRange: bytes=10-900009\r\n"
            for (fields, status) in [("Origin: https://evil.example\r\n", 403), ("Referer: x\r\n", 206)] {
                await client.send(long + "\r\n" + long + fields + "\r\n")
                for expected in [206, status] {
                    let head = try #require(await client.readHead())
                    #expect(head.status == expected)
                    let body = await client.read(Int(head.fields["content-length"] ?? "") ?? 0)
                    if expected == 206 { #expect(body == media(10..<900_010)) }
                }
            }
        }
    }

    @Test("The head of a cache hit has the same fields as any other")
    func head() async throws {
        try await holding { service, url, _ in
            let held = try #require(try await service.ask("GET", url, ["Range": "bytes=10-19"])).head
            // Too long for an immediate answer.
            let long = try #require(try await service.ask("GET", url, ["Range": "bytes=10-900009"])).head
            #expect(Set(held.fields.keys) == Set(long.fields.keys))
            for name in ["etag", "content-type", "cache-status", "accept-ranges", "cache-control", "last-modified"] {
                #expect(held.fields[name] == long.fields[name], "\(name)")
            }
            #expect(held.fields["content-range"] == "bytes 10-19/2000000")
            #expect(held.fields["cache-status"] == "MediaVault; hit")
        }
    }

    @Test("If titles are requested alternately on one connection, each answer has its own head")
    func turns() async throws {
        let tone = ScriptedResource(
            seed: 4, length: 5000, contentType: "audio/mpeg", lastModified: "Sat, 21 Nov 2020 12:00:00 GMT")
        try await holding { [title] service, url, origin in
            origin.answer { tone.answer(to: $0) }
            let other = origin.url("/tone.mp3")
            for try await _ in service.vault.download(other) {}
            let client = try service.client()
            var tags: Set<String?> = []
            for _ in 0..<3 {
                for (url, resource) in [(url, title), (other, tone)] {
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

    @Test("A cached head is valid for one representation and for the second of its Date")
    func common() async throws {
        try await holding { service, url, origin in
            func held(_ url: MediaURL) async throws -> HeldMedia {
                let title = try await service.vault.name(MediaReference(url))
                return try #require(service.vault.playback.held(title, range: .closed(first: 0, last: 9)))
            }
            let other = origin.url("/other.mp4")
            for try await _ in service.vault.download(other) {}
            _ = try await service.ask("GET", other, ["Range": "bytes=0-9"])
            let (one, two) = (try await held(url), try await held(other))
            let head = CacheHitHead(one, isManifest: false, isMedia: true, now: 1_800_000_000)
            #expect(head.isValid(for: one, now: 1_800_000_000))
            #expect(!head.isValid(for: one, now: 1_800_000_001))
            #expect(!head.isValid(for: two, now: 1_800_000_000))
        }
    }

    @Test("The held bytes of a request are found once: if they are not given at once, the finding travels with it")
    func found() async throws {
        try await holding { [title] service, url, _ in
            let (vault, listener) = (service.vault, try SocketAddress(ipAddress: "127.0.0.1", port: 8300))
            let gate = try RequestGate(ServiceConfiguration(), of: vault)
            func media(_ fields: HTTPFields) throws -> RequestedMedia {
                var verified: VerifiedTarget?
                let request = HTTPRequest(
                    method: .get, scheme: "http", authority: "127.0.0.1:8300", path: service.target(url),
                    headerFields: fields)
                return try #require(gate.admit(request, at: listener, &verified).media)
            }
            let long = try media([.range: "bytes=10-900009"])
            let found = try #require(long.held)
            #expect(found.range == 10..<900_010 && !found.isOneRun(atMost: 256 << 10))
            let reader = try #require(vault.playback.reader(of: found))
            #expect(title.media.matches(try #require(try await reader.next()), at: 10))
            #expect(try media([.range: "bytes=10-900009", .ifRange: "\"v\""]).held == nil, "the facts come first")
            // The answer has the bytes that were found, even if others were requested.
            let other = try #require(try media([.range: "bytes=20-29"]).held)
            let context = ServiceContext(
                source: ApplicationRequestContextSource(channel: NIOAsyncTestingChannel(), logger: .silent))
            let responder = MediaResponder(
                vault: vault, reference: long.link.reference, through: long.link, context: context, arrival: .now,
                now: 1_800_000_000)
            let response = try await responder.respond(to: long.request, other)
            #expect(response.headers[.contentRange] == "bytes 20-29/2000000")
        }
    }

    @Test("A link that is revoked stops working on an open connection")
    func revoked() async throws {
        try await holding { service, url, _ in
            let (target, client) = (service.target(url), try service.client())
            func status() async -> Int? {
                await client.ask("GET", target, host: service.host, fields: ["Range": "bytes=0-9"])?.head.status
            }
            #expect(await status() == 206)
            #expect(await status() == 206)
            try await service.vault.keys.revokeLinks()
            #expect(await status() == 404)
        }
    }

    @Test("A link that expires stops working on an open connection")
    func expired() async throws {
        try await holding { service, url, _ in
            func seconds() -> Int64 { Int64(Date().timeIntervalSince1970) }
            let (client, end) = (try service.client(), seconds() + 2)
            let target = service.vault.tokens.playbackPath(for: url, expires: end)
            func status() async -> Int? {
                await client.ask("GET", target, host: service.host, fields: ["Range": "bytes=0-9"])?.head.status
            }
            #expect(await status() == 206)
            // The connection is never idle, so its cached check of the link stays in use.
            while seconds() < end { #expect([206, 404].contains(await status())) }
            #expect(await status() == 404)
        }
    }

    @Test("A link is judged by the clock of the vault, which may differ from the machine's")
    func ownClock() async throws {
        let (origin, clock) = (try ScriptedOrigin(title), TestClock())
        defer { origin.stop() }
        let url = origin.url()
        let now: @Sendable () -> Int64 = { clock.now }
        try await RunningService.run(over: try await TestVault(), now: now) { service in
            let target = service.vault.tokens.playbackPath(for: url, expires: clock.now + 60)
            let client = try service.client()
            func status() async -> Int? {
                await client.ask("GET", target, host: service.host, fields: ["Range": "bytes=0-9"])?.head.status
            }
            #expect(await status() == 206)
            clock.advance(by: 60)
            #expect(await status() == 404)
        }
    }

    @Test("A request with another Origin, Host or method is still refused")
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

    @Test("A request with a body gets the right answer")
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

    @Test("A block that was changed on disk is fetched again, and its bytes are never served")
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

    @Test("Answers do not pile up for a client that does not read")
    func standing() async throws {
        try await holding { service, url, _ in
            let client = try service.client(receiveBuffer: 4096)
            let request =
                "GET \(service.target(url)) HTTP/1.1\r\nHost: \(service.host)\r\nRange: bytes=0-99999\r\n\r\n"
            for _ in 0..<200 { await client.send(request) }
            // Other clients are answered meanwhile, and every answer arrives once the client reads.
            #expect(try await service.ask("GET", url, ["Range": "bytes=5-9"])?.body == media(5..<10))
            for _ in 0..<200 {
                #expect(await client.readHead()?.status == 206)
                #expect(await client.read(100_000) == media(0..<100_000))
            }
        }
    }
}
