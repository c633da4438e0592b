import MediaVault
import OriginTestSupport
import Synchronization
import Testing

/// Signed URLs that expire while they are used.
@Suite("Renewal of expiring URLs", .timeLimit(.minutes(5)))
struct RenewalTests {
    private let length: Int64 = 600_000

    /// Creates a vault that ignores `token`, and an origin that accepts the currently valid tokens.
    private func signed() async throws -> (VaultFixture, Vault, good: GoodTokens) {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let good = GoodTokens()
        fixture.origin.answer { [resource = fixture.resource] request in
            guard good.allow(request.target) else { return ScriptedAnswer(403, fields: ["Content-Length": "0"]) }
            var answer = resource.answer(to: request)
            // Each answer breaks off after 200 000 bytes, as if its token had expired.
            answer.cut(at: 200_000, by: .close)
            return answer
        }
        let vault = try await fixture.open()
        var policy = KeyPolicy()
        try policy.ignore(["token"])
        try await vault.settings.setKeyPolicy(policy)
        return (fixture, vault, good)
    }

    final class GoodTokens: Sendable {
        private let tokens = Mutex<Set<Int>>([1])
        func set(_ good: Set<Int>) { tokens.withLock { $0 = good } }
        func allow(_ target: String) -> Bool { tokens.withLock { $0.contains { target.hasSuffix("token=\($0)") } } }
    }

    private func url(_ fixture: VaultFixture, _ token: Int) -> MediaURL {
        fixture.origin.url("/film.mp4?token=\(token)")
    }

    @Test("A renewed URL continues the same download, and the old URL is not used again")
    func continues() async throws {
        let (fixture, vault, good) = try await signed()
        let reader = try await vault.read(url(fixture, 1))
        var position: Int64 = 0
        while position < 100_000, let bytes = try await reader.next() { position += Int64(bytes.count) }
        good.set([2])
        // Another player opens the new URL.
        let other = try await vault.read(url(fixture, 2), range: .closed(first: 0, last: 9))
        while try await other.next() != nil {}
        while let bytes = try await reader.next() {
            #expect(fixture.media.matches(bytes, at: position))
            position += Int64(bytes.count)
        }
        #expect(position == length && fixture.bytesSent >= length)
        #expect(fixture.origin.exchanges.map(\.request.target).dropFirst().allSatisfy { $0.hasSuffix("token=2") })
        #expect(try await vault.status().bytesFetched == length)
        #expect(try await vault.titles.summary(of: url(fixture, 9))?.url == url(fixture, 2).absoluteString)
        await vault.close()
    }

    @Test("If an old URL is refused, the vault uses the newer one that it knows, once")
    func refused() async throws {
        let (fixture, vault, good) = try await signed()
        good.set([2])
        let first = try await vault.read(url(fixture, 2), range: .closed(first: 0, last: 99))
        while try await first.next() != nil {}
        // A player that still has the old URL returns.
        #expect(try await fixture.bytes(vault, MediaReference(url(fixture, 1))) == length)
        let refused = fixture.origin.exchanges.filter { $0.request.target.hasSuffix("token=1") }
        #expect(refused.count == 1)
        await vault.close()

        let again = try await fixture.open()
        #expect(try await again.titles.summary(of: url(fixture, 1))?.url == url(fixture, 2).absoluteString)
        await again.close()
    }

    @Test("After a restart the last URL that worked is still known")
    func remembered() async throws {
        let (fixture, vault, good) = try await signed()
        let first = try await vault.read(url(fixture, 1), range: .closed(first: 0, last: 99))
        while try await first.next() != nil {}
        good.set([1, 2])
        let second = try await vault.read(url(fixture, 2), range: .closed(first: 100_000, last: 100_099))
        while try await second.next() != nil {}
        await vault.close()
        good.set([2])
        let again = try await fixture.open()
        #expect(try await again.titles.summary(of: url(fixture, 1))?.url.hasSuffix("token=2") == true)
        #expect(try await fixture.bytes(again, MediaReference(url(fixture, 1))) == length)
        await again.close()
    }

    @Test("If every URL is refused, the reader gets the error after one request for each URL")
    func allRefused() async throws {
        let (fixture, vault, good) = try await signed()
        let first = try await vault.read(url(fixture, 1), range: .closed(first: 0, last: 99))
        while try await first.next() != nil {}
        good.set([])
        let before = fixture.origin.exchanges.count
        let error = await #expect(throws: VaultError.self) {
            try await vault.read(url(fixture, 2), range: .closed(first: 100_000, last: 100_099))
        }
        #expect(error?.code == .refused && error?.originStatus == 403)
        #expect(fixture.origin.exchanges.count == before + 2)
        #expect(try await vault.titles.summary(of: url(fixture, 1))?.bytes ?? 0 <= 100)
        await vault.close()
    }
}
