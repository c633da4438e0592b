import OriginTestSupport
import Testing
import VaultModel
import VaultTestSupport

@testable import MediaVault

@Suite("Held bytes are found once", .timeLimit(.minutes(5)))
struct HeldMediaTests {
    @Test("Bytes that were found fresh are read as found, without asking again whether they are")
    func found() async throws {
        let fixture = try await FreshFixture(cacheControl: "max-age=60")
        let vault = try await fixture.filled()
        let resource = try await vault.name(MediaReference(fixture.url))
        let range = RequestedRange.closed(first: 1000, last: 150_999)
        try await fixture.settle(vault)
        let held = try #require(vault.playback.held(resource, range: range))
        fixture.clock.advance(by: 61)
        #expect(vault.playback.held(resource, range: range) == nil, "they are stale by now")
        let asked = fixture.origin.exchanges.count
        let reader = try #require(vault.playback.reader(of: held))
        #expect(reader.range == 1000..<151_000 && reader.source == .held)
        #expect(reader.entityTag == held.entityTag && reader.information == held.information)
        var bytes: [UInt8] = []
        while let next = try await reader.next() { bytes += next }
        #expect(bytes == ScriptedResource(length: 200_000).media.bytes(1000..<151_000))
        #expect(fixture.origin.exchanges.count == asked)
        await vault.close()
    }

    @Test("Bytes that were found are not read once the title has changed, was removed, or the vault is closed")
    func overtaken() async throws {
        let fixture = try await FreshFixture(cacheControl: "max-age=60")
        let vault = try await fixture.filled()
        let resource = try await vault.name(MediaReference(fixture.url))
        func held() async throws -> HeldMedia {
            try await fixture.settle(vault)
            return try #require(vault.playback.held(resource, range: .whole))
        }
        let first = try await held()
        let other = ScriptedResource(
            length: 200_000, entityTag: "\"v2\"", lastModified: "Sat, 21 Nov 2020 12:00:00 GMT")
        fixture.say("max-age=60", of: other)
        fixture.clock.advance(by: 61)
        #expect(try await fixture.vault.read(vault) == 0..<200_000)
        #expect(vault.playback.reader(of: first) == nil)
        let second = try await held()
        #expect(second.representation != first.representation && vault.playback.reader(of: second) != nil)
        _ = try await vault.titles.remove(MediaReference(fixture.url))
        #expect(vault.playback.reader(of: second) == nil && vault.playback.held(resource, range: .whole) == nil)
        await vault.close()
        #expect(vault.playback.reader(of: second) == nil)
    }
}
