import Foundation
import OriginTestSupport
import Testing
import VaultModel
import VaultTestSupport

@testable import MediaVault
@testable import VaultCache

@Suite("Modes of a vault and of its resources", .timeLimit(.minutes(5)))
struct ModeTests {
    /// Returns a fixture that holds 100 000 of a title's 200 000 bytes, which are long stale.
    private func partlyHeld() async throws -> FreshFixture {
        let fixture = try await FreshFixture()
        let vault = try await fixture.open()
        #expect(try await fixture.vault.read(vault, .closed(first: 0, last: 99_999)) == 0..<100_000)
        await vault.close()
        fixture.clock.advance(by: 1000)
        return fixture
    }

    /// Returns every file of a vault with its content.
    private func files(of fixture: FreshFixture) throws -> [String: Data] {
        let folder = URL(filePath: fixture.vault.place.folder)
        let names =
            FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?
            .compactMap { $0 as? URL }.filter { !$0.hasDirectoryPath } ?? []
        return try Dictionary(uniqueKeysWithValues: names.map { ($0.path, try Data(contentsOf: $0)) })
    }

    @Test(
        "With prefer-vault, held bytes are served without revalidation, and gaps are fetched", arguments: [true, false])
    func preferVault(isOfVault: Bool) async throws {
        let fixture = try await partlyHeld()
        let vault = try await fixture.open(mode: isOfVault ? .preferVault : nil)
        if !isOfVault { try await vault.titles.setMode(.preferVault, for: fixture.url) }
        let reader = try await vault.read(fixture.url, range: .closed(first: 0, last: 99_999))
        #expect(reader.staleness == .preferVault && fixture.origin.exchanges.count == 1)
        #expect(try await fixture.vault.read(vault, .from(100_000)) == 100_000..<200_000)
        #expect(fixture.asked(since: 1) == ["GET bytes=100000-"])
        await vault.close()
        #expect(fixture.vault.bytesSent == 200_000)
    }

    @Test("An offline resource is not requested, while others are")
    func offline() async throws {
        let fixture = try await partlyHeld()
        let vault = try await fixture.open()
        try await vault.titles.setMode(.offline, for: fixture.url)
        let reader = try await vault.read(fixture.url, range: .from(50_000))
        #expect(reader.range == 50_000..<100_000 && reader.isShortened && reader.staleness == .offline)
        let error = await #expect(throws: VaultError.self) { try await vault.read(fixture.url, range: .from(100_000)) }
        #expect(error?.code == .notHeld && fixture.origin.exchanges.count == 1)
        #expect(try await vault.read(fixture.origin.url("/other.mp4")).range == 0..<200_000)
        await vault.close()
    }

    @Test(
        "With no-store everything plays, held bytes come from the vault, and no file changes", arguments: [true, false])
    func noStore(isSeen: Bool) async throws {
        let fixture = isSeen ? try await partlyHeld() : try await FreshFixture()
        // Only opening and closing may write.
        let opened = try await fixture.open(mode: .noStore)
        await opened.close()
        let before = try files(of: fixture)
        let vault = try await fixture.open(mode: .noStore)
        let reader = try await vault.read(fixture.url)
        #expect(reader.bypass == .mode && !reader.isStale)
        #expect(try await fixture.vault.read(vault) == 0..<200_000)
        #expect(try await fixture.vault.held(vault) == (isSeen ? [0..<100_000] : []))
        #expect(try await vault.head(of: fixture.url).bypass == .mode)
        #expect(try await vault.status().bytesFetched == (isSeen ? 100_000 : 0))
        #expect(try await vault.status().storeFailure == nil, "no-store is not a storage failure")
        let download = await #expect(throws: VaultError.self) { for try await _ in vault.download(fixture.url) {} }
        #expect(download?.message.contains("no-store") == true)
        await vault.close()
        #expect(try files(of: fixture) == before)
    }

    @Test("A resource's mode is stored sealed, and survives a restart")
    func rests() async throws {
        let fixture = try await partlyHeld()
        let vault = try await fixture.open()
        #expect(try await vault.titles.mode(of: fixture.url) == nil)
        try await vault.titles.setMode(.preferVault, for: fixture.url)
        // An unknown title can have a mode as well.
        try await vault.titles.setMode(.noStore, for: fixture.origin.url("/private.mp4"))
        await vault.close()
        for (_, content) in try files(of: fixture) {
            #expect(content.range(of: Data("prefer-vault".utf8)) == nil)
            #expect(content.range(of: Data("no-store".utf8)) == nil)
        }
        let again = try await fixture.open()
        #expect(try await again.titles.mode(of: fixture.url) == .preferVault)
        #expect(try await fixture.vault.read(again, .closed(first: 0, last: 99_999)) == 0..<100_000)
        #expect(fixture.origin.exchanges.count == 1)
        #expect(try await again.read(fixture.origin.url("/private.mp4")).bypass == .mode)
        try await again.titles.setMode(nil, for: fixture.url)
        #expect(try await again.titles.mode(of: fixture.url) == nil)
        await again.close()
    }

    @Test("A resource's mode stays when all its bytes are removed")
    func staysEvicted() async throws {
        let fixture = try await partlyHeld()
        let first = try await fixture.open()
        try await first.titles.setMode(.preferVault, for: fixture.url)
        await first.close()
        let vault = try await fixture.open()
        #expect(try await vault.space.prune(StorageLimits(maxSize: 1)).segments > 0)
        #expect(try await vault.titles.summary(of: fixture.url)?.held.isEmpty == true)
        #expect(try await vault.titles.mode(of: fixture.url) == .preferVault)
        // Pruning by age considers the resource as well, and finishes.
        fixture.clock.advance(by: 100_000)
        #expect(try await vault.space.prune(StorageLimits(maxAge: 3600)).resources == 0)
        try await vault.titles.setMode(nil, for: fixture.url)
        #expect(try await vault.titles.mode(of: fixture.url) == nil)
        await vault.close()
    }

    @Test("The vault's mode is a setting, and a mode for the run overrides it")
    func setting() async throws {
        let fixture = try await FreshFixture()
        let vault = try await fixture.open()
        #expect(vault.settings.mode == .online)
        try await vault.settings.setMode(.offline)
        let error = await #expect(throws: VaultError.self) { try await vault.read(fixture.url) }
        #expect(error?.code == .notHeld, "the mode applies at once")
        await vault.close()
        let again = try await fixture.open()
        #expect(again.settings.mode == .offline)
        #expect(try await again.settings.ownMode() == .offline)
        await again.close()
        let online = try await fixture.open(mode: .online)
        #expect(try await fixture.vault.read(online) == 0..<200_000)
        try await online.settings.setMode(nil)
        #expect(try await online.settings.ownMode() == nil)
        await online.close()
    }

    @Test("A mode set during playback applies to active readers: no more bytes arrive, and received bytes are kept")
    func live() async throws {
        let gate = Gate()
        let fixture = try await FreshFixture()
        fixture.origin.answer { [title = fixture.vault.resource] request in
            var answer = title.answer(to: request)
            answer.insert(.hold(gate), at: 65_536)
            return answer
        }
        let vault = try await fixture.open()
        let reader = try await vault.read(fixture.url)
        var position: Int64 = 0
        while position < 65_536, let bytes = try await reader.next() { position += Int64(bytes.count) }
        try await vault.titles.setMode(.offline, for: fixture.url)
        let error = await #expect(throws: VaultError.self) { while try await reader.next() != nil {} }
        #expect(error?.code == .notHeld && error?.firstMissing == 65_536)
        // Bytes that arrive before the transfer ends are kept, too.
        let (loader, lease) = try await vault.use(MediaReference(fixture.url))
        while loader.look({ !$0.fetches.isEmpty }) { try await Task.sleep(for: .milliseconds(1)) }
        withExtendedLifetime(lease) {}
        gate.open()
        // Back online, only the rest is fetched.
        try await vault.titles.setMode(nil, for: fixture.url)
        #expect(try await fixture.vault.read(vault) == 0..<200_000)
        #expect(fixture.vault.ranges.last == "bytes=65536-")
        await vault.close()
    }

    @Test("When a vault stores again, it also stores bytes that it had passed through unstored")
    func storesAgain() async throws {
        let fixture = try await FreshFixture()
        let vault = try await fixture.open()
        try await vault.settings.setMode(.noStore)
        #expect(try await fixture.vault.read(vault, .closed(first: 0, last: 9999)) == 0..<10_000)
        try await vault.settings.setMode(nil)
        #expect(try await fixture.vault.read(vault) == 0..<200_000)
        await vault.close()
        let again = try await fixture.open()
        #expect(try await fixture.vault.held(again) == [0..<200_000])
        await again.close()
    }

    @Test("Only the owner changes modes")
    func ownerOnly() async throws {
        let fixture = try await FreshFixture()
        let vault = try await fixture.vault.open(.reader)
        let first = await #expect(throws: VaultError.self) { try await vault.settings.setMode(.online) }
        let second = await #expect(throws: VaultError.self) {
            try await vault.titles.setMode(.online, for: fixture.url)
        }
        #expect(first?.code == .owned && second?.code == .owned)
        await vault.close()
    }
}
