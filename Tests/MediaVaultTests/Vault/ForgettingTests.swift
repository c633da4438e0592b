import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault
@testable import VaultCache

@Suite("What a closed vault forgets")
struct ForgettingTests {
    @Test("It has forgotten viewers, shares, sessions, links, the queue and the network, and the next one has them")
    func closed() async throws {
        let (fixture, vault) = try await VaultFixture.filled(ScriptedResource(length: 1000))
        let film = try await vault.titles.titleID(of: MediaReference(fixture.url))
        let anna = try await vault.viewers.add("Anna", pin: PIN("2468"))
        try await vault.viewers.share([film], with: anna.id)
        let links = try await vault.access.createLinks(named: "tv", to: [MediaReference(fixture.url)], expires: nil)
        let session = try await vault.access.beginSession(of: anna.id, in: "Firefox", endingFormer: nil)
        try await vault.queue.add([(MediaReference(fixture.origin.url("/b")), DownloadOptions())])
        _ = try vault.network.current()
        await vault.close()
        #expect(vault.viewers.all.isEmpty && vault.viewers.viewers(of: film).isEmpty)
        #expect(!vault.viewers.isShared(film, with: anna.id))
        #expect(vault.grants.grant(links.grant.id) == nil && vault.grants.grant(session.grant.id) == nil)
        #expect(try await vault.queue.counts() == DownloadCounts())
        #expect(throws: OriginFailure.self) { try vault.network.current() }
        let next = try await fixture.open()
        #expect(next.viewers.all == [anna] && next.viewers.isShared(film, with: anna.id))
        #expect(next.grants.grant(links.grant.id)?.name == "tv" && next.grants.grant(session.grant.id) != nil)
        #expect(try await next.queue.counts().waiting == 1)
        _ = try next.network.current()
        await next.close()
    }

    @Test("It has forgotten by which policy titles are named, what was played, and what was removed")
    func titles() async throws {
        let (fixture, vault) = try await VaultFixture.filled(ScriptedResource(length: 1000))
        let (film, other) = (MediaReference(fixture.url), MediaReference(fixture.origin.url("/b")))
        for try await _ in vault.download(other.url) {}
        #expect(try await fixture.read(vault) == 0..<1000)
        try await vault.titles.remove(other)
        let named = try await vault.name(film)
        #expect(
            vault.loaders.environment.names.isCurrent(named) && !vault.loaders.environment.removed.isEmpty, "premise")
        #expect(!vault.loaders.answers.answers(of: named.id).isEmpty, "premise")
        await vault.close()
        #expect(!vault.loaders.environment.names.isCurrent(named) && vault.loaders.environment.removed.isEmpty)
        #expect(vault.loaders.answers.answers(of: named.id).isEmpty)
    }
}
