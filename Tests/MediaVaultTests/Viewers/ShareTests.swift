import Foundation
import OriginTestSupport
import Synchronization
import Testing
import VaultModel
import VaultStorage
import VaultTestSupport

@testable import MediaVault

@Suite("What is shared with viewers, and how far they have played", .timeLimit(.minutes(5)))
struct ShareTests {
    private let fixture: VaultFixture
    private let vault: Vault
    private let film: TitleID

    init() async throws {
        (fixture, vault) = try await VaultFixture.filled(ScriptedResource(length: 50_000))
        film = try #require(try await vault.titles.summary(of: fixture.url)?.id)
    }

    private func names(_ viewer: Viewer, _ vault: Vault) async throws -> [TitleID?] {
        try await vault.viewers.summaries(sharedWith: viewer.id).map(\.id)
    }

    @Test("A viewer sees what is shared with them, until it is not any more, also after a restart")
    func share() async throws {
        let viewers = vault.viewers
        let (anna, berta) = (try await viewers.add("Anna"), try await viewers.add("Berta"))
        let all = try await viewers.add("Clara", sharesAll: true)
        #expect(try await names(anna, vault) == [])
        #expect(try await names(all, vault) == [film])
        #expect(try await viewers.share([film], with: anna.id) == 1)
        #expect(try await viewers.share([film], with: anna.id) == 0)
        #expect(viewers.isShared(film, with: anna.id) && !viewers.isShared(film, with: berta.id))
        await vault.close()
        let again = try await fixture.open()
        #expect(try await names(anna, again) == [film])
        #expect(try await names(berta, again) == [])
        #expect(again.viewers.titles(sharedWith: anna.id) == [film] && again.viewers.titles(sharedWith: all.id) == nil)
        #expect(try await again.viewers.share([film], with: nil) == 1)
        #expect(try await names(berta, again) == [film])
        try await again.viewers.remove(berta.id)
        #expect(Set(again.viewers.viewers(of: film)) == [anna.id, all.id])
        #expect(try await again.viewers.unshare([film], from: nil) == 1)
        #expect(try await names(anna, again) == [])
        #expect(again.viewers.isShared(film, with: all.id))
        await again.close()
    }

    @Test("A title that the vault lacks, or a viewer that it lacks, is refused, and nothing is shared")
    func unknown() async throws {
        let viewers = vault.viewers
        let anna = try await viewers.add("Anna")
        let other = try #require(TitleID("k3v7q2ma"))
        let missing = await #expect(throws: VaultError.self) { try await viewers.share([film, other], with: anna.id) }
        #expect(missing?.code == .notHeld && !viewers.isShared(film, with: anna.id))
        let unknown = await #expect(throws: VaultError.self) {
            try await viewers.share([film], with: ViewerID(bytes: Array(repeating: 1, count: 16)))
        }
        #expect(unknown?.code == .notHeld)
        await vault.close()
    }

    @Test("A removed title takes its shares and positions along, so that fetching it again shares it with no one")
    func removed() async throws {
        let viewers = vault.viewers
        let anna = try await viewers.add("Anna")
        try await viewers.share([film], with: anna.id)
        try viewers.setPosition(9_000, duration: nil, of: film, for: anna.id)
        _ = try await vault.titles.remove(MediaReference(fixture.url))
        await vault.runPeriodicWork(now: .now)
        #expect(!viewers.isShared(film, with: anna.id))
        #expect(try await viewers.positions(of: anna.id).isEmpty)
        for try await _ in vault.download(fixture.url) {}
        #expect(try await vault.titles.summary(of: fixture.url)?.id == film)
        #expect(!viewers.isShared(film, with: anna.id))
        await vault.close()
    }

    @Test(
        "What was shared of a title ends before its removal is answered, however soon it is stored again",
        arguments: [false, true])
    func endsAtOnce(isShredded: Bool) async throws {
        let viewers = vault.viewers
        let anna = try await viewers.add("Anna")
        try await viewers.share([film], with: anna.id)
        if isShredded {
            _ = try await vault.keys.shred([MediaReference(fixture.url)])
        } else {
            try await vault.titles.remove(MediaReference(fixture.url))
        }
        #expect(!viewers.isShared(film, with: anna.id))
        for try await _ in vault.download(fixture.url) {}
        #expect(!viewers.isShared(film, with: anna.id))
        await vault.close()
    }

    @Test("What is removed to make room, and stored again before anyone has looked, is shared with no one")
    func evicted() async throws {
        let viewers = vault.viewers
        let (anna, id) = (try await viewers.add("Anna"), try await vault.titles.id(of: MediaReference(fixture.url)))
        try await viewers.share([film], with: anna.id)
        try viewers.followResources()
        #expect(viewers.isShared(film, with: anna.id), "premise")
        await vault.close()
        var options = VaultOptions()
        options.isSelfMaintaining = false
        options.retry = .unhurried
        let again = try await Vault.open(fixture.place, unlock: fixture.unlock, options: options)
        _ = try again.store.resources.remove(id)
        for try await _ in again.download(fixture.url) {}
        try again.viewers.followResources()
        #expect(try await again.titles.summary(of: fixture.url)?.id == film)
        #expect(!again.viewers.isShared(film, with: anna.id))
        await again.close()
    }

    @Test("The position of a removed title does not come back with a restart")
    func removedPosition() async throws {
        try vault.viewers.setPosition(9_000, duration: nil, of: film, for: nil)
        await vault.runPeriodicWork(now: .now + .seconds(16))
        #expect(try vault.store.viewers.all().positions[nil]?.count == 1, "premise")
        _ = try await vault.titles.remove(MediaReference(fixture.url))
        await vault.close()
        let again = try await fixture.open()
        #expect(try await again.viewers.positions(of: nil).isEmpty)
        await again.close()
    }

    @Test("Shares and positions stay with a title that gets another resource id, or is fetched again")
    func renamed() async throws {
        let viewers = vault.viewers
        let anna = try await viewers.add("Anna")
        try await viewers.share([film], with: anna.id)
        try viewers.setPosition(9_000, duration: 50_000, of: film, for: nil)
        try await vault.titles.setName("A film", of: MediaReference(fixture.url))
        _ = try await vault.keys.changeLocator()
        for try await _ in vault.download(fixture.url) {}
        #expect(try await names(anna, vault) == [film])
        #expect(try await viewers.positions(of: nil).map(\.position) == [9_000])
        try await viewers.unshare([film], from: anna.id)
        #expect(try await names(anna, vault) == [])
        // The row of the resource under its new id is deleted with it.
        try await viewers.share([film], with: anna.id)
        _ = try await vault.titles.remove(MediaReference(fixture.url))
        await vault.runPeriodicWork(now: .now)
        #expect(!viewers.isShared(film, with: anna.id))
        #expect(try await viewers.positions(of: nil).isEmpty)
        await vault.close()
    }

    @Test("The last of many thousand changes wakes as the first did, and no deeper")
    func wakes() async throws {
        let wakeUp = WakeUp()
        let count = Atomic<Int>(0)
        wakeUp.set { count.add(1, ordering: .relaxed) }
        for _ in 0..<200_000 { wakeUp.call() }
        #expect(count.load(ordering: .relaxed) == 200_000)
        await vault.close()
    }

    @Test("Positions of viewers and of the owner are apart, and are written when the vault is closed")
    func positions() async throws {
        let viewers = vault.viewers
        let anna = try await viewers.add("Anna")
        try viewers.setPosition(1_000, duration: 50_000, of: film, for: anna.id)
        try viewers.setPosition(2_000, duration: nil, of: film, for: nil)
        try viewers.setPosition(3_000, duration: nil, of: film, for: nil)
        #expect(throws: VaultError.self) { try viewers.setPosition(-1, duration: nil, of: film, for: nil) }
        #expect(throws: VaultError.self) {
            try viewers.setPosition(1, duration: 36_000_000_001, of: film, for: nil)
        }
        await vault.close()
        let again = try await fixture.open()
        #expect(try await again.viewers.positions(of: anna.id).map(\.position) == [1_000])
        #expect(try await again.viewers.positions(of: nil).map(\.position) == [3_000])
        try await again.viewers.remove(anna.id)
        #expect(try await again.viewers.positions(of: anna.id).isEmpty)
        await again.close()
    }

    @Test("Positions are written behind, at most every 15 seconds")
    func behind() async throws {
        let viewers = vault.viewers
        try viewers.setPosition(1_000, duration: nil, of: film, for: nil)
        await vault.runPeriodicWork(now: .now)
        #expect(try vault.store.viewers.all().positions.isEmpty)
        await vault.runPeriodicWork(now: .now + .seconds(16))
        #expect(try vault.store.viewers.all().positions[nil]?.count == 1)
        await vault.close()
    }
}
