import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault

/// What an origin answers at the paths of feeds; files are everywhere else.
private final class Places: Sendable {
    struct Answer: Sendable {
        var status = 200
        var fields: [String: String] = [:]
        var text = ""
    }

    let answers = Locked<[String: Answer]>([:])

    func set(_ path: String, _ text: String) { answers.withLock { $0[path] = Answer(text: text) } }

    func set(_ path: String, status: Int, _ fields: [String: String] = [:]) {
        answers.withLock { $0[path] = Answer(status: status, fields: fields) }
    }

    func answer(to request: ScriptedRequest) -> ScriptedAnswer? {
        guard let found = answers.withLock({ $0[request.target] }) else { return nil }
        let body = Array(found.text.utf8)
        var answer = ScriptedAnswer(found.status, fields: ["Content-Length": "\(body.count)"], body: [.bytes(body)])
        for (name, value) in found.fields { answer.set(name, value) }
        return answer
    }
}

/// Feeds that move, end, come in pages, or ask for patience.
@Suite("Where feeds are", .timeLimit(.minutes(5)))
struct FeedPlacesTests {
    private let fixture: VaultFixture
    private let places = Places()

    init() async throws {
        fixture = try await VaultFixture(ScriptedResource(length: 1000))
        fixture.origin.answer { [places, resource = fixture.resource] in
            places.answer(to: $0) ?? resource.answer(to: $0)
        }
    }

    private static func rss(_ names: [String], _ channel: String = "") -> String {
        let items = names.map { "<item><guid>\($0)</guid><enclosure url='/\($0).mp4'/></item>" }.joined()
        return "<rss><channel><title>S</title>\(channel)\(items)</channel></rss>"
    }

    private static func next(_ place: String) -> String { "<atom:link rel='next' href='\(place)'/>" }

    private func url(_ path: String) -> String { fixture.origin.url(path).absoluteString }

    private func asked(_ path: String) -> Int { fixture.origin.exchanges.count { $0.request.target == path } }

    /// Runs a feed, and fetches what is new.
    @discardableResult
    private func sync(_ vault: Vault, newest: Int64? = nil, contentIDs: Bool = false) async throws -> SyncReport {
        var choices = Subscription.Choices()
        (choices.newest, choices.usesContentIDs) = (newest, contentIDs)
        var report = try await vault.sync(.feed(url("/feed")), choices)
        for (_, entry) in report.fetch { for try await _ in vault.download(entry.reference) {} }
        if report.waiting > 0 { report.removals = try await vault.sync(.feed(url("/feed")), choices).removals }
        return report
    }

    private func subscription(_ vault: Vault) async throws -> Subscription {
        try #require(try await vault.subscriptions().subscriptions.first)
    }

    private func held(_ vault: Vault) async throws -> [String] {
        try await vault.titles().reduce(into: [String]()) { $0.append(try MediaURL($1.url).path) }.sorted()
    }

    // MARK: Moved

    @Test("A feed that has moved for good is asked at its new address from then on", arguments: [301, 308])
    func moved(status: Int) async throws {
        let vault = try await fixture.open()
        places.set("/feed", status: status, ["Location": "/new"])
        places.set("/new", Self.rss(["a"]))
        #expect(try await sync(vault, contentIDs: true).hasMoved)
        #expect(try await subscription(vault).movedTo == url("/new"))
        let ids = try await subscription(vault).wanted
        #expect(try await !sync(vault, contentIDs: true).hasMoved)
        #expect(asked("/feed") == 1 && asked("/new") == 2)
        #expect(try await subscription(vault).wanted == ids, "names of entries stay")
        // Where it went, there is no feed any more: the operator's own address counts again.
        for answer in [Places.Answer(status: 404), Places.Answer(text: "<html>"), Places.Answer(text: Self.rss([]))] {
            places.answers.withLock { $0["/new"] = answer }
            places.set("/feed", Self.rss(["a"]))
            #expect(try await !sync(vault, contentIDs: true).hasMoved)
            #expect(try await subscription(vault).movedTo == nil)
            places.set("/feed", status: status, ["Location": "/new"])
            places.set("/new", Self.rss(["a"]))
            #expect(try await sync(vault, contentIDs: true).hasMoved)
            #expect(try await subscription(vault).movedTo == url("/new"))
        }
        await vault.close()
    }

    @Test("A redirect for now is followed each time, and one for good behind it is not remembered")
    func elsewhereForNow() async throws {
        let vault = try await fixture.open()
        places.set("/feed", status: 302, ["Location": "/now"])
        places.set("/now", status: 301, ["Location": "/new"])
        places.set("/new", Self.rss(["a"]))
        try await sync(vault)
        #expect(try await subscription(vault).movedTo == nil)
        places.set("/feed", status: 301, ["Location": "/for-good"])
        places.set("/for-good", status: 308, ["Location": "/better"])
        places.set("/better", status: 307, ["Location": "/new"])
        try await sync(vault)
        #expect(try await subscription(vault).movedTo == url("/better"))
        await vault.close()
    }

    @Test("A feed that says where it is from now on is asked there, if a feed with entries is there")
    func newURL() async throws {
        let vault = try await fixture.open()
        let channel = { (place: String) in "<itunes:new-feed-url>\(place)</itunes:new-feed-url>" }
        let other = try ScriptedOrigin { _ in ScriptedAnswer(200, fields: ["Content-Length": "0"]) }
        defer { other.stop() }
        places.set("/page", "<html><body>Log in</body></html>")
        places.set("/empty", Self.rss([]))
        let useless = ["/page", "/empty", "/missing", "/feed", "ftp://a.example/", other.url("/feed").absoluteString]
        for place in useless {
            places.answers.withLock { $0["/missing"] = Places.Answer(status: 404) }
            places.set("/feed", Self.rss(["a"], channel(place)))
            #expect(try await sync(vault).unusable == 0)
            #expect(try await subscription(vault).movedTo == nil, "\(place)")
        }
        #expect(other.exchanges.isEmpty, "it is at a private address")
        places.set("/feed", Self.rss(["a"], channel("/new")))
        places.set("/new", Self.rss(["b"], channel("/new")))
        try await sync(vault)
        #expect(try await held(vault) == ["/b.mp4"])
        #expect(try await subscription(vault).movedTo == url("/new"))
        let (before, after) = (asked("/feed"), asked("/new"))
        try await sync(vault)
        #expect(asked("/feed") == before && asked("/new") == after + 1)
        // Two that send each other away.
        places.set("/new", Self.rss(["b"], channel("/feed")))
        places.set("/feed", Self.rss(["b"], channel("/new")))
        #expect(try await sync(vault).unchanged == 1)
        await vault.close()
    }

    @Test("A feed that is gone for good is not asked again by itself, and its titles stay")
    func gone() async throws {
        let vault = try await fixture.open()
        var choices = Subscription.Choices()
        choices.interval = 300
        places.set("/feed", Self.rss(["a"]))
        let added = try await vault.subscribe(.feed(url("/feed")), choices)
        let report = try await vault.sync(added.shortID)
        for (_, entry) in report.fetch { for try await _ in vault.download(entry.reference) {} }
        places.set("/feed", status: 410)
        let error = await #expect(throws: VaultError.self) { try await vault.sync(added.shortID) }
        #expect(error?.message.contains("gone for good") == true)
        let gone = try await subscription(vault)
        #expect(gone.isGone && SyncSchedule.due([gone], at: .max).isEmpty)
        #expect(try await held(vault) == ["/a.mp4"])
        places.set("/feed", Self.rss(["a"]))
        _ = try await vault.sync(added.shortID)
        #expect(try await !subscription(vault).isGone, "a person may ask again")
        await vault.close()
    }

    @Test("A new address that fails loses nothing, and is given up only if no feed is there any more")
    func failingAddress() async throws {
        let vault = try await fixture.open()
        places.set("/feed", Self.rss(["a"], "<itunes:new-feed-url>/new</itunes:new-feed-url>"))
        places.set("/new", Self.rss(["b"]))
        try await sync(vault)
        #expect(try await held(vault) == ["/b.mp4"], "premise")
        places.set("/new", status: 500)
        await #expect(throws: VaultError.self) { try await sync(vault) }
        #expect(try await held(vault) == ["/b.mp4"])
        #expect(try await subscription(vault).movedTo == url("/new"))
        // Nor is it gone because the old address says so.
        for broken in [Places.Answer(status: 500), Places.Answer(text: "<html>")] {
            places.answers.withLock { $0["/new"] = broken }
            places.set("/feed", status: 410)
            await #expect(throws: VaultError.self) { try await sync(vault) }
            #expect(try await !subscription(vault).isGone)
            #expect(try await subscription(vault).movedTo == url("/new"))
        }
        places.set("/new", status: 404)
        places.set("/feed", Self.rss(["a"]))
        let report = try await sync(vault)
        #expect(report.pageFailure != nil && report.removals.isEmpty)
        #expect(try await held(vault) == ["/a.mp4", "/b.mp4"])
        #expect(try await subscription(vault).movedTo == nil)
        await vault.close()
    }

    // MARK: Patience

    @Test("An origin that is busy for a moment is asked again when it says, in the same run")
    func briefly() async throws {
        let vault = try await fixture.open()
        let count = Locked(0)
        fixture.origin.answer { [resource = fixture.resource] request in
            guard request.target == "/feed" else { return resource.answer(to: request) }
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            guard !isFirst else { return ScriptedAnswer(503, fields: ["Content-Length": "0", "Retry-After": "1"]) }
            let text = Array(Self.rss(["a"]).utf8)
            return ScriptedAnswer(200, fields: ["Content-Length": "\(text.count)"], body: [.bytes(text)])
        }
        #expect(try await sync(vault).fetch.count == 1)
        #expect(asked("/feed") == 2)
        await vault.close()
    }

    @Test("An origin that asks for hours gets them, also if that is longer than the interval")
    func long() async throws {
        let vault = try await fixture.open()
        var choices = Subscription.Choices()
        choices.interval = 300
        places.set("/feed", status: 503, ["Retry-After": "7200"])
        let added = try await vault.subscribe(.feed(url("/feed")), choices)
        await #expect(throws: VaultError.self) { try await vault.sync(added.shortID) }
        let busy = try await subscription(vault)
        let ran = try #require(busy.lastRun)
        #expect(asked("/feed") == 1)
        #expect(SyncSchedule.due([busy], at: ran + 7100).isEmpty)
        #expect(SyncSchedule.due([busy], at: ran + 7300).count == 1)
        #expect(SyncSchedule.next(after: 0, interval: 300, failures: 1, chance: 0) == 300)
        await vault.close()
    }

    // MARK: Pages

    @Test("A feed in pages is read to its end, or as far as a number of titles needs", arguments: [false, true])
    func pages(areArchives: Bool) async throws {
        let vault = try await fixture.open()
        let link = { (place: String) in
            areArchives
                ? "<link rel='prev-archive' href='\(place)'/><link rel='next' type='text/html' href='/x'/>"
                : Self.next(place)
        }
        places.set("/feed", Self.rss(["a", "b"], link("/2")))
        places.set("/2", Self.rss(["c", "b"], link("/3")))
        places.set("/3", Self.rss(["d"]))
        #expect(try await sync(vault, newest: 2).fetch.count == 2)
        #expect(asked("/2") == 0)
        #expect(try await sync(vault, newest: 3).fetch.map(\.entry.reference.url.path) == ["/c.mp4"])
        #expect(asked("/3") == 0)
        #expect(try await sync(vault).fetch.map(\.entry.reference.url.path) == ["/d.mp4"])
        #expect(try await held(vault) == ["/a.mp4", "/b.mp4", "/c.mp4", "/d.mp4"])
        await vault.close()
    }

    @Test("Pages of JSON Feed are read, too")
    func jsonPages() async throws {
        let vault = try await fixture.open()
        let page = { (name: String, more: String) in
            #"{"items": [{"id": "\#(name)", "attachments": [{"url": "/\#(name).mp4"}]}]\#(more)}"#
        }
        places.set("/feed", page("a", #", "next_url": "/2""#))
        places.set("/2", page("b", ""))
        #expect(try await sync(vault).fetch.count == 2)
        await vault.close()
    }

    @Test(
        "If a page cannot be read, what the others name is fetched, nothing is removed, and the run says so",
        arguments: ["404", "text", "cut", "elsewhere", "away"])
    func failingPage(kind: String) async throws {
        let vault = try await fixture.open()
        places.set("/feed", Self.rss(["a"], Self.next("/2")))
        places.set("/2", Self.rss(["b"]))
        try await sync(vault)
        let other = try ScriptedOrigin { _ in ScriptedAnswer(200, fields: ["Content-Length": "0"]) }
        defer { other.stop() }
        switch kind {
        case "404": places.set("/2", status: 404)
        case "text": places.set("/2", "busy")
        case "cut": places.set("/2", String(Self.rss(["b"]).dropLast(20)))
        case "away": places.set("/2", status: 302, ["Location": other.url("/2").absoluteString])
        default: break
        }
        let place = kind == "elsewhere" ? other.url("/2").absoluteString : "/2"
        places.set("/feed", Self.rss(["c"], Self.next(place)))
        let report = try await sync(vault)
        #expect(report.pageFailure != nil && report.fetch.count == 1 && report.removals.isEmpty && report.waiting == 0)
        #expect(try await held(vault) == ["/a.mp4", "/b.mp4", "/c.mp4"])
        #expect(try await subscription(vault).failure != nil)
        #expect(other.exchanges.isEmpty)
        places.set("/feed", Self.rss(["c"], Self.next("/2")))
        places.set("/2", Self.rss(["b"]))
        #expect(try await sync(vault).removals.count == 1, "it was still the subscription's")
        await vault.close()
    }

    @Test("Pages that lead back, or name nothing new, end", arguments: ["/feed", "/2", "/3"])
    func loops(last: String) async throws {
        let vault = try await fixture.open()
        places.set("/feed", Self.rss(["a"], Self.next("/2")))
        places.set("/2", Self.rss(["b"], Self.next(last)))
        places.set("/3", Self.rss(["a"], Self.next("/4")))
        places.set("/4", Self.rss(["z"]))
        let report = try await sync(vault)
        #expect(report.fetch.count == 2 && report.pageFailure == nil && asked("/2") == 1 && asked("/4") == 0)
        await vault.close()
    }

    // MARK: Adding

    @Test("A new feed is read before it is saved, and not saved if it is none, unless it is to be added all the same")
    func tried() async throws {
        let vault = try await fixture.open()
        var choices = Subscription.Choices()
        choices.interval = 600
        places.set("/page", "<html><body>Log in</body></html>")
        places.set("/empty", Self.rss([]))
        places.set("/missing", status: 404)
        let outline = "<outline xmlUrl='https://a.example/f?token=hunter2'/>"
        places.set("/opml", "<opml version='2.0'><body>\(outline)</body></opml>")
        places.set("/busy", status: 503)
        for path in ["/page", "/empty", "/missing", "/opml", "/busy"] {
            let error = await #expect(throws: VaultError.self) {
                try await vault.subscribe(.feed(url(path)), choices, tries: true)
            }
            #expect(error?.hint == (path == "/busy" ? .addUntried : nil) && asked(path) == 1, "\(path)")
            #expect(error?.message.contains("hunter2") == false)
            if path == "/opml" { #expect(error?.message.contains("1 feed (OPML): https://a.example/f?…;") == true) }
        }
        #expect(try await vault.subscriptions().subscriptions.isEmpty)
        #expect(try await vault.subscribe(.feed(url("/page")), choices).lastRun == nil)
        places.set("/feed", Self.rss(["a", "b"]))
        let added = try await vault.subscribe(.feed(url("/feed")), choices, tries: true)
        #expect(added.wanted.count == 2 && added.statedName == "S" && added.lastRun == nil)
        #expect(try await vault.downloads.counts() == DownloadCounts(), "no service runs it")
        await vault.close()
    }

    @Test("What a person fetched after a feed was added has not come with it, and stays")
    func fetchedByHand() async throws {
        let vault = try await fixture.open()
        var choices = Subscription.Choices()
        choices.interval = 600
        places.set("/feed", Self.rss(["a"]))
        let added = try await vault.subscribe(.feed(url("/feed")), choices, tries: true)
        for try await _ in vault.download(fixture.origin.url("/a.mp4")) {}
        places.set("/feed", Self.rss(["b"]))
        for (_, entry) in try await vault.sync(added.shortID).fetch {
            for try await _ in vault.download(entry.reference) {}
        }
        #expect(try await vault.sync(added.shortID).removals.isEmpty)
        #expect(try await held(vault) == ["/a.mp4", "/b.mp4"])
        await vault.close()
    }

    @Test("A feed that failed is read when it is added again, and one that did not is not")
    func addedAgain() async throws {
        let vault = try await fixture.open()
        var choices = Subscription.Choices()
        choices.interval = 600
        places.set("/feed", Self.rss(["a"]))
        let added = try await vault.subscribe(.feed(url("/feed")), choices, tries: true)
        _ = try await vault.sync(added.shortID)
        _ = try await vault.subscribe(.feed(url("/feed")), choices, tries: true)
        #expect(asked("/feed") == 2)
        places.set("/feed", status: 410)
        await #expect(throws: VaultError.self) { try await vault.sync(added.shortID) }
        await #expect(throws: VaultError.self) {
            try await vault.subscribe(.feed(url("/feed")), choices, tries: true)
        }
        #expect(asked("/feed") == 4)
        #expect(try await subscription(vault).isGone)
        places.set("/feed", Self.rss(["a"]))
        let back = try await vault.subscribe(.feed(url("/feed")), choices, tries: true)
        #expect(!back.isGone && back.failure == nil && back.nextRun == nil && asked("/feed") == 5)
        await vault.close()
    }

    @Test("While a service runs subscriptions, reading a new one is its first run")
    func atOnce() async throws {
        let vault = try await fixture.open()
        vault.startSubscriptions { _, _ in }
        var choices = Subscription.Choices()
        choices.interval = 600
        places.set("/feed", Self.rss(["a", "b"]))
        let added = try await vault.subscribe(.feed(url("/feed")), choices, tries: true)
        #expect(added.lastRun != nil && added.wanted.count == 2 && asked("/feed") == 1)
        #expect(try await vault.downloads.counts() == DownloadCounts(waiting: 2))
        await vault.close()
    }

    @Test("What is changed is looked at without waiting for the next look, once")
    func woken() async throws {
        let clock = SubscriptionClock(pace: .seconds(3600))
        let (runs, ran) = AsyncStream.makeStream(of: Void.self)
        clock.start { ran.yield() }
        var looks = runs.makeAsyncIterator()
        for _ in 0..<3 {
            await looks.next()
            clock.wake()
        }
        await looks.next()
        await clock.end()
    }

    @Test("Playlists of other players are lists of titles", arguments: ["pls", "xspf"])
    func playlists(form: String) async throws {
        let vault = try await fixture.open()
        places.set(
            "/feed",
            form == "pls"
                ? "[playlist]\nFile2=/b.mp4\nTitle2=Two\nFile1=a.mp4\nLength1=-1\nNumberOfEntries=2\nVersion=2\n"
                : "<?xml version='1.0' encoding='UTF-8'?><playlist version='1' xmlns='http://xspf.org/ns/0/'><trackList>"
                    + "<track><location>a.mp4</location></track>"
                    + "<track><title>Two</title><location>ftp://a.example/</location><location>/b.mp4</location></track>"
                    + "</trackList></playlist>")
        let report = try await sync(vault)
        #expect(report.fetch.map(\.entry.reference.url.path) == ["/a.mp4", "/b.mp4"])
        #expect(report.fetch.map(\.entry.name) == [nil, "Two"])
        await vault.close()
    }
}
