import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault

/// Feeds that move, end, or request a delay.
@Suite("Where feeds are", .timeLimit(.minutes(5)))
struct FeedPlacesTests {
    private let lab: FeedLab

    init() async throws { lab = try await FeedLab() }

    // MARK: Moved

    @Test("A feed that has moved for good is asked at its new address from then on", arguments: [301, 308])
    func moved(status: Int) async throws {
        let vault = try await lab.fixture.open()
        lab.places.set("/feed", status: status, ["Location": "/new"])
        lab.places.set("/new", FeedLab.rss(["a"]))
        #expect(try await lab.sync(vault, contentIDs: true).hasMoved)
        #expect(try await lab.subscription(vault).movedTo == lab.url("/new"))
        let ids = try await lab.subscription(vault).wanted
        #expect(try await !lab.sync(vault, contentIDs: true).hasMoved)
        #expect(lab.asked("/feed") == 1 && lab.asked("/new") == 2)
        #expect(try await lab.subscription(vault).wanted == ids, "names of entries stay")
        // There is no feed any more at its new address, so the operator's own address counts again.
        for answer in [
            FeedPlaces.Answer(status: 404), FeedPlaces.Answer(text: "<html>"), FeedPlaces.Answer(text: FeedLab.rss([])),
        ] {
            lab.places.answers.withLock { $0["/new"] = answer }
            lab.places.set("/feed", FeedLab.rss(["a"]))
            #expect(try await !lab.sync(vault, contentIDs: true).hasMoved)
            #expect(try await lab.subscription(vault).movedTo == nil)
            lab.places.set("/feed", status: status, ["Location": "/new"])
            lab.places.set("/new", FeedLab.rss(["a"]))
            #expect(try await lab.sync(vault, contentIDs: true).hasMoved)
            #expect(try await lab.subscription(vault).movedTo == lab.url("/new"))
        }
        await vault.close()
    }

    @Test("A redirect for now is followed each time, and one for good behind it is not remembered")
    func elsewhereForNow() async throws {
        let vault = try await lab.fixture.open()
        lab.places.set("/feed", status: 302, ["Location": "/now"])
        lab.places.set("/now", status: 301, ["Location": "/new"])
        lab.places.set("/new", FeedLab.rss(["a"]))
        try await lab.sync(vault)
        #expect(try await lab.subscription(vault).movedTo == nil)
        lab.places.set("/feed", status: 301, ["Location": "/for-good"])
        lab.places.set("/for-good", status: 308, ["Location": "/better"])
        lab.places.set("/better", status: 307, ["Location": "/new"])
        try await lab.sync(vault)
        #expect(try await lab.subscription(vault).movedTo == lab.url("/better"))
        await vault.close()
    }

    @Test("A feed that says where it is from now on is asked there, if a feed with entries is there")
    func newURL() async throws {
        let vault = try await lab.fixture.open()
        let channel = { (place: String) in "<itunes:new-feed-url>\(place)</itunes:new-feed-url>" }
        let other = try ScriptedOrigin { _ in ScriptedAnswer(200, fields: ["Content-Length": "0"]) }
        defer { other.stop() }
        lab.places.set("/page", "<html><body>Log in</body></html>")
        lab.places.set("/empty", FeedLab.rss([]))
        let useless = ["/page", "/empty", "/missing", "/feed", "ftp://a.example/", other.url("/feed").absoluteString]
        for place in useless {
            lab.places.answers.withLock { $0["/missing"] = FeedPlaces.Answer(status: 404) }
            lab.places.set("/feed", FeedLab.rss(["a"], channel(place)))
            #expect(try await lab.sync(vault).unusable == 0)
            #expect(try await lab.subscription(vault).movedTo == nil, "\(place)")
        }
        #expect(other.exchanges.isEmpty, "it is at a private address")
        lab.places.set("/feed", FeedLab.rss(["a"], channel("/new")))
        lab.places.set("/new", FeedLab.rss(["b"], channel("/new")))
        try await lab.sync(vault)
        #expect(try await lab.held(vault) == ["/b.mp4"])
        #expect(try await lab.subscription(vault).movedTo == lab.url("/new"))
        let (before, after) = (lab.asked("/feed"), lab.asked("/new"))
        try await lab.sync(vault)
        #expect(lab.asked("/feed") == before && lab.asked("/new") == after + 1)
        // Two feeds that redirect to each other.
        lab.places.set("/new", FeedLab.rss(["b"], channel("/feed")))
        lab.places.set("/feed", FeedLab.rss(["b"], channel("/new")))
        #expect(try await lab.sync(vault).unchanged == 1)
        await vault.close()
    }

    @Test("A feed that is gone for good is not asked again by itself, and its titles stay")
    func gone() async throws {
        let vault = try await lab.fixture.open()
        let choices = FeedLab.choices(every: 300)
        lab.places.set("/feed", FeedLab.rss(["a"]))
        let added = try await vault.subscriptions.add(.feed(lab.url("/feed")), choices)
        let report = try await vault.subscriptions.sync(added.shortID)
        for (_, entry) in report.fetch { for try await _ in vault.download(entry.reference) {} }
        lab.places.set("/feed", status: 410)
        let error = await #expect(throws: VaultError.self) { try await vault.subscriptions.sync(added.shortID) }
        #expect(error?.message.contains("gone for good") == true)
        let gone = try await lab.subscription(vault)
        #expect(gone.isGone && SyncSchedule.due([gone], at: .max).isEmpty)
        #expect(try await lab.held(vault) == ["/a.mp4"])
        lab.places.set("/feed", FeedLab.rss(["a"]))
        _ = try await vault.subscriptions.sync(added.shortID)
        #expect(try await !lab.subscription(vault).isGone, "a person may ask again")
        await vault.close()
    }

    @Test("A new address that fails loses nothing, and is given up only if no feed is there any more")
    func failingAddress() async throws {
        let vault = try await lab.fixture.open()
        lab.places.set("/feed", FeedLab.rss(["a"], "<itunes:new-feed-url>/new</itunes:new-feed-url>"))
        lab.places.set("/new", FeedLab.rss(["b"]))
        try await lab.sync(vault)
        #expect(try await lab.held(vault) == ["/b.mp4"], "premise")
        lab.places.set("/new", status: 500)
        await #expect(throws: VaultError.self) { try await lab.sync(vault) }
        #expect(try await lab.held(vault) == ["/b.mp4"])
        #expect(try await lab.subscription(vault).movedTo == lab.url("/new"))
        // It is also not gone because the old address says so.
        for broken in [FeedPlaces.Answer(status: 500), FeedPlaces.Answer(text: "<html>")] {
            lab.places.answers.withLock { $0["/new"] = broken }
            lab.places.set("/feed", status: 410)
            await #expect(throws: VaultError.self) { try await lab.sync(vault) }
            #expect(try await !lab.subscription(vault).isGone)
            #expect(try await lab.subscription(vault).movedTo == lab.url("/new"))
        }
        lab.places.set("/new", status: 404)
        lab.places.set("/feed", FeedLab.rss(["a"]))
        let report = try await lab.sync(vault)
        #expect(report.pageFailure != nil && report.removals.isEmpty)
        #expect(try await lab.held(vault) == ["/a.mp4", "/b.mp4"])
        #expect(try await lab.subscription(vault).movedTo == nil)
        await vault.close()
    }

    // MARK: Patience

    @Test("An origin that is busy for a moment is asked again when it says, in the same run")
    func briefly() async throws {
        let vault = try await lab.fixture.open()
        let count = Locked(0)
        lab.fixture.origin.answer { [resource = lab.fixture.resource] request in
            guard request.target == "/feed" else { return resource.answer(to: request) }
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            guard !isFirst else { return ScriptedAnswer(503, fields: ["Content-Length": "0", "Retry-After": "1"]) }
            let text = Array(FeedLab.rss(["a"]).utf8)
            return ScriptedAnswer(200, fields: ["Content-Length": "\(text.count)"], body: [.bytes(text)])
        }
        #expect(try await lab.sync(vault).fetch.count == 1)
        #expect(lab.asked("/feed") == 2)
        await vault.close()
    }

    @Test("An origin that asks for hours gets them, also if that is longer than the interval")
    func long() async throws {
        let vault = try await lab.fixture.open()
        let choices = FeedLab.choices(every: 300)
        lab.places.set("/feed", status: 503, ["Retry-After": "7200"])
        let added = try await vault.subscriptions.add(.feed(lab.url("/feed")), choices)
        await #expect(throws: VaultError.self) { try await vault.subscriptions.sync(added.shortID) }
        let busy = try await lab.subscription(vault)
        let ran = try #require(busy.lastRun)
        #expect(lab.asked("/feed") == 1)
        #expect(SyncSchedule.due([busy], at: ran + 7100).isEmpty)
        #expect(SyncSchedule.due([busy], at: ran + 7300).count == 1)
        #expect(SyncSchedule.next(after: 0, interval: 300, failures: 1, chance: 0) == 300)
        await vault.close()
    }
}
