import GRDB
import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault
@testable import VaultStorage

/// What an origin answers at `/feed`: a text, or nothing for 404.
private final class PublishedText: Sendable {
    let text = Locked<String?>(nil)
}

/// Subscriptions of a vault to feeds of a scripted origin.
@Suite("Subscriptions", .timeLimit(.minutes(5)))
struct SubscriptionTests {
    private static let length: Int64 = 40_000
    private let fixture: VaultFixture
    private let feed = PublishedText()

    init() async throws {
        fixture = try await VaultFixture(ScriptedResource(length: Self.length))
        fixture.origin.answer { [feed, resource = fixture.resource] request in
            guard request.target.hasPrefix("/feed") else { return resource.answer(to: request) }
            guard let text = feed.text.withLock(\.self) else {
                return ScriptedAnswer(404, fields: ["Content-Length": "0"])
            }
            return ScriptedAnswer(
                200, fields: ["Content-Length": "\(text.utf8.count)"], body: [.bytes(Array(text.utf8))])
        }
    }

    private var url: String { fixture.origin.url("/feed?token=1").absoluteString }

    /// Lets the feed name these files.
    private func publish(_ names: String...) {
        let items = names.map { #"{"url": "/\#($0).mp4", "id": "\#($0)"}"# }
        feed.text.withLock { $0 = "[\(items.joined(separator: ","))]" }
    }

    /// Runs the feed, fetches what is new, and runs it again if something waits for that, as the command does.
    @discardableResult
    private func sync(
        _ vault: Vault, _ target: String? = nil, change: (inout MediaSubscription.Choices) -> Void = { _ in }
    ) async throws -> SyncReport {
        var choices = MediaSubscription.Choices()
        change(&choices)
        var report = try await vault.subscriptions.sync(.feed(target ?? url), choices)
        for (_, entry) in report.fetch { for try await _ in vault.download(entry.reference) {} }
        if report.waiting > 0 {
            report.removals = try await vault.subscriptions.sync(.feed(target ?? url), choices).removals
        }
        return report
    }

    private func held(_ vault: Vault) async throws -> [String] {
        try await vault.titles.list().reduce(into: [String]()) { $0.append(try MediaURL($1.url).path) }.sorted()
    }

    @Test("What is new is fetched once, what is gone is removed, and what stays is not asked for again")
    func lifecycle() async throws {
        let vault = try await fixture.open()
        publish("a", "b")
        #expect(try await sync(vault).fetch.count == 2)
        publish("b", "c")
        let report = try await sync(vault)
        #expect(report.fetch.map(\.entry.reference.url.path) == ["/c.mp4"] && report.unchanged == 1)
        #expect(report.removals.count == 1 && report.removals.allSatisfy { $0.error == nil })
        #expect(try await held(vault) == ["/b.mp4", "/c.mp4"])
        let sent = fixture.origin.exchanges.filter { $0.request.target == "/b.mp4" }.reduce(0) { $0 + $1.bodyBytesSent }
        #expect(sent == Self.length)
        await vault.close()
    }

    @Test(
        "A feed that is missing, empty, damaged or a web page removes nothing, and the run fails",
        arguments: [nil, "[]", "[{\"url\": \"/b.mp4\"}", "<html><body>Log in</body></html>", "Log in", ""])
    func failsClosed(text: String?) async throws {
        let vault = try await fixture.open()
        publish("a")
        try await sync(vault)
        feed.text.withLock { $0 = text }
        await #expect(throws: VaultError.self) { try await sync(vault) }
        #expect(try await held(vault) == ["/a.mp4"])
        let failed = try #require(try await vault.subscriptions.all().subscriptions.first)
        #expect(failed.failure != nil && failed.failures == 1)
        publish("b")
        try await sync(vault)
        #expect(try await held(vault) == ["/b.mp4"], "it was still the subscription's")
        #expect(try await vault.subscriptions.all().subscriptions.first?.failure == nil)
        await vault.close()
    }

    @Test("An entry that cannot be used keeps everything that is held, and the others are fetched")
    func unusable() async throws {
        let vault = try await fixture.open()
        publish("a")
        try await sync(vault)
        feed.text.withLock { $0 = #"["/b.mp4", "ftp://a.example/c"]"# }
        let report = try await sync(vault)
        #expect(report.unusable == 1 && report.removals.isEmpty && report.subscription.wanted.count == 2)
        #expect(try await held(vault) == ["/a.mp4", "/b.mp4"])
        publish("b")
        #expect(try await sync(vault).removals.count == 1, "it was still the subscription's")
        await vault.close()
    }

    @Test("What is held stays until what takes its place has come, and a service removes it then")
    func firstHave() async throws {
        let vault = try await fixture.open()
        publish("a", "b")
        try await sync(vault)
        publish("c")
        let report = try await vault.subscriptions.sync(.feed(url), MediaSubscription.Choices())
        #expect(report.removals.isEmpty && report.waiting == 2 && report.fetch.count == 1)
        await vault.subscriptions.removeReplacedTitles()
        #expect(try await held(vault) == ["/a.mp4", "/b.mp4"])
        for try await _ in vault.download(report.fetch[0].entry.reference) {}
        await vault.subscriptions.removeReplacedTitles()
        #expect(try await held(vault) == ["/c.mp4"])
        #expect(try await vault.subscriptions.all().subscriptions.first?.brought.count == 1)
        await vault.close()
    }

    @Test("An episode whose type is no media any more is not gone", arguments: ["text/html", "image/png"])
    func otherType(type: String) async throws {
        let vault = try await fixture.open()
        let item = { (name: String, type: String) in
            #"{"id": "\#(name)", "attachments": [{"url": "/\#(name).mp4", "mime_type": "\#(type)"}]}"#
        }
        let items = { (type: String) in #"{"items": [\#(item("a", type)), \#(item("b", "video/mp4"))]}"# }
        feed.text.withLock { $0 = items("video/mp4") }
        try await sync(vault)
        feed.text.withLock { $0 = items(type) }
        let report = try await sync(vault)
        #expect(report.unusable == 1 && report.removals.isEmpty && report.waiting == 0)
        #expect(try await held(vault) == ["/a.mp4", "/b.mp4"])
        await vault.close()
    }

    @Test("A pinned title, and one that was fetched before, stay; a dry run changes nothing")
    func keeps() async throws {
        let vault = try await fixture.open()
        for try await _ in vault.download(fixture.origin.url("/own.mp4")) {}
        publish("own", "a", "b")
        try await sync(vault)
        try await vault.titles.pin(MediaReference(fixture.origin.url("/a.mp4")))
        publish("c")
        let dry = try await vault.subscriptions.sync(.feed(url), MediaSubscription.Choices(), isDryRun: true)
        #expect(dry.removals.isEmpty && dry.waiting == 1 && dry.fetch.count == 1 && dry.pinned == 1)
        #expect(try await held(vault) == ["/a.mp4", "/b.mp4", "/own.mp4"])
        #expect(try await sync(vault).pinned == 1)
        #expect(try await held(vault) == ["/a.mp4", "/c.mp4", "/own.mp4"])
        await vault.close()
    }

    @Test("With content ids, an entry whose URL changes is the same title")
    func contentIDs() async throws {
        let vault = try await fixture.open()
        for signature in ["1", "2"] {
            feed.text.withLock { $0 = #"[{"url": "/a.mp4?signature=\#(signature)", "id": "guid-1"}]"# }
            try await sync(vault) { $0.usesContentIDs = true }
        }
        #expect(try await held(vault) == ["/a.mp4"])
        #expect(!fixture.origin.exchanges.contains { $0.request.target.contains("signature=2") })
        await vault.close()
    }

    @Test("What a feed names elsewhere is asked for at public addresses only, and what it names at home anywhere")
    func reach() async throws {
        let vault = try await fixture.open()
        let other = try ScriptedOrigin(fixture.resource)
        feed.text.withLock { $0 = #"["/a.mp4", "\#(other.url("/private.mp4").absoluteString)"]"# }
        let report = try await vault.subscriptions.sync(.feed(url), MediaSubscription.Choices())
        #expect(report.fetch.map(\.entry.reference.isDerived) == [false, true])
        await #expect(throws: VaultError.self) {
            for try await _ in vault.download(report.fetch[1].entry.reference) {}
        }
        #expect(other.exchanges.isEmpty)
        await vault.close()
    }

    @Test("A service runs what is due, and the download queue fetches it; what is paused stays paused")
    func schedule() async throws {
        let vault = try await fixture.open()
        publish("a", "b")
        var choices = MediaSubscription.Choices()
        (choices.interval, choices.name) = (600, "show")
        let added = try await vault.subscriptions.add(.feed(url), choices)
        await vault.subscriptions.runDueSubscriptions { _, error in #expect(error == nil) }
        #expect(try await vault.queue.counts() == DownloadCounts(waiting: 2))
        _ = try await vault.queue.change(.pause, of: .all)
        let ran = try #require(try await vault.subscriptions.all().subscriptions.first)
        #expect(ran.id == added.id && (ran.nextRun ?? 0) > (ran.lastRun ?? .max) && ran.wanted.count == 2)
        let asked = fixture.origin.exchanges.count
        await vault.subscriptions.runDueSubscriptions { _, _ in Issue.record("it is not due") }
        #expect(fixture.origin.exchanges.count == asked)
        _ = try await vault.subscriptions.sync(added.shortID, queues: true)
        #expect(try await vault.queue.counts() == DownloadCounts(paused: 2))
        await vault.close()
    }

    @Test("What the operator has queued is the operator's, also if a feed names it before it is fetched")
    func queuedByHand() async throws {
        let vault = try await fixture.open()
        try await vault.queue.add([(MediaReference(fixture.origin.url("/own.mp4")), DownloadOptions())])
        publish("own", "a")
        try await sync(vault)
        publish("b")
        let report = try await sync(vault)
        #expect(report.removals.count == 1)
        #expect(try await held(vault) == ["/b.mp4", "/own.mp4"])
        await vault.close()
    }

    @Test("What the operator has queued is the operator's, also if a part of it was played before")
    func queuedAfterPlaying() async throws {
        let vault = try await fixture.open()
        let own = MediaReference(fixture.origin.url("/own.mp4"))
        for try await _ in try await vault.read(own, range: .closed(first: 0, last: 999)) {}
        let (loader, lease) = try await vault.use(own)
        await loader.settle()
        withExtendedLifetime(lease) {}
        #expect(try await vault.titles.summary(of: own)?.resourceClass == "cache")
        try await vault.queue.add([(own, DownloadOptions())])
        publish("own", "a")
        try await sync(vault)
        publish("b")
        #expect(try await sync(vault).removals.count == 1)
        #expect(try await held(vault) == ["/b.mp4", "/own.mp4"])
        await vault.close()
    }

    @Test("A title that waits in the queue is fetched from the URL that its feed names now, and stays paused if it is")
    func movedInQueue() async throws {
        let vault = try await fixture.open()
        for (signature, isPaused) in [("1", false), ("2", false), ("3", true)] {
            feed.text.withLock { $0 = #"[{"url": "/a.mp4?signature=\#(signature)", "id": "guid-1"}]"# }
            if isPaused { _ = try await vault.queue.change(.pause, of: .all) }
            var choices = MediaSubscription.Choices()
            choices.usesContentIDs = true
            _ = try await vault.subscriptions.sync(.feed(url), choices, queues: true)
            let queued = try await vault.queue.queuedTitles()
            #expect(queued.values.map(\.url).allSatisfy { $0.hasSuffix("signature=\(signature)") } && queued.count == 1)
            #expect(queued.values.map(\.state) == [isPaused ? .paused : .waiting])
        }
        await vault.close()
    }

    @Test("Entries that share an id are all there, under their URLs, and stay when one more comes; that is said")
    func sharedIDs() async throws {
        let vault = try await fixture.open()
        let published = { (names: [String]) in
            let items = names.map { #"{"url": "/\#($0).mp4", "id": "show"}"# }
            feed.text.withLock { $0 = "[\(items.joined(separator: ","))]" }
        }
        published(["b", "a"])
        let report = try await sync(vault) { $0.usesContentIDs = true }
        #expect(report.fetch.count == 2 && report.unusable == 0)
        #expect(report.repairs == ["2 entries under their URLs because they share an id"])
        published(["c", "b", "a"])
        let next = try await sync(vault) { $0.usesContentIDs = true }
        #expect(next.fetch.map(\.entry.reference.url.path) == ["/c.mp4"])
        #expect(next.unchanged == 2 && next.removals.isEmpty)
        #expect(try await held(vault) == ["/a.mp4", "/b.mp4", "/c.mp4"])
        #expect(try await sync(vault).repairs.isEmpty, "without ids nothing is repaired")
        await vault.close()
    }

    @Test("Two feeds whose URLs differ in their queries have their own names for their entries")
    func contentIDsOfQueries() async throws {
        let vault = try await fixture.open()
        for show in ["1", "2"] {
            feed.text.withLock { $0 = #"[{"url": "/show\#(show).mp4", "id": "1"}]"# }
            let report = try await sync(vault, fixture.origin.url("/feed?show=\(show)&token=hunter2").absoluteString) {
                $0.usesContentIDs = true
            }
            #expect(report.fetch.count == 1)
            #expect(report.fetch.first?.entry.reference.contentID?.contains("hunter2") == false)
        }
        #expect(try await held(vault) == ["/show1.mp4", "/show2.mp4"])
        await vault.close()
    }

    @Test("A feed that comes too slowly is given up, and holds up nothing meanwhile")
    func slow() async throws {
        let vault = try await fixture.open()
        let gate = Gate()
        let slow = try ScriptedOrigin { _ in
            ScriptedAnswer(200, fields: ["Content-Length": "100"], body: [.bytes(Array("[".utf8)), .hold(gate)])
        }
        defer { slow.stop() }
        let reader = FeedReader(environment: vault.loaders.environment, timeLimit: .milliseconds(100))
        let error = await #expect(throws: VaultError.self) { try await reader.read(slow.url("/feed")) }
        #expect(error?.code == .unreachable && error?.message.contains("whole feed") == true)
        var choices = MediaSubscription.Choices()
        choices.interval = 600
        let added = try await vault.subscriptions.add(.feed(slow.url("/feed").absoluteString), choices)
        let run = Task { try await vault.subscriptions.sync(added.shortID) }
        while slow.exchanges.count < 2 { try await Task.sleep(for: .milliseconds(5)) }
        publish("a")
        try await sync(vault)
        #expect(try await vault.subscriptions.remove(added.shortID, removesTitles: true) == 0)
        run.cancel()
        await #expect(throws: (any Error).self) { try await run.value }
        #expect(try await vault.subscriptions.all().subscriptions.map(\.source) == [.feed(url)])
        await vault.close()
    }

    @Test("A run counts as done only when what is new is in the queue")
    func queueFails() async throws {
        let vault = try await fixture.open()
        publish("a")
        var choices = MediaSubscription.Choices()
        choices.interval = 86_400
        let added = try await vault.subscriptions.add(.feed(url), choices)
        // No row of the queue can be written.
        try vault.store.index.write { db in
            try db.execute(
                sql: """
                    CREATE TRIGGER full BEFORE INSERT ON download BEGIN SELECT RAISE(FAIL, 'full'); END;
                    """)
        }
        await vault.subscriptions.runDueSubscriptions { _, error in #expect(error != nil) }
        let failed = try #require(try await vault.subscriptions.all().subscriptions.first)
        #expect(failed.failure != nil && (failed.nextRun ?? .max) <= vault.store.index.now() + 300)
        try vault.store.index.write { try $0.execute(sql: "DROP TRIGGER full") }
        _ = try await vault.subscriptions.sync(added.shortID, queues: true)
        #expect(try await vault.queue.counts() == DownloadCounts(waiting: 1))
        await vault.close()
    }

    @Test("While a subscription cannot be read, no other one removes titles that it may want; all can be removed")
    func damagedOther() async throws {
        let vault = try await fixture.open()
        publish("a", "b")
        let first = try await sync(vault).subscription
        let other = try await sync(vault, fixture.origin.url("/feed2").absoluteString).subscription
        try vault.store.index.write { db in
            try db.execute(
                sql: "UPDATE subscription SET record = x'00' WHERE hex(id) = ?", arguments: [other.id.hex.uppercased()])
        }
        publish("b")
        let report = try await sync(vault)
        #expect(report.removals.isEmpty && report.unusable == 0)
        await #expect(throws: VaultError.self) {
            try await vault.subscriptions.remove(first.shortID, removesTitles: true)
        }
        #expect(try await held(vault) == ["/a.mp4", "/b.mp4"])
        #expect(try await vault.subscriptions.removeAll() == 2)
        let left = try await vault.subscriptions.all()
        #expect(left.subscriptions.isEmpty && left.damaged == 0)
        await vault.close()
    }

    @Test("No two subscriptions have one name")
    func names() async throws {
        let vault = try await fixture.open()
        var choices = MediaSubscription.Choices()
        choices.name = "show"
        _ = try await vault.subscriptions.add(.feed(url), choices)
        let error = await #expect(throws: VaultError.self) {
            try await vault.subscriptions.add(.feed(fixture.origin.url("/feed2").absoluteString), choices)
        }
        #expect(error?.code == .inUse)
        #expect(try await vault.subscriptions.all().subscriptions.count == 1)
        await vault.close()
    }

    @Test("A removed subscription leaves its titles, or takes those that only it brought")
    func removal() async throws {
        let vault = try await fixture.open()
        publish("a", "b")
        try await sync(vault)
        let id = try #require(try await vault.subscriptions.all().subscriptions.first).shortID
        await #expect(throws: VaultError.self) { try await vault.subscriptions.remove("00000000", removesTitles: true) }
        feed.text.withLock { $0 = #"["/b.mp4"]"# }
        let second = try await sync(vault, fixture.origin.url("/feed2").absoluteString).subscription.shortID
        #expect(try await vault.subscriptions.remove(id, removesTitles: true) == 1)
        #expect(try await held(vault) == ["/b.mp4"])
        #expect(try await vault.subscriptions.remove(second, removesTitles: false) == 0)
        #expect(try await held(vault) == ["/b.mp4"])
        #expect(try await vault.subscriptions.all().subscriptions.isEmpty)
        await vault.close()
    }
}
