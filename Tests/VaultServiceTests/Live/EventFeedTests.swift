import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Server-sent events", .timeLimit(.minutes(5)))
struct EventFeedTests {
    private let film = ScriptedResource(seed: 9, length: 2_000_000)

    /// Follows what the service tells.
    private func follow(_ service: RunningService, _ query: String = "") async throws -> EventReader {
        let client = try service.controlClient()
        await client.request("GET", "/api/v1/events\(query)", host: "localhost")
        let head = try #require(await client.readHead())
        #expect(head.status == 200 && head.fields["content-type"] == "text/event-stream")
        return EventReader(client)
    }

    @Test("What is held of a resource is told as it grows, and the download with it, until both are whole")
    func progress() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin(film, holdingAt: 500_000, gate)
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
            #expect(whole?.resource.held == [[0, 2_000_000]] && whole?.resource.url == url.absoluteString)
            let done = try await events.first("download", DownloadDocument.self) { $0.state != .running }
            #expect(done?.state == .done && done?.held == 2_000_000)
            try await service.vault.remove(MediaReference(url))
            let gone = try await events.first("removed", GoneDocument.self) { $0.id == whole?.id }
            #expect(gone != nil)
        }
    }

    @Test("Of one resource alone its present state comes first, and no change of another is told")
    func one() async throws {
        let origin = try ScriptedOrigin(film)
        defer { origin.stop() }
        let (url, other) = (origin.url("/one"), origin.url("/other"))
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            for try await _ in service.vault.download(url) {}
            var events = try await follow(service, "?url=\(url.absoluteString)")
            let first = try await events.first("resource", ChangeDocument.self) { _ in true }
            #expect(first?.resource.isComplete == true)
            for try await _ in service.vault.download(other) {}
            try await service.vault.pin(MediaReference(url))
            let pinned = try await events.first("resource", ChangeDocument.self) { $0.resource.class == "pinned" }
            #expect(pinned != nil && events.seen.allSatisfy { !$0.data.contains("/other") })
        }
    }

    @Test("A service that ends ends the stream properly, and does not wait for who follows it")
    func end() async throws {
        let test = try await TestVault()
        let client = try await RunningService.run(over: test, hasControl: true, shutdownLimit: .seconds(9)) { service in
            try await follow(service).client
        }
        while await client.readChunk() != nil {}
    }
}
