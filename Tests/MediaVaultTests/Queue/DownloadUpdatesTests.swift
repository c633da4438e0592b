import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault

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
        #expect(first.map(\.url) == ["a", "b"].map { fixture.origin.url("/\($0)").absoluteString })
        #expect(first.map(\.state) == [.waiting, .waiting])
        try await vault.queue.add([order(fixture, "c")])
        let added = try #require(try await updates.next())
        #expect(added.map(\.url) == [fixture.origin.url("/c").absoluteString], "only what changed")
        vault.queue.start()
        var done: Set<String> = []
        while done.count < 3 {
            for entry in try #require(try await updates.next()) where entry.state == .done { done.insert(entry.url) }
        }
        #expect(try await vault.queue.counts() == DownloadCounts())
        await vault.close()
        #expect(try await updates.next() == nil, "the sequence ends with the vault")
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
