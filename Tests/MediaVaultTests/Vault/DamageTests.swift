import Foundation
import MediaVault
import OriginTestSupport
import Testing

@Suite("Damaged blocks and storage failures")
struct DamageTests {
    /// Returns a complete title whose one segment has a flipped bit in block 3.
    private func damaged() async throws -> VaultFixture {
        let fixture = try await VaultFixture(ScriptedResource(length: 400_000))
        let vault = try await fixture.open()
        _ = try await fixture.read(vault)
        await vault.close()
        let file = try #require(fixture.segmentFiles.first)
        var bytes = try Data(contentsOf: file)
        bytes[88 + 3 * (32_768 + 16) + 1000] ^= 1
        try bytes.write(to: file)
        return fixture
    }

    @Test("Only a block that fails its tag is fetched again, within the same request")
    func refetched() async throws {
        let fixture = try await damaged()
        let vault = try await fixture.open()
        #expect(try await fixture.read(vault) == 0..<400_000)
        #expect(fixture.ranges == ["bytes=0-", "bytes=98304-131071"])
        await vault.close()
        fixture.origin.stop()
        let again = try await fixture.open()
        #expect(try await fixture.read(again) == 0..<400_000)
        #expect(try await fixture.held(again) == [0..<400_000])
        await again.close()
    }

    @Test("Offline, the neighbours of a bad block are served, but none of its bytes")
    func offline() async throws {
        let fixture = try await damaged()
        let vault = try await fixture.open(mode: .offline)
        let reader = try await vault.read(fixture.url)
        var count: Int64 = 0
        let error = await #expect(throws: VaultError.self) {
            while let bytes = try await reader.next() {
                #expect(fixture.media.matches(bytes, at: count))
                count += Int64(bytes.count)
            }
        }
        #expect(error?.code == .integrity && error?.firstMissing == count && count <= 98_304 && count >= 65_536)
        #expect(try await fixture.read(vault, .from(131_072)) == 131_072..<400_000)
        await vault.close()
    }

    @Test("If the store fails, playback continues and a download reports why")
    func storeRefuses() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 300_000))
        try FileManager.default.removeItem(atPath: fixture.place.folder + "/segments")
        let vault = try await fixture.open()
        #expect(try await fixture.read(vault) == 0..<300_000)
        #expect(try await fixture.held(vault).isEmpty)
        let error = await #expect(throws: VaultError.self) { for try await _ in vault.download(fixture.url) {} }
        #expect(error?.code == .storage && error?.message.contains("300000 bytes") == true)
        await vault.close()
    }

    @Test("A later run does not extend a title without validators, but fetches it from the start")
    func noValidator() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 300_000, entityTag: nil))
        let first = try await fixture.open()
        _ = try await fixture.read(first, .closed(first: 0, last: 99_999))
        _ = try await fixture.read(first, .closed(first: 200_000, last: 249_999))
        #expect(try await first.status().bytesFetched == 150_000)
        await first.close()
        let newer = ScriptedResource(seed: 2, length: 300_000, entityTag: nil)
        fixture.origin.answer { newer.answer(to: $0) }
        let second = try await fixture.open()
        #expect(try await fixture.read(second, .closed(first: 0, last: 99_999)) == 0..<100_000, "held bytes play")
        var position: Int64 = 0
        for try await bytes in try await second.read(fixture.url) {
            #expect(newer.media.matches(bytes, at: position), "no old byte among new ones")
            position += Int64(bytes.count)
        }
        #expect(position == 300_000)
        await second.close()
    }
}
