import Foundation
import OriginTestSupport
import Testing
import VaultModel
import VaultStorage

@testable import MediaVault

@Suite("Whatever happens to a derived resource, it reaches public addresses only", .timeLimit(.minutes(5)))
struct DerivedReachTests {
    enum Act: String, CaseIterable, Sendable { case restart, reseal, rewrap, rename, rebuild, rebuildOfSoundIndex }

    /// Returns a vault that holds a derived resource of two segments, which it was once allowed to request.
    private func filled() async throws -> VaultFixture {
        let fixture = try await VaultFixture(ScriptedResource(length: 400_000))
        let vault = try await fixture.open()
        var policy = KeyPolicy()
        try policy.allow("127.0.0.1")
        try await vault.setKeyPolicy(policy)
        for range in [RequestedRange.closed(first: 0, last: 199_999), .from(200_000)] {
            let reader = try await vault.read(Self.derived(fixture), range: range)
            while try await reader.next() != nil {}
        }
        try await vault.setKeyPolicy(KeyPolicy())
        await vault.close()
        #expect(fixture.bytesSent == 400_000)
        return fixture
    }

    private static func derived(_ fixture: VaultFixture) -> MediaReference {
        var reference = MediaReference(fixture.url)
        reference.isDerived = true
        return reference
    }

    private func perform(_ act: Act, _ fixture: VaultFixture) async throws {
        let index = fixture.place.folder + "/index.sqlite"
        if act == .rebuild {
            for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: index + end) }
        }
        if act == .rebuild || act == .rebuildOfSoundIndex {
            _ = try await Vault.rebuildIndex(fixture.place, unlock: fixture.unlock, evenIfSound: act != .rebuild)
            return
        }
        let vault = try await fixture.open()
        switch act {
        case .reseal: for try await _ in vault.keys.reseal() {}
        case .rewrap:
            _ = try await vault.keys.rotate()
            for try await _ in vault.keys.rewrap() {}
        case .rename: _ = try await vault.keys.changeLocator()
        case .restart, .rebuild, .rebuildOfSoundIndex: break
        }
        await vault.close()
    }

    @Test("After each act it is still marked, and neither a repair nor a reader requests it", arguments: Act.allCases)
    func marked(act: Act) async throws {
        let fixture = try await filled()
        try await perform(act, fixture)
        let before = fixture.origin.exchanges.count
        try fixture.change(fixture.files()[0]) { $0[88] ^= 1 }
        let report = try await fixture.verify(repairs: true)
        #expect(!report.isSound, "the damage was found, and could not be repaired")
        let vault = try await fixture.open()
        let resource = try await vault.name(MediaReference(fixture.url))
        let stored = try #require(try vault.store.index.resource(resource.id))
        #expect(stored.metadata.isDerived)
        await #expect(throws: VaultError.self) {
            let reader = try await vault.read(Self.derived(fixture))
            while try await reader.next() != nil {}
        }
        #expect(fixture.origin.exchanges.count == before, "it was requested at a private address")
        // The operator may name it, and gets it from there.
        #expect(try await fixture.bytes(vault, MediaReference(fixture.url)) == 400_000)
        await vault.close()
    }
}
