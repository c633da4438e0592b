import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault

@Suite("How feeds are added", .timeLimit(.minutes(5)))
struct FeedAddingTests {
    private let lab: FeedLab

    init() async throws { lab = try await FeedLab() }

    @Test("A new feed is read before it is saved, and not saved if it is none, unless it is to be added all the same")
    func tried() async throws {
        let vault = try await lab.fixture.open()
        let choices = FeedLab.choices(every: 600)
        lab.places.set("/page", "<html><body>Log in</body></html>")
        lab.places.set("/empty", FeedLab.rss([]))
        lab.places.set("/missing", status: 404)
        let outline = "<outline xmlUrl='https://a.example/f?token=hunter2'/>"
        lab.places.set("/opml", "<opml version='2.0'><body>\(outline)</body></opml>")
        lab.places.set("/busy", status: 503)
        for path in ["/page", "/empty", "/missing", "/opml", "/busy"] {
            let error = await #expect(throws: VaultError.self) {
                try await vault.subscriptions.add(.feed(lab.url(path)), choices, tries: true)
            }
            #expect(error?.hint == (path == "/busy" ? .addUntried : nil) && lab.asked(path) == 1, "\(path)")
            #expect(error?.message.contains("hunter2") == false)
            if path == "/opml" { #expect(error?.message.contains("1 feed (OPML): https://a.example/f?…;") == true) }
        }
        #expect(try await vault.subscriptions.all().subscriptions.isEmpty)
        #expect(try await vault.subscriptions.add(.feed(lab.url("/page")), choices).lastRun == nil)
        lab.places.set("/feed", FeedLab.rss(["a", "b"]))
        let added = try await vault.subscriptions.add(.feed(lab.url("/feed")), choices, tries: true)
        #expect(added.wanted.count == 2 && added.statedName == "S" && added.lastRun == nil)
        #expect(try await vault.queue.counts() == DownloadCounts(), "no service runs it")
        await vault.close()
    }

    @Test("What a person fetched after a feed was added has not come with it, and stays")
    func fetchedByHand() async throws {
        let vault = try await lab.fixture.open()
        let choices = FeedLab.choices(every: 600)
        lab.places.set("/feed", FeedLab.rss(["a"]))
        let added = try await vault.subscriptions.add(.feed(lab.url("/feed")), choices, tries: true)
        for try await _ in vault.download(lab.fixture.origin.url("/a.mp4")) {}
        lab.places.set("/feed", FeedLab.rss(["b"]))
        for (_, entry) in try await vault.subscriptions.sync(added.shortID).fetch {
            for try await _ in vault.download(entry.reference) {}
        }
        #expect(try await vault.subscriptions.sync(added.shortID).removals.isEmpty)
        #expect(try await lab.held(vault) == ["/a.mp4", "/b.mp4"])
        await vault.close()
    }

    @Test("A feed that failed is read when it is added again, and one that did not is not")
    func addedAgain() async throws {
        let vault = try await lab.fixture.open()
        let choices = FeedLab.choices(every: 600)
        lab.places.set("/feed", FeedLab.rss(["a"]))
        let added = try await vault.subscriptions.add(.feed(lab.url("/feed")), choices, tries: true)
        _ = try await vault.subscriptions.sync(added.shortID)
        _ = try await vault.subscriptions.add(.feed(lab.url("/feed")), choices, tries: true)
        #expect(lab.asked("/feed") == 2)
        lab.places.set("/feed", status: 410)
        await #expect(throws: VaultError.self) { try await vault.subscriptions.sync(added.shortID) }
        await #expect(throws: VaultError.self) {
            try await vault.subscriptions.add(.feed(lab.url("/feed")), choices, tries: true)
        }
        #expect(lab.asked("/feed") == 4)
        #expect(try await lab.subscription(vault).isGone)
        lab.places.set("/feed", FeedLab.rss(["a"]))
        let back = try await vault.subscriptions.add(.feed(lab.url("/feed")), choices, tries: true)
        #expect(!back.isGone && back.failure == nil && back.nextRun == nil && lab.asked("/feed") == 5)
        await vault.close()
    }

    @Test("While a service runs subscriptions, reading a new one is its first run")
    func atOnce() async throws {
        let vault = try await lab.fixture.open()
        vault.subscriptions.start { _, _ in }
        let choices = FeedLab.choices(every: 600)
        lab.places.set("/feed", FeedLab.rss(["a", "b"]))
        let added = try await vault.subscriptions.add(.feed(lab.url("/feed")), choices, tries: true)
        #expect(added.lastRun != nil && added.wanted.count == 2 && lab.asked("/feed") == 1)
        #expect(try await vault.queue.counts() == DownloadCounts(waiting: 2))
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
        let vault = try await lab.fixture.open()
        lab.places.set(
            "/feed",
            form == "pls"
                ? "[playlist]\nFile2=/b.mp4\nTitle2=Two\nFile1=a.mp4\nLength1=-1\nNumberOfEntries=2\nVersion=2\n"
                : "<?xml version='1.0' encoding='UTF-8'?><playlist version='1' xmlns='http://xspf.org/ns/0/'><trackList>"
                    + "<track><location>a.mp4</location></track>"
                    + "<track><title>Two</title><location>ftp://a.example/</location><location>/b.mp4</location></track>"
                    + "</trackList></playlist>")
        let report = try await lab.sync(vault)
        #expect(report.fetch.map(\.entry.reference.url.path) == ["/a.mp4", "/b.mp4"])
        #expect(report.fetch.map(\.entry.name) == [nil, "Two"])
        await vault.close()
    }
}
