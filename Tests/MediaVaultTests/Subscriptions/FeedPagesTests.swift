import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault

@Suite("Feeds in pages", .timeLimit(.minutes(5)))
struct FeedPagesTests {
    private let lab: FeedLab

    init() async throws { lab = try await FeedLab() }

    @Test("A feed in pages is read to its end, or as far as a number of titles needs", arguments: [false, true])
    func pages(areArchives: Bool) async throws {
        let vault = try await lab.fixture.open()
        let link = { (place: String) in
            areArchives
                ? "<link rel='prev-archive' href='\(place)'/><link rel='next' type='text/html' href='/x'/>"
                : FeedLab.next(place)
        }
        lab.places.set("/feed", FeedLab.rss(["a", "b"], link("/2")))
        lab.places.set("/2", FeedLab.rss(["c", "b"], link("/3")))
        lab.places.set("/3", FeedLab.rss(["d"]))
        #expect(try await lab.sync(vault, newest: 2).fetch.count == 2)
        #expect(lab.asked("/2") == 0)
        #expect(try await lab.sync(vault, newest: 3).fetch.map(\.entry.reference.url.path) == ["/c.mp4"])
        #expect(lab.asked("/3") == 0)
        #expect(try await lab.sync(vault).fetch.map(\.entry.reference.url.path) == ["/d.mp4"])
        #expect(try await lab.held(vault) == ["/a.mp4", "/b.mp4", "/c.mp4", "/d.mp4"])
        await vault.close()
    }

    @Test("Pages of JSON Feed are read, too")
    func jsonPages() async throws {
        let vault = try await lab.fixture.open()
        let page = { (name: String, more: String) in
            #"{"items": [{"id": "\#(name)", "attachments": [{"url": "/\#(name).mp4"}]}]\#(more)}"#
        }
        lab.places.set("/feed", page("a", #", "next_url": "/2""#))
        lab.places.set("/2", page("b", ""))
        #expect(try await lab.sync(vault).fetch.count == 2)
        await vault.close()
    }

    @Test(
        "If a page cannot be read, what the others name is fetched, nothing is removed, and the run says so",
        arguments: ["404", "text", "cut", "elsewhere", "away"])
    func failingPage(kind: String) async throws {
        let vault = try await lab.fixture.open()
        lab.places.set("/feed", FeedLab.rss(["a"], FeedLab.next("/2")))
        lab.places.set("/2", FeedLab.rss(["b"]))
        try await lab.sync(vault)
        let other = try ScriptedOrigin { _ in ScriptedAnswer(200, fields: ["Content-Length": "0"]) }
        defer { other.stop() }
        switch kind {
        case "404": lab.places.set("/2", status: 404)
        case "text": lab.places.set("/2", "busy")
        case "cut": lab.places.set("/2", String(FeedLab.rss(["b"]).dropLast(20)))
        case "away": lab.places.set("/2", status: 302, ["Location": other.url("/2").absoluteString])
        default: break
        }
        let place = kind == "elsewhere" ? other.url("/2").absoluteString : "/2"
        lab.places.set("/feed", FeedLab.rss(["c"], FeedLab.next(place)))
        let report = try await lab.sync(vault)
        #expect(report.pageFailure != nil && report.fetch.count == 1 && report.removals.isEmpty && report.waiting == 0)
        #expect(try await lab.held(vault) == ["/a.mp4", "/b.mp4", "/c.mp4"])
        #expect(try await lab.subscription(vault).failure != nil)
        #expect(other.exchanges.isEmpty)
        lab.places.set("/feed", FeedLab.rss(["c"], FeedLab.next("/2")))
        lab.places.set("/2", FeedLab.rss(["b"]))
        #expect(try await lab.sync(vault).removals.count == 1, "it was still the subscription's")
        await vault.close()
    }

    @Test(
        "While a page leads back, names nothing new or is empty, what is behind it is read, and nothing is removed",
        arguments: ["first", "redirect", "itself", "repeated", "last", "empty", "empty link"])
    func wrongPage(kind: String) async throws {
        let vault = try await lab.fixture.open()
        let publish = {
            lab.places.set("/feed", FeedLab.rss(["a"], FeedLab.next("/2")))
            lab.places.set("/2", FeedLab.rss(["b"], FeedLab.next("/3")))
            lab.places.set("/3", FeedLab.rss(["c"]))
        }
        publish()
        try await lab.sync(vault)
        switch kind {
        case "first": lab.places.set("/2", FeedLab.rss(["a"], FeedLab.next("/2")))
        case "redirect": lab.places.set("/2", status: 302, ["Location": "/feed"])
        case "itself": lab.places.set("/2", FeedLab.rss(["b"], FeedLab.next("/2")))
        case "repeated": lab.places.set("/2", FeedLab.rss(["a"], "<item/>" + FeedLab.next("/3")))
        case "last": lab.places.set("/2", FeedLab.rss(["a"]))
        case "empty": lab.places.set("/2", FeedLab.rss([]))
        default: lab.places.set("/2", FeedLab.rss([], FeedLab.next("/3")))
        }
        let report = try await lab.sync(vault)
        #expect(report.pageFailure?.message.hasPrefix("page 2 of the feed ") == true && report.removals.isEmpty)
        #expect(lab.asked("/3") == (["repeated", "empty link"].contains(kind) ? 2 : 1))
        #expect(try await lab.held(vault) == ["/a.mp4", "/b.mp4", "/c.mp4"])
        #expect(try await lab.subscription(vault).failure != nil)
        publish()
        lab.places.set("/2", FeedLab.rss(["b"]))
        #expect(try await lab.sync(vault).removals.count == 1, "it was still the subscription's")
        #expect(try await lab.subscription(vault).failure == nil)
        await vault.close()
    }

    @Test("A page of texts alone is not the end, and may be the last")
    func texts() async throws {
        let vault = try await lab.fixture.open()
        let text = "<item><title>Text</title></item>"
        lab.places.set("/feed", FeedLab.rss(["a"], FeedLab.next("/2")))
        lab.places.set("/2", FeedLab.rss([], text + FeedLab.next("/3")))
        lab.places.set("/3", FeedLab.rss(["b"], FeedLab.next("/4")))
        lab.places.set("/4", FeedLab.rss([], text))
        let report = try await lab.sync(vault)
        #expect(report.fetch.count == 2 && report.pageFailure == nil)
        await vault.close()
    }

    @Test("A title that stands on two pages, or twice on one, counts once among the newest")
    func twice() async throws {
        let vault = try await lab.fixture.open()
        lab.places.set("/feed", FeedLab.rss(["a", "b"], FeedLab.next("/2")))
        lab.places.set("/2", FeedLab.rss(["c", "d"]))
        #expect(try await lab.sync(vault, newest: 4).fetch.count == 4)
        lab.places.set("/feed", FeedLab.rss(["a", "a", "b"], FeedLab.next("/2")))
        lab.places.set("/2", FeedLab.rss(["b", "c", "d"]))
        let report = try await lab.sync(vault, newest: 4)
        #expect(report.unchanged == 4 && report.removals.isEmpty)
        lab.places.set("/feed", FeedLab.rss(["a", "a", "a"], FeedLab.next("/2")))
        #expect(try await lab.sync(vault, newest: 2).unchanged == 2)
        await vault.close()
    }

    @Test("Titles of one URL with ids of their own count each")
    func ownIDs() async throws {
        let vault = try await lab.fixture.open()
        let items = ["1", "2", "3"].map { "<item><guid>\($0)</guid><enclosure url='/latest.mp4'/></item>" }
        lab.places.set("/feed", FeedLab.rss([], items.joined()))
        #expect(try await lab.sync(vault, newest: 2, contentIDs: true).fetch.count == 2)
        await vault.close()
    }

    @Test("A title that stands twice in a list that is given counts once among the newest, as in a file")
    func twiceGiven() async throws {
        let vault = try await lab.fixture.open()
        var choices = MediaSubscription.Choices()
        choices.newest = 2
        let given = ["a", "a", "b", "c"].map { SyncEntry(MediaReference(lab.fixture.origin.url("/\($0).mp4"))) }
        let report = try await vault.subscriptions.sync(.list("mine"), choices, .given(given, unusable: 0))
        #expect(report.fetch.map(\.entry.reference.url.path) == ["/a.mp4", "/b.mp4"])
        let file = #"["https://a.example/a", "https://a.example/a", "https://a.example/b"]"#
        #expect(try FeedFile.read(Array(file.utf8), newest: 2).entries.map(\.reference.url.path) == ["/a", "/b"])
        await vault.close()
    }

    @Test("A page behind a redirect is one page")
    func redirectedPage() async throws {
        let vault = try await lab.fixture.open()
        lab.places.set("/feed", FeedLab.rss(["a"], FeedLab.next("/2")))
        lab.places.set("/2", status: 302, ["Location": "/two"])
        lab.places.set("/two", FeedLab.rss(["b"], FeedLab.next("/3")))
        lab.places.set("/3", status: 404)
        #expect(try await lab.sync(vault).pageFailure?.message.hasPrefix("page 3 of the feed was not read") == true)
        await vault.close()
    }

    @Test("A run on a schedule tells that a page was not read")
    func scheduled() async throws {
        let vault = try await lab.fixture.open()
        lab.places.set("/feed", FeedLab.rss(["a"], FeedLab.next("/2")))
        lab.places.set("/2", status: 404)
        _ = try await vault.subscriptions.add(.feed(lab.url("/feed")), FeedLab.choices(every: 600))
        let told = Locked<[String?]>([])
        await vault.subscriptions.runDueSubscriptions { _, error in told.withLock { $0.append(error?.message) } }
        let messages = told.withLock(\.self)
        #expect(messages.count == 1 && messages.first??.hasPrefix("page 2 of the feed") == true)
        await vault.close()
    }
}
