import Foundation
import OriginTestSupport
import Testing
import VaultModel
import VaultStorage
import VaultTestSupport

@testable import MediaVault
@testable import VaultCache

@Suite("What was removed is not fetched again for a player that goes on asking", .timeLimit(.minutes(5)))
struct RemovedTitleTests {
    private let fixture: VaultFixture
    private let clock = TestClock()

    init() async throws { fixture = try await VaultFixture(ScriptedResource(length: 50_000)) }

    private func open() async throws -> Vault {
        var options = VaultOptions()
        options.isSelfMaintaining = false
        options.retry = .unhurried
        options.now = { [clock] in clock.now }
        return try await Vault.open(fixture.place, unlock: fixture.unlock, options: options)
    }

    private func fetch(_ vault: Vault) async throws { for try await _ in vault.download(fixture.url) {} }

    /// The target of a link; links do not state when they were created.
    private func target(_ vault: Vault) -> String {
        vault.tokens.playbackPath(for: fixture.url, expires: 4_000_000_000)
    }

    /// Requests a link as a player does, to its end.
    ///
    /// - Returns: whether it opens anything.
    private func plays(_ vault: Vault) async throws -> Bool {
        guard let admission = vault.playback.admission(ofTarget: target(vault), now: clock.now) else { return false }
        for try await _ in try await vault.playback.read(#require(admission.resource), range: .whole) {}
        return true
    }

    @Test(
        "A link opens nothing of what was removed or shredded, until the owner fetches it or wants a link to it",
        arguments: [false, true], [false, true])
    func owner(isShredded: Bool, wantsLink: Bool) async throws {
        let vault = try await open()
        try await fetch(vault)
        let old = try #require(vault.playback.admission(ofTarget: target(vault), now: clock.now))
        let resource = try #require(old.resource)
        #expect(try await plays(vault), "premise")
        if isShredded {
            _ = try await vault.keys.shred([MediaReference(fixture.url)])
        } else {
            try await vault.titles.remove(MediaReference(fixture.url))
        }
        let asked = fixture.origin.exchanges.count
        #expect(try await !plays(vault) && !vault.playback.isValid(old, now: clock.now))
        // A request that was admitted just before is refused, too.
        let late = await #expect(throws: VaultError.self) { try await vault.playback.read(resource, range: .whole) }
        #expect(late?.code == .removed && fixture.origin.exchanges.count == asked)
        #expect(try await vault.titles.summary(of: fixture.url) == nil)
        if wantsLink {
            _ = try await vault.access.playbackPath(for: MediaReference(fixture.url), expires: 4_000_000_000)
        } else {
            try await fetch(vault)
        }
        #expect(try await plays(vault))
        #expect(try await vault.titles.summary(of: fixture.url) != nil)
        await vault.close()
    }

    @Test("That lasts for a minute, through a restart, and leaves nothing in the settings")
    func restart() async throws {
        var vault = try await open()
        try await fetch(vault)
        try await vault.titles.remove(MediaReference(fixture.url))
        await vault.close()
        vault = try await open()
        clock.advance(by: 59)
        #expect(try await !plays(vault))
        #expect(try vault.store.index.settings().removals.count == 1)
        clock.advance(by: 1)
        #expect(try await plays(vault))
        await vault.runPeriodicWork(now: .now)
        #expect(try vault.store.index.settings().removals.isEmpty)
        // Setting the clock back does not restart the minute.
        try await vault.titles.remove(MediaReference(fixture.url))
        clock.advance(by: -3600)
        #expect(try await plays(vault))
        await vault.close()
    }

    @Test("A title that was stored again before a restart is played after it")
    func storedAgain() async throws {
        var vault = try await open()
        try await fetch(vault)
        try await vault.titles.remove(MediaReference(fixture.url))
        let noted = try vault.store.index.settings().removals
        try await fetch(vault)
        await vault.close()
        vault = try await open()
        #expect(try vault.store.index.settings().removals.isEmpty)
        // As if the process had been killed before this was written.
        try vault.store.changeSettings { $0.removals = noted }
        await vault.close()
        vault = try await open()
        #expect(try await plays(vault))
        await vault.close()
    }

    @Test("What a job removes that it had begun itself is opened by links as before")
    func notByOwner() async throws {
        let vault = try await open()
        try await fetch(vault)
        _ = try await vault.loaders.remove(MediaReference(fixture.url)) { store, id in try store.resources.remove(id) }
        #expect(try await plays(vault))
        await vault.close()
    }

    @Test("A part of a removed title that was never stored is known by the manifest that named it")
    func unstoredPart() async throws {
        let vault = try await open()
        let removed = vault.loaders.environment.removed
        let (title, other) = (fixture.origin.url("/a.m3u8"), fixture.origin.url("/b.m3u8"))
        let (own, shared) = (fixture.origin.url("/1.ts"), fixture.origin.url("/2.ts"))
        let parts = vault.loaders.environment.partOwners
        for (manifest, urls) in [(title, [own, shared]), (other, [shared])] {
            var names = PartOwners.Names()
            for url in urls { names.insert(url) }
            let resource = try await vault.name(MediaReference(manifest))
            parts.note(resource.id, of: [resource.key.bytes], names)
        }
        let film = try await vault.name(MediaReference(title))
        removed.note(film, TitleID(of: film.id), with: [], now: clock.now)
        func isRefused(_ url: MediaURL) async throws -> Bool {
            var reference = MediaReference(url)
            (reference.isDerived, reference.isLinked) = (true, true)
            return removed.refuses(try await vault.name(reference), now: clock.now)
        }
        #expect(try await isRefused(own))
        #expect(try await !isRefused(shared), "another title has it, too")
        #expect(try await !isRefused(fixture.origin.url("/3.ts")))
        #expect(removed.refuses(hidden: TitleID(of: film.id), now: clock.now))
        await vault.close()
    }

    @Test("The settings keep the ids of what was removed, of so many titles and parts")
    func settings() throws {
        var settings = VaultSettings()
        let title = try #require(TitleID("k3v7q2ma"))
        let removed = RemovedTitle(title: title, ids: [.max, 0, 1 << 63], end: 4_000_000_000)
        settings.removals = [removed]
        #expect(settings.removals == [removed])
        settings.removals = (0..<40).map { RemovedTitle(title: title, ids: Array(0..<2000), end: $0) }
        #expect(settings.removals.map(\.end) == Array(8..<40))
        #expect(settings.removals.allSatisfy { $0.ids == Array(0..<1024) })
        settings.removals = []
        #expect(settings.removals.isEmpty)
    }
}
