import Foundation
import MediaVault
import OriginTestSupport
import Synchronization
import Testing
import VaultModel

@testable import VaultService

@Suite("New links from the operator's program", .timeLimit(.minutes(2)))
struct LinkProgramTests {
    @Test(
        "One line with a URL, or JSON with url and headers, is a link",
        arguments: [
            ("https://a.example/x?sig=1", [:]), ("https://a.example/x?sig=1\n", [:]),
            (#"{"url":"https://a.example/x?sig=1"}"#, [:]),
            (#"{"url":"https://a.example/x?sig=1","headers":null}"#, [:]),
            ("{\"url\":\"https://a.example/x?sig=1\",\n \"headers\":{\"X-Key\":\"k\"}}\n", ["X-Key": "k"]),
        ] as [(String, [String: String])])
    func links(text: String, fields: [String: String]) throws {
        let link = try LinkAnswer.link(in: Array(text.utf8))
        #expect(link.url.absoluteString == "https://a.example/x?sig=1")
        #expect(link.fields.fields.count == fields.count)
        for (name, value) in fields { #expect(link.fields[name] == value) }
    }

    @Test(
        "Anything else is refused, and never repeated",
        arguments: [
            "", "\n", "secret", "file:///etc/secret", "https://a.example/secret\nhttps://b.example/", "[]", "{}",
            #"{"url":7}"#, #"{"url":"secret"}"#, #"{"url":"https://a.example/","headers":{"X":"secret\r\nY: z"}}"#,
            #"{"url":"https://a.example/","headers":["secret"]}"#, #"{"url":"https://a.example/secret""#,
        ])
    func refused(text: String) {
        let failure = #expect(throws: ProgramFailure.self) { try LinkAnswer.link(in: Array(text.utf8)) }
        #expect(failure?.reason.contains("secret") == false)
    }

    @Test("A service plays a title on after its URL was refused, with the URL that the program prints, and keeps it")
    func served() async throws {
        let title = ScriptedResource(seed: 8, length: 500_000)
        let good = Mutex("1")
        let origin = try ScriptedOrigin { request in
            guard request.target.hasSuffix("sig=" + good.withLock { $0 }) else {
                return ScriptedAnswer(403, fields: ["Content-Length": "0"])
            }
            return title.answer(to: request)
        }
        defer { origin.stop() }
        let folder = try ProgramFolder()
        let fresh = origin.url("/film.mp4?sig=2").absoluteString
        let program = try folder.script("refresh", "cat >> \(folder.path)/asked; echo '\(fresh)'")
        let test = try await TestVault()
        let reference = MediaReference(origin.url("/film.mp4?sig=1"), contentID: "film-7")
        try await RunningService.run(over: test, hasControl: true) { service in
            let set = try await service.control(
                "PATCH", "/api/v1/settings", body: #"{"refreshCommand":["\#(program)"]}"#)
            #expect(set.head.status == 200)
            let first = try await service.vault.read(reference, range: .closed(first: 0, last: 199_999))
            while try await first.next() != nil {}
            good.withLock { $0 = "2" }
            var position: Int64 = 0
            for try await bytes in try await service.vault.read(reference) {
                #expect(title.media.matches(bytes, at: position))
                position += Int64(bytes.count)
            }
            #expect(position == 500_000)
        }
        #expect(folder.lines("asked") == [#"{"contentID":"film-7","status":403}"#])
        let vault = try await test.open()
        #expect(try await vault.titles.summary(of: reference)?.url == fresh)
        await vault.close()
    }

    @Test(
        "A program that fails is logged without the title or a URL, and the reader gets the origin's refusal",
        arguments: [
            ("echo https://secret.example/; exit 1", "it failed"),
            (#"echo '{"url":"https://secret.example/","headers":{"Authorization":"secret"}}'"#, "stand for a user"),
        ])
    func failing(script: String, reason: String) async throws {
        let origin = try ScriptedOrigin { _ in ScriptedAnswer(403, fields: ["Content-Length": "0"]) }
        defer { origin.stop() }
        let folder = try ProgramFolder()
        let program = try folder.script("refresh", script)
        let recorder = LogRecorder()
        try await RunningService.run(
            over: try await TestVault(), hasControl: true, logger: recorder.logger
        ) { service in
            _ = try await service.control("PATCH", "/api/v1/settings", body: #"{"refreshCommand":["\#(program)"]}"#)
            let reference = MediaReference(origin.url("/film.mp4?sig=hunter2"), contentID: "film-7")
            let error = await #expect(throws: VaultError.self) { try await service.vault.read(reference) }
            #expect(error?.code == .refused && error?.originStatus == 403)
        }
        let line = try #require(recorder.lines.first { $0.text.contains("refresh-command") })
        #expect(line.text.contains(reason))
        for secret in ["hunter2", "secret", "film-7"] {
            #expect(recorder.lines.allSatisfy { !$0.text.contains(secret) }, "\(secret)")
        }
    }

    @Test("Only as many callers as there are turns run at a time, and each gets its turn")
    func turns() async throws {
        let (turns, crowd) = (ProgramTurns(atOnce: 2), Crowd())
        try await withThrowingTaskGroup { group in
            for _ in 0..<20 {
                group.addTask {
                    try await turns.taking {
                        crowd.enter()
                        for _ in 0..<10 { await Task.yield() }
                        crowd.leave()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(crowd.most <= 2 && crowd.done == 20)
    }

    /// The number of callers that are admitted at the same time.
    private final class Crowd: Sendable {
        private let state = Mutex((now: 0, most: 0, done: 0))

        var most: Int { state.withLock { $0.most } }
        var done: Int { state.withLock { $0.done } }

        func enter() { state.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.done) } }
        func leave() { state.withLock { $0 = ($0.now - 1, $0.most, $0.done + 1) } }
    }
}
