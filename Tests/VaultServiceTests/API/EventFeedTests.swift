import HTTPTypes
import Hummingbird
import MediaVault
import NIOCore
import NIOPosix
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Server-sent events", .timeLimit(.minutes(5)))
struct EventFeedTests {
    private let title = ScriptedResource(seed: 9, length: 2_000_000)

    /// Follows the event feed of the service.
    private func follow(_ service: RunningService, _ query: String = "") async throws -> EventReader {
        let client = try service.controlClient()
        await client.request("GET", "/api/v1/events\(query)", host: "localhost")
        let head = try #require(await client.readHead())
        #expect(head.status == 200 && head.fields["content-type"] == "text/event-stream")
        return EventReader(client)
    }

    @Test("Held ranges and the download are reported as they grow, until both are complete")
    func progress() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin(title, holdingAt: 500_000, gate)
        defer { origin.stop() }
        let url = origin.url("/film?token=x")
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            var events = try await follow(service)
            let order = #"{"url":"\#(url.absoluteString)","detached":true}"#
            _ = try await service.control("POST", "/api/v1/downloads", body: order)
            let begun = try await events.first("download", DownloadDocument.self) { $0.state == .running }
            #expect(begun?.url == url.absoluteString)
            gate.open()
            let whole = try await events.first("resource", ChangeDocument.self) { $0.resource.isComplete }
            #expect(whole?.resource.held == [0..<2_000_000] && whole?.resource.url == url.absoluteString)
            let done = try await events.first("download", DownloadDocument.self) {
                ![.waiting, .running].contains($0.state)
            }
            #expect(done?.state == .done && done?.held == 2_000_000)
            try await service.vault.titles.remove(MediaReference(url))
            let gone = try await events.first("removed", RemovedDocument.self) { $0.id == whole?.id }
            #expect(gone != nil)
        }
    }

    @Test("A feed of one resource starts with its current state, and reports no other resource")
    func one() async throws {
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        let (url, other) = (origin.url("/one"), origin.url("/other"))
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            for try await _ in service.vault.download(url) {}
            var events = try await follow(service, "?url=\(url.absoluteString)")
            let first = try await events.first("resource", ChangeDocument.self) { _ in true }
            #expect(first?.resource.isComplete == true)
            for try await _ in service.vault.download(other) {}
            try await service.vault.titles.pin(MediaReference(url))
            let pinned = try await events.first("resource", ChangeDocument.self) {
                $0.resource.resourceClass == "pinned"
            }
            #expect(pinned != nil && events.seen.allSatisfy { !$0.data.contains("/other") })
        }
    }

    @Test("The parts of a title are reported as changes of the title")
    func parts() async throws {
        let list = Array("#EXTM3U\n#EXTINF:4,\n1.ts\n#EXTINF:4,\n2.ts\n#EXT-X-ENDLIST\n".utf8)
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        origin.answer { request in
            guard request.target.hasSuffix("m3u8") else {
                return ScriptedResource(seed: 3, length: 50_000, contentType: "video/mp2t").answer(to: request)
            }
            return ScriptedAnswer(
                200, fields: ["Content-Type": "application/vnd.apple.mpegurl", "Content-Length": "\(list.count)"],
                body: request.method == "GET" ? [.bytes(list)] : [])
        }
        let url = origin.url("/list.m3u8")
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            var events = try await follow(service)
            for try await _ in service.vault.download(url) {}
            let done = try await events.first("resource", ChangeDocument.self) {
                $0.resource.title?.isComplete == true
            }
            #expect(done?.resource.url == url.absoluteString)
            try await service.vault.titles.remove(MediaReference(url))
            _ = try await events.first("removed", RemovedDocument.self) { $0.id == done?.id }
            let told = events.seen.filter { ["resource", "removed"].contains($0.name) }
            #expect(told.count > 1 && told.allSatisfy { $0.data.contains(done?.id.description ?? "none") })
        }
    }

    @Test("A service that shuts down ends the stream properly, and does not wait for its clients")
    func end() async throws {
        let test = try await TestVault()
        // If the service waited for the stream, the test would exceed its time limit.
        let client = try await RunningService.run(over: test, hasControl: true, shutdownLimit: .seconds(900)) {
            service in
            try await follow(service).client
        }
        let rest = String(decoding: await client.readToEnd(), as: UTF8.self)
        #expect(rest.hasSuffix("\r\n0\r\n\r\n"), "cut off within a chunk, or before the last: \(rest.suffix(40))")
    }

    @Test("A feed whose token was revoked before it began to listen tells nothing")
    func revoked() async throws {
        let test = try await TestVault()
        let vault = try await test.open()
        let token = try await vault.access.createToken(.read)
        let access = try #require(vault.tokens.access(byToken: token.text, now: 0))
        let listening = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0).get()
        try await vault.access.revoke([token.grant])
        let written = Locked("")
        let feed = EventFeed(
            vault: vault, downloads: DownloadRegistry(), only: nil, access: access, viewer: nil,
            channel: UnreadChannel(listening, unread: 0))
        var writer: any ResponseBodyWriter = RecordingWriter { text in written.withLock { $0 += text } }
        var sent: Int64 = 0
        try await feed.write(to: &writer, counting: &sent)
        #expect(written.withLock(\.self).isEmpty && sent == 0)
        try await listening.close()
        await vault.close()
    }

    @Test("A client that does not read gets no events until it does, then everything that changed")
    func unread() async throws {
        let test = try await TestVault()
        let vault = try await test.open()
        let board = DownloadRegistry()
        let listening = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0).get()
        let channel = UnreadChannel(listening, unread: 5)
        let written = Locked<[(text: String, questions: Int)]>([])
        let (writes, noteWrite) = AsyncStream.makeStream(of: Void.self)
        let feed = EventFeed(vault: vault, downloads: board, only: nil, access: nil, viewer: nil, channel: channel)
        let telling = Task {
            var sent: Int64 = 0
            var writer: any ResponseBodyWriter = RecordingWriter { text in
                written.withLock { $0.append((text, channel.questions)) }
                noteWrite.yield()
            }
            try await feed.write(to: &writer, counting: &sent)
        }
        var told = writes.makeAsyncIterator()
        await told.next()
        let id = try #require(TitleID("k3v7q2ma"))
        for number in 0..<100 { _ = board.begin(id, "http://a.example/\(number)") }
        await told.next()
        let second = try #require(written.withLock { $0.count > 1 ? $0[1] : nil })
        // The feed has queried the number of unread bytes five times, and each time there were too many.
        #expect(second.questions > 5)
        let urls = (0..<100).map { "\"http://a.example/\($0)\"" }
        #expect(urls.allSatisfy { second.text.contains($0) }, "all changes arrive in one write")
        telling.cancel()
        _ = await telling.result
        try await listening.close()
        await vault.close()
    }
}
