import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault

@Suite("The titles that are kept in memory are those of the vault", .timeLimit(.minutes(2)))
struct KeptTitlesTests {
    private let fixture: VaultFixture
    private let vault: Vault
    /// The paths of the titles that were read.
    private let reads = Reads()
    private let kept: KeptTitles<ResourceSummary>

    private final class Reads: Sendable {
        private let paths = Locked<[String]>([])

        func note(_ title: ResourceSummary) { paths.withLock { $0.append(String(title.url.suffix(6))) } }

        func take() -> [String] {
            paths.withLock { paths in
                defer { paths = [] }
                return paths.sorted()
            }
        }
    }

    init() async throws {
        fixture = try await VaultFixture(ScriptedResource(length: 1000))
        vault = try await fixture.open()
        for name in ["a", "b", "c"] {
            for try await _ in vault.download(fixture.origin.url("/\(name).mp4")) {}
        }
        kept = KeptTitles { [reads] title in
            reads.note(title)
            return title
        }
    }

    private func url(_ path: String) -> MediaReference { MediaReference(fixture.origin.url("/\(path).mp4")) }

    /// Expects that the kept titles are those of a vault.
    private func expectSame(isFirst: Bool = true, in vault: Vault, sourceLocation: SourceLocation = #_sourceLocation)
        async throws
    {
        let listing = try await kept.listing(of: vault, isFirst: isFirst)
        let titles = try await vault.titles.list().reduce(into: [ResourceSummary]()) { $0.append($1) }
        #expect(listing.titles.map(\.kept) == titles && listing.damaged == 0, sourceLocation: sourceLocation)
    }

    @Test("Only the titles that have changed are read again")
    func changed() async throws {
        try await expectSame(in: vault)
        #expect(reads.take() == ["/a.mp4", "/b.mp4", "/c.mp4"])
        try await expectSame(in: vault)
        #expect(reads.take() == [])
        try await vault.titles.setName("Film", of: url("b"))
        try await vault.titles.remove(url("c"))
        for try await _ in vault.download(fixture.origin.url("/d.mp4")) {}
        try await expectSame(in: vault)
        #expect(reads.take() == ["/b.mp4", "/d.mp4"])
        try await vault.titles.pin(url("a"))
        try await expectSame(isFirst: false, in: vault)
        #expect(reads.take() == ["/a.mp4"])
        await vault.close()
    }

    @Test("All titles are read again after what concerns them all: another age limit, another locator")
    func terms() async throws {
        _ = try await fixture.read(vault)
        while try await fixture.held(vault) != [0..<1000] { try await Task.sleep(for: .milliseconds(5)) }
        try await expectSame(in: vault)
        try await vault.settings.setLimits(StorageLimits(maxAge: 100_000))
        try await expectSame(in: vault)
        #expect(reads.take().count == 8)
        _ = try await vault.keys.changeLocator()
        try await expectSame(in: vault)
        #expect(reads.take().count == 4)
        await vault.close()
    }

    @Test("A process that only reads the vault, which another one changes, reads it again for each list")
    func reader() async throws {
        let reader = try await fixture.open(.reader, mode: .offline)
        try await expectSame(in: reader)
        try await vault.titles.setName("Film", of: url("b"))
        try await expectSame(in: reader)
        _ = reads.take()
        _ = try await kept.listing(of: reader, isFirst: false)
        #expect(reads.take() == [], "a list goes on with what its first page was")
        await reader.close()
        await vault.close()
    }

    @Test("A locked vault leaves nothing behind")
    func locked() async throws {
        try await expectSame(in: vault)
        await vault.lock()
        kept.forget()
        #expect(try await kept.keptListing(of: vault) == nil)
        await vault.close()
    }

    @Test("A page begins after the given title, also if that is gone")
    func pages() async throws {
        let listing = try await kept.listing(of: vault, isFirst: true)
        let ids = listing.titles.map(\.id)
        #expect(listing.page(after: nil, limit: 2).map(\.id) == Array(ids[..<2]))
        #expect(listing.page(after: ids[0], limit: 2).map(\.id) == Array(ids[1...]))
        #expect(listing.page(after: ids[2], limit: 2).isEmpty)
        try await vault.titles.remove(MediaReference(MediaURL(listing.titles[0].kept.url)))
        let now = try await kept.listing(of: vault, isFirst: false)
        #expect(now.page(after: ids[0], limit: 9).map(\.id) == Array(ids[1...]))
        await vault.close()
    }
}
