import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Downloads of a service", .timeLimit(.minutes(5)))
struct DownloadRegistryTests {
    private func downloads(_ service: RunningService) async throws -> [DownloadDocument] {
        let answer = try await service.control("GET", "/api/v1/downloads")
        return try JSONText.read(DownloadsDocument.self, from: answer.body).downloads
    }

    @Test("A detached download is queued, listed and cancelled by its id, and its bytes are kept")
    func end() async throws {
        let title = try HeldTitle()
        try await title.serve(hasControl: true) { service in
            let order = #"{"url":"\#(title.url.absoluteString)","detached":true}"#
            let queued: QueuedDocument = try JSONText.read(
                from: try await service.control("POST", "/api/v1/downloads", body: order).body)
            let id = try #require(queued.downloads.first?.id)
            await title.waitUntilHeld()
            let running = try #require(try await downloads(service).first)
            #expect(running.id == id && running.state == .running && running.url == title.url.absoluteString)
            #expect(running.queued && running.added != nil)
            let ended = try await service.control("DELETE", "/api/v1/downloads?id=\(id)")
            #expect(ended.head.status == 200)
            await title.waitUntilAbandoned()
            #expect(try await downloads(service).map(\.state) == [.ended])
            for target in ["downloads?id=\(id)", "downloads?id=aaaaaaaa"] {
                #expect(try await service.control("DELETE", "/api/v1/\(target)").head.status == 404)
            }
            for target in ["downloads", "downloads?id=x"] {
                #expect(try await service.control("DELETE", "/api/v1/\(target)").head.status == 400)
            }
        }
    }

    @Test("Several downloads are queued at once, changed by their ids or all, and listed in pages")
    func queue() async throws {
        let title = try HeldTitle()
        try await title.serve(hasControl: true) { service in
            let urls = (0..<5).map { title.origin.url("/film-\($0)").absoluteString }
            let orders = urls.map { #"{"url":"\#($0)"}"# }.joined(separator: ",")
            let answer = try await service.control(
                "POST", "/api/v1/downloads", body: #"{"downloads":[\#(orders)]}"#)
            #expect(answer.head.status == 202)
            let queued: QueuedDocument = try JSONText.read(from: answer.body)
            #expect(queued.downloads.map(\.url) == urls)
            let last = try #require(queued.downloads.last)
            func change(_ body: String) async throws -> Int {
                let answer = try await service.control("PATCH", "/api/v1/downloads", body: body)
                guard answer.head.status == 200 else { return -answer.head.status }
                return try JSONText.read(DownloadChangeDocument.self, from: answer.body).changed
            }
            #expect(try await change(#"{"act":"first","ids":["\#(last.id)"]}"#) == 1)
            #expect(try await change(#"{"act":"pause","all":true}"#) == 5)
            #expect(try await change(#"{"act":"resume","ids":["\#(last.id)"]}"#) == 1)
            for body in [
                #"{"act":"pause"}"#, #"{"act":"pause","all":true,"ids":[]}"#, #"{"act":"fly","all":true}"#,
                #"{"act":"pause","ids":["x"]}"#, #"{"act":"pause","all":false}"#,
            ] { #expect(try await change(body) == -400, "\(body)") }
            #expect(try await change(#"{"act":"pause","ids":["aaaaaaaa"]}"#) == -404)
            var (found, next): ([String], String?) = ([], nil)
            repeat {
                let target = "/api/v1/downloads?limit=2" + (next.map { "&after=\($0)" } ?? "")
                let page: DownloadsDocument = try JSONText.read(from: try await service.control("GET", target).body)
                #expect(page.downloads.count <= 2)
                found += page.downloads.map(\.url)
                next = page.next
            } while next != nil
            #expect(found == [urls[4]] + urls[..<4])
            for query in ["limit=0", "limit=1001", "after=x"] {
                #expect(try await service.control("GET", "/api/v1/downloads?\(query)").head.status == 400, "\(query)")
            }
            #expect(try await change(#"{"act":"cancel","all":true}"#) == 5)
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

    @Test("What ended of a title is no longer listed when it is fetched or queued again, removed or shredded")
    func forgotten() async throws {
        let origin = try ScriptedOrigin(ScriptedResource(seed: 7, length: 100_000))
        defer { origin.stop() }
        let url = origin.url("/film")
        let order = #"{"url":"\#(url.absoluteString)""#
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            func post(_ target: String, _ body: String) async throws {
                let answer = try await service.control("POST", "/api/v1/\(target)", body: body)
                #expect([200, 202].contains(answer.head.status), "\(target): \(answer.body)")
            }
            func expectListed(_ expected: [String], sourceLocation: SourceLocation = #_sourceLocation) async throws {
                let listed = try await downloads(service).map { "\($0.queued ? "queued" : "fetched") \($0.state)" }
                #expect(listed == expected, sourceLocation: sourceLocation)
            }
            func queue() async throws {
                try await post("downloads", order + #","detached":true}"#)
                while try await service.vault.queue.counts() != DownloadCounts() {
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
            for removal in ["removals", "shreds"] {
                _ = try await service.download(url).lastEvent()
                _ = try await service.download(url).lastEvent()
                try await expectListed(["fetched done"])
                try await queue()
                try await expectListed(["queued done"])
                _ = try await service.download(url).lastEvent()
                try await expectListed(["fetched done", "queued done"])
                try await post(removal, removal == "shreds" ? #"{"resources":[\#(order)}]}"# : order + "}")
                try await expectListed([])
            }
        }
    }

    @Test("A limited number of ended downloads is remembered, with their outcomes")
    func memory() async throws {
        let (board, letters) = (DownloadRegistry(), Array("abcdefghij"))
        for index in 0..<100 {
            let id = try #require(TitleID("k3v7q2\(letters[index / 10])\(letters[index % 10])"))
            let number = board.begin(id, "http://a.example/\(index)")
            try? await board.run(number) { tell in
                tell(try JSONText.read(from: Array(#"{"held":5,"total":10}"#.utf8)))
                if index % 2 == 1 { throw VaultError(.unreachable, "nobody there") }
            }
        }
        let all = board.all
        #expect(all.map(\.url) == (36..<100).reversed().map { "http://a.example/\($0)" })
        for (index, download) in all.enumerated() {
            #expect(download.state == (index % 2 == 0 ? .failed : .done) && download.held == 5 && download.size == 10)
        }
        #expect(all.first?.problem?.code == "unreachable")
    }
}
