import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Notifying the operator", .timeLimit(.minutes(2)))
struct NotifierTests {
    private let folder: ProgramFolder
    private let program: String

    init() throws {
        folder = try ProgramFolder()
        program = try folder.script("notify", "cat >> \(folder.path)/notices")
    }

    private func name(_ program: String, in service: RunningService) async throws {
        let answer = try await service.control(
            "PATCH", "/api/v1/settings", body: #"{"notifyCommand":["\#(program)"]}"#)
        #expect(answer.head.status == 200)
    }

    private func notices() throws -> [OperatorNotice] {
        try folder.lines("notices").map { try JSONText.read(from: Array($0.utf8)) }
    }

    private func waitForNotices(_ count: Int) async throws -> [OperatorNotice] {
        while folder.lines("notices").count < count { try await Task.sleep(for: .milliseconds(20)) }
        return try notices()
    }

    private func queue(_ url: MediaURL, title: String, in service: RunningService) async throws {
        let order = #"{"url":"\#(url.absoluteString)","title":"\#(title)","detached":true}"#
        #expect(try await service.control("POST", "/api/v1/downloads", body: order).head.status == 202)
    }

    @Test("A failed download is told once with the title's id and name, without the query of its URL")
    func failedDownload() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedAnswer(404, fields: ["Content-Length": "0"]) }
        defer { origin.stop() }
        let url = origin.url("/film.mp4?token=hunter2")
        let recorder = LogRecorder()
        let id = try await RunningService.run(
            over: try await TestVault(), hasControl: true, logger: recorder.logger
        ) { service in
            try await name(program, in: service)
            try await queue(url, title: "A film", in: service)
            let told = try await waitForNotices(1)
            #expect(told.first?.kind == .downloadFailed && told.first?.name == "A film")
            _ = try await service.control("PATCH", "/api/v1/downloads", body: #"{"act":"retry","all":true}"#)
            while recorder.lines.count(where: { $0.text.hasPrefix("a download failed") }) < 2 {
                try await Task.sleep(for: .milliseconds(20))
            }
            try await queue(origin.url("/other.mp4?token=hunter2"), title: "Another", in: service)
            #expect(try await waitForNotices(2).map(\.name) == ["A film", "Another"], "the first is not repeated")
            return try await service.vault.titles.titleID(of: MediaReference(url))
        }
        #expect(try notices().first?.id == id)
        #expect(folder.lines("notices").allSatisfy { !$0.contains("hunter2") })
        #expect(recorder.lines.allSatisfy { !$0.text.contains("hunter2") })
    }

    @Test("Damage that a reader finds is told with the title's id")
    func damage() async throws {
        let title = ScriptedResource(seed: 3, length: 300_000)
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        let (test, url) = (try await TestVault(), origin.url())
        try await RunningService.run(over: test, hasControl: true) { service in
            try await name(program, in: service)
            for try await _ in service.vault.download(url) {}
        }
        let segments = try #require(
            FileManager.default.enumerator(atPath: test.place.folder + "/segments")?.compactMap { $0 as? String })
        var injured = 0
        for path in segments.map({ test.place.folder + "/segments/" + $0 }) {
            guard var bytes = FileManager.default.contents(atPath: path), bytes.count > 2000 else { continue }
            bytes[bytes.count - 1000] ^= 1
            try bytes.write(to: URL(filePath: path))
            injured += 1
        }
        #expect(injured > 0)
        try await RunningService.run(over: test, hasControl: true) { service in
            let answer = try await service.ask("GET", url)
            #expect(answer?.body.count == 300_000, "what is damaged is fetched again")
            let told = try await waitForNotices(1)
            #expect(told.map(\.kind) == [.damage])
            #expect(try await told.first?.id == service.vault.titles.titleID(of: MediaReference(url)))
        }
    }

    @Test("What was merely played is told before max-age removes it; downloads are not")
    func expiring() async throws {
        let title = ScriptedResource(seed: 4, length: 100_000)
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        let test = try await TestVault()
        let (played, kept) = (origin.url("/played.mp4"), origin.url("/kept.mp4"))
        try await RunningService.run(over: test, hasControl: true) { service in
            #expect(try await service.ask("GET", played)?.body.count == 100_000)
            for try await _ in service.vault.download(kept) {}
            try await service.waitUntilHeld(100_000, of: played)
            #expect(try await service.vault.space.expiringTitles().isEmpty, "nothing expires without max-age")
            var limits = StorageLimits()
            // An age of which half lies before the hour in which the title was read.
            limits.maxAge = 1
            try await service.vault.settings.setLimits(limits)
            let summary = try #require(try await service.vault.titles.summary(of: played))
            #expect(summary.expires == Timestamp(seconds: summary.accessed.seconds + 1))
            #expect(try await service.vault.titles.summary(of: kept)?.expires == nil, "a download does not expire")
            try await name(program, in: service)
        }
        // A service looks for such titles when it starts.
        try await RunningService.run(over: test, hasControl: true) { service in
            let told = try await waitForNotices(1)
            #expect(told.map(\.kind) == [.titleExpiring])
            #expect(try await told.first?.id == service.vault.titles.titleID(of: MediaReference(played)))
        }
        #expect(try notices().count == 1)
    }

    @Test("A program that cannot be run is logged without the title, and the service goes on")
    func brokenProgram() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedAnswer(404, fields: ["Content-Length": "0"]) }
        defer { origin.stop() }
        let recorder = LogRecorder()
        try await RunningService.run(
            over: try await TestVault(), hasControl: true, logger: recorder.logger
        ) { service in
            let gone = try folder.script("none", "true")
            try await name(gone, in: service)
            try FileManager.default.removeItem(atPath: gone)
            try await queue(origin.url("/film.mp4?token=hunter2"), title: "Secret", in: service)
            while !recorder.lines.contains(where: { $0.text.contains("notify-command could not be run") }) {
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(try await service.control("GET", "/api/v1/status").head.status == 200)
        }
        let line = try #require(recorder.lines.first { $0.text.contains("notify-command could not be run") })
        #expect(line.text.contains("no such file") && line.text.contains("download-failed"))
        #expect(!line.text.contains("Secret") && !line.text.contains("hunter2"))
    }

    @Test("A service that starts on a full disk tells it, because it only reads the vault")
    func startedFull() async throws {
        let test = try await TestVault()
        let vault = try await test.open()
        try await vault.settings.change(programs: { $0.notify = try ProgramInvocation([program]) })
        await vault.close()
        try await RunningService.run(over: test, access: .reader) { _ in
            let told = try await waitForNotices(1)
            #expect(told.map(\.kind) == [.diskFull])
        }
    }
}
