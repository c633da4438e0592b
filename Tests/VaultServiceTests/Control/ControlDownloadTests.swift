import Foundation
import Logging
import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Downloads over the control socket", .timeLimit(.minutes(5)))
struct ControlDownloadTests {
    @Test("A download reports its progress and ends with done")
    func download() async throws {
        let title = try HeldTitle()
        try await title.serve(hasControl: true) { service in
            let client = try await service.download(title.url)
            await title.waitUntilHeld()
            guard case .progress(let first)? = try await client.event() else {
                Issue.record("the first line is not a progress event")
                return
            }
            // The origin has sent no more than this.
            #expect(first.held <= 500_000 && first.total == 2_000_000)
            title.goOn()
            var (last, isDone) = (first, false)
            while let event = try await client.event() {
                #expect(!isDone, "done is the last line")
                switch event {
                case .progress(let progress):
                    #expect(progress.held >= last.held && progress.total == 2_000_000)
                    last = progress
                case .done: isDone = true
                case .problem: Issue.record("the download ended with a problem")
                }
            }
            #expect(isDone && last.held > 500_000)
            #expect(try await service.vault.titles.summary(of: title.url)?.isComplete == true)
        }
    }

    @Test("A download that fails ends with the vault's own error")
    func failedDownload() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedAnswer(404, fields: ["Content-Length": "0"]) }
        defer { origin.stop() }
        let url = origin.url("/film?token=hunter2")
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            guard case .problem(let problem)? = try await service.download(url).lastEvent() else {
                Issue.record("the last line is not a problem")
                return
            }
            #expect(problem.error?.code == .refused && problem.error?.originStatus == 404)
            #expect(problem.detail?.contains("hunter2") == false)
        }
    }

    @Test("Two downloads and one player of the same title share one transfer")
    func shared() async throws {
        let title = try HeldTitle()
        try await title.serve(hasControl: true) { service in
            let (one, other) = (try await service.download(title.url), try await service.download(title.url))
            await title.waitUntilHeld()
            let player = try service.client()
            await player.request("GET", service.target(title.url), host: service.host)
            #expect(await player.readHead()?.status == 200)
            title.goOn()
            let played = await player.read(2_000_000)
            #expect(played.count == 2_000_000 && title.media.matches(played, at: 0))
            for client in [one, other] {
                guard case .done? = try await client.lastEvent() else {
                    Issue.record("a download did not end with done")
                    return
                }
            }
        }
        #expect(title.bytesSent == 2_000_000)
    }

    @Test(
        "A client that disconnects cancels its download and keeps the bytes; the service continues",
        arguments: [true, false])
    func lostClient(properly: Bool) async throws {
        let title = try HeldTitle()
        try await title.serve(hasControl: true) { service in
            let client = try await service.download(title.url)
            await title.waitUntilHeld()
            if properly { await client.close() } else { await client.reset() }
            await title.waitUntilAbandoned()
            let answer = try await service.control("GET", "/api/v1/status")
            #expect(answer.head.status == 200)
        }
    }

    @Test("A client that disconnects does not cancel a download that others wait for")
    func lostOneOfTwo() async throws {
        let title = try HeldTitle()
        try await title.serve(hasControl: true) { service in
            let (leaving, staying) = (try await service.download(title.url), try await service.download(title.url))
            await title.waitUntilHeld()
            await leaving.close()
            title.goOn()
            guard case .done? = try await staying.lastEvent() else {
                Issue.record("the other download did not end with done")
                return
            }
        }
    }

    @Test("A detached download continues without its client")
    func detached() async throws {
        let title = try HeldTitle()
        try await title.serve(hasControl: true) { service in
            let answer = try await service.control(
                "POST", "/api/v1/downloads", body: #"{"url":"\#(title.url.absoluteString)","detached":true}"#)
            #expect(answer.head.status == 202)
            await title.waitUntilHeld()
            title.goOn()
            // The second download waits for the bytes that the first fetches.
            for try await _ in service.vault.download(title.url) {}
            #expect(try await service.vault.titles.summary(of: title.url)?.isComplete == true)
        }
        #expect(title.bytesSent == 2_000_000)
    }

    @Test("A service that shuts down reports it to the clients of its downloads, and does not wait for them")
    func shutdown() async throws {
        let title = try HeldTitle()
        let client = try await title.serve(hasControl: true, shutdownLimit: .seconds(9)) { service in
            let client = try await service.download(title.url)
            await title.waitUntilHeld()
            return client
        }
        guard case .problem(let problem)? = try await client.lastEvent() else {
            Issue.record("the last line is not a problem")
            return
        }
        #expect(problem.error?.code == .closed)
    }
}
