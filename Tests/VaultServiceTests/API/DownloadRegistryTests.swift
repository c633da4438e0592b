import MediaVault
import Testing
import VaultModel

@testable import VaultService

@Suite("Downloads of a service", .timeLimit(.minutes(5)))
struct DownloadRegistryTests {
    private func downloads(_ service: RunningService) async throws -> [DownloadDocument] {
        let answer = try await service.control("GET", "/api/v1/downloads")
        return try JSONText.read(DownloadsDocument.self, from: answer.body).downloads
    }

    @Test("A detached download is listed and cancelled by its id, and its bytes are kept")
    func end() async throws {
        let title = try HeldTitle()
        try await title.serve(hasControl: true) { service in
            let order = #"{"url":"\#(title.url.absoluteString)","detached":true}"#
            let begun: DownloadStarted = try JSONText.read(
                from: try await service.control("POST", "/api/v1/downloads", body: order).body)
            await title.waitUntilHeld()
            let running = try #require(try await downloads(service).first)
            #expect(running.id == begun.id && running.state == .running && running.url == title.url.absoluteString)
            let ended = try await service.control("DELETE", "/api/v1/downloads?id=\(begun.id)")
            #expect(ended.head.status == 200)
            await title.waitUntilAbandoned()
            await service.server.api.downloads.wait { $0.first?.state == .ended }
            for target in ["downloads?id=\(begun.id)", "downloads?id=99"] {
                #expect(try await service.control("DELETE", "/api/v1/\(target)").head.status == 404)
            }
            for target in ["downloads", "downloads?id=x"] {
                #expect(try await service.control("DELETE", "/api/v1/\(target)").head.status == 400)
            }
        }
    }

    @Test("A client is notified if another client cancels its download")
    func endedByAnother() async throws {
        let title = try HeldTitle()
        try await title.serve(hasControl: true) { service in
            let client = try await service.download(title.url)
            await title.waitUntilHeld()
            let id = try #require(try await downloads(service).first?.id)
            #expect(try await service.control("DELETE", "/api/v1/downloads?id=\(id)").head.status == 200)
            guard case .problem(let problem)? = try await client.lastEvent() else {
                Issue.record("the last line is not a problem")
                return
            }
            #expect(problem.error?.code == .closed)
        }
    }

    @Test("A limited number of ended downloads is remembered, with their outcomes")
    func memory() async throws {
        let board = DownloadRegistry()
        for index in 0..<100 {
            let id = board.begin("http://a.example/\(index)")
            try? await board.run(id) { tell in
                tell(try JSONText.read(from: Array(#"{"held":5,"total":10}"#.utf8)))
                if index % 2 == 1 { throw VaultError(.unreachable, "nobody there") }
            }
        }
        let all = board.all
        #expect(all.count == DownloadRegistry.maxEnded && all.first?.id == 100 && all.last?.id == 37)
        #expect(
            all.allSatisfy { $0.state == ($0.id % 2 == 0 ? .failed : .done) && $0.held == 5 && $0.size == 10 })
        #expect(all.first?.problem?.code == "unreachable")
    }
}
