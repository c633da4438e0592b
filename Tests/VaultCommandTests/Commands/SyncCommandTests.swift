import OriginTestSupport
import Testing
import VaultModel

/// `sync` by the built command, without a service.
@Suite("Runs of lists by the command", .timeLimit(.minutes(2)))
struct SyncCommandTests {
    @Test(
        "If the list fails once what is new is there, the run says what it fetched, why nothing was removed, and fails",
        arguments: [
            ("the feed", 5, "HTTP 500; nothing was removed"), ("a page", 1, "page 2 of the feed was not read"),
            ("an entry", 1, "1 entry of S cannot be used, so nothing was removed"),
        ])
    func secondReading(what: String, status: Int32, sentence: String) async throws {
        let served = try await ServedLab()
        let readings = Locked(0)
        let isChanged = Locked(false)
        served.origin.answer { [title = served.title] request in
            guard request.target == "/feed" || request.target == "/2" else { return title.answer(to: request) }
            let reading = readings.withLock { count in
                if request.target == "/feed" { count += 1 }
                return count
            }
            let fails = reading == 3
            let name = isChanged.withLock(\.self) ? "new" : "old"
            var items = request.target == "/2" ? "<item><enclosure url='/last.mp4'/></item>" : ""
            if request.target == "/feed" {
                items = "<item><enclosure url='/\(name).mp4'/></item><link rel='next' href='/2'/>"
                if fails, what == "an entry" { items += "<item><enclosure url='ftp://a.example/1.mp4'/></item>" }
            }
            let isRefused = fails && (what == "the feed" || what == "a page" && request.target == "/2")
            let text = Array("<rss><channel><title>S</title>\(items)</channel></rss>".utf8)
            return ScriptedAnswer(
                isRefused ? 500 : 200, fields: ["Content-Length": "\(text.count)"], body: [.bytes(text)])
        }
        let feed = served.origin.url("/feed").absoluteString
        #expect(try await served.lab.run("sync", feed).status == 0)
        isChanged.withLock { $0 = true }
        let result = try await served.lab.run("sync", feed)
        #expect(readings.withLock(\.self) == 3 && result.status == status)
        #expect(result.text.contains("fetched ") && result.text.contains("S: 1 fetched, 0 removed, 1 unchanged"))
        #expect(result.errors.contains { $0.contains(sentence) }, "\(result.errors)")
        #expect(try await served.lab.run("list").text.contains("  old\n"), "it stays")
    }
}
