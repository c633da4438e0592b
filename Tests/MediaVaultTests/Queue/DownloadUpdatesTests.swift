import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault
@testable import VaultStorage

@Suite("An app follows the download queue", .timeLimit(.minutes(2)))
struct DownloadUpdatesTests {
    private let length: Int64 = 300_000

    private func order(_ fixture: VaultFixture, _ name: String) -> (reference: MediaReference, options: DownloadOptions)
    {
        (MediaReference(fixture.origin.url("/\(name)")), DownloadOptions())
    }

    @Test("The first element is the whole queue, and the others are what changed, up to the end of each entry")
    func follow() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        try await vault.queue.add([order(fixture, "a"), order(fixture, "b")])
        var updates = vault.queue.updates.makeAsyncIterator()
        let first = try #require(try await updates.next())
        #expect(first.isWhole)
        #expect(first.changed.map(\.url) == ["a", "b"].map { fixture.origin.url("/\($0)").absoluteString })
        #expect(first.changed.map(\.state) == [.waiting, .waiting])
        try await vault.queue.add([order(fixture, "c")])
        let added = try #require(try await updates.next())
        #expect(!added.isWhole)
        #expect(added.changed.map(\.url) == [fixture.origin.url("/c").absoluteString], "only what changed")
        vault.queue.start()
        var done: Set<String> = []
        while done.count < 3 {
            let update = try #require(try await updates.next())
            for entry in update.changed where entry.state == .done { done.insert(entry.url) }
        }
        #expect(try await vault.queue.counts() == DownloadCounts())
        await vault.close()
        #expect(try await updates.next() == nil, "the sequence ends with the vault")
    }

    @Test(
        "A follower of more cancelled entries than are remembered gets the whole queue again",
        arguments: [DownloadQueue.maxEnded, DownloadQueue.maxEnded + 6])
    func forgotten(count: Int) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        try await vault.queue.add((0..<count).map { order(fixture, "\($0)") })
        var updates = vault.queue.updates.makeAsyncIterator()
        #expect(try await updates.next()?.changed.count == count)
        #expect(try await vault.queue.change(.cancel, of: .all) == count)
        let update = try #require(try await updates.next())
        if count > DownloadQueue.maxEnded {
            #expect(update.isWhole && update.changed.isEmpty)
        } else {
            #expect(!update.isWhole && update.changed.count == count)
            #expect(update.changed.allSatisfy { $0.state == .ended })
        }
        await vault.close()
    }

    @Test("A follower gets the whole queue again when an entry is gone from the index")
    func goneFromIndex() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        try await vault.queue.add([order(fixture, "a"), order(fixture, "b")])
        var updates = vault.queue.updates.makeAsyncIterator()
        let gone = try #require(try await updates.next()?.changed.first?.download)
        try await vault.queue.rereading { try vault.store.downloads.remove([gone], isForgotten: true) }
        let update = try #require(try await updates.next())
        #expect(update.isWhole && update.changed.map(\.url) == [fixture.origin.url("/b").absoluteString])
        await vault.close()
    }

    @Test("What an app prints of an entry or a subscription holds no URL with a query or a password")
    func descriptions() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        let secret = MediaReference(fixture.origin.url("/a?token=secret"))
        let entry = try #require(try await vault.queue.add([(secret, DownloadOptions())]).first)
        #expect(entry.url.contains("secret"), "the premise")
        let source = MediaSubscription.Source.feed("https://user:secret@host.example/feed?token=secret")
        let subscription = try await vault.subscriptions.add(source, MediaSubscription.Choices())
        for text in ["\(entry)", String(reflecting: entry), "\([subscription])", "\(source)", "\(subscription)"] {
            #expect(!text.contains("secret"), "\(text)")
        }
        await vault.close()
    }

    @Test("Entries that a clock far ahead has dated survive the vault's closing")
    func farAhead() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        var options = VaultOptions(origin: nil)
        options.now = { .max }
        let vault = try await Vault.open(fixture.place, unlock: fixture.unlock, options: options)
        try await vault.queue.add([order(fixture, "a")])
        await vault.close()
        let again = try await fixture.open()
        #expect(try await again.queue.counts() == DownloadCounts(waiting: 1))
        await again.close()
    }

    @Test("A page of the queue or of the titles has at least one entry, and any number is allowed", arguments: [0, -1])
    func limits(limit: Int) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        try await vault.queue.add([order(fixture, "a")])
        await #expect(throws: VaultError.self) { try await vault.queue.page(limit: limit) }
        await #expect(throws: VaultError.self) { try await vault.titles.page(after: nil, limit: limit) }
        #expect(try await vault.queue.page(limit: .max).downloads.count == 1)
        #expect(try await vault.titles.page(after: nil, limit: .max).resources.isEmpty)
        await vault.close()
    }

    @Test("A follower that waits for a change ends when the vault is closed, and when its task is cancelled")
    func ends() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        let (begun, begins) = AsyncStream.makeStream(of: Void.self)
        let cancelled = Task { for try await _ in vault.queue.updates { begins.yield() } }
        let following = Task {
            var count = 0
            for try await _ in vault.queue.updates {
                count += 1
                begins.yield()
            }
            return count
        }
        var seen = begun.makeAsyncIterator()
        for _ in 0..<2 { await seen.next() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        await vault.close()
        #expect(try await following.value == 1)
    }
}
