import MediaVault
import OriginTestSupport
import Testing

@Suite("Offline")
struct OfflineTests {
    /// Returns a title with the held bytes 0–99 999 and 200 000–249 999; its origin is gone.
    private func partlyHeld() async throws -> VaultFixture {
        let fixture = try await VaultFixture(ScriptedResource(length: 400_000))
        let vault = try await fixture.open()
        _ = try await fixture.read(vault, .closed(first: 0, last: 99_999))
        _ = try await fixture.read(vault, .closed(first: 200_000, last: 249_999))
        await vault.close()
        fixture.origin.stop()
        return fixture
    }

    @Test(
        "Held ranges play, a range ends before a gap, and a gap is an error at its first byte",
        arguments: [VaultMode.offline, .online])
    func partial(mode: VaultMode) async throws {
        let fixture = try await partlyHeld()
        let vault = try await fixture.open(mode: mode)
        #expect(try await fixture.read(vault, .closed(first: 200_000, last: 249_999)) == 200_000..<250_000)
        let reader = try await vault.read(fixture.url, range: .from(50_000))
        #expect(reader.range == 50_000..<100_000 && reader.isShortened && reader.information.length == 400_000)
        #expect(try await fixture.read(vault, .from(50_000)) == 50_000..<100_000)

        let error = await #expect(throws: VaultError.self) { try await vault.read(fixture.url, range: .from(100_000)) }
        #expect(error?.firstMissing == 100_000)
        #expect(error?.code == (mode == .offline ? .notHeld : .unreachable))
        await vault.close()
    }

    @Test("A request for the whole title announces the full length and ends with an error at the gap")
    func wholeBreaksOff() async throws {
        let fixture = try await partlyHeld()
        let vault = try await fixture.open(mode: .offline)
        let reader = try await vault.read(fixture.url)
        #expect(reader.range == 0..<400_000 && !reader.isShortened)
        var count: Int64 = 0
        let error = await #expect(throws: VaultError.self) {
            while let bytes = try await reader.next() { count += Int64(bytes.count) }
        }
        #expect(count == 100_000 && error?.code == .notHeld && error?.firstMissing == 100_000)
        await vault.close()
    }

    @Test("An unknown title is not held offline, and unreachable online")
    func neverSeen() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 10))
        fixture.origin.stop()
        for (mode, code) in [(VaultMode.offline, VaultError.Code.notHeld), (.online, .unreachable)] {
            let vault = try await fixture.open(mode: mode)
            let reading = await #expect(throws: VaultError.self) { try await vault.read(fixture.url) }
            #expect(reading?.code == code)
            let asking = await #expect(throws: VaultError.self) { try await vault.information(for: fixture.url) }
            #expect(asking?.code == code)
            #expect(try await vault.titles.summary(of: fixture.url) == nil)
            await vault.close()
        }
    }

    @Test("A reader beside the owner reads what is committed, without the lock or the network")
    func readerBesideOwner() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 300_000))
        let owner = try await fixture.open()
        _ = try await fixture.read(owner, .closed(first: 0, last: 149_999))
        // Bytes are committed shortly after they are read.
        while try await fixture.held(owner) != [0..<150_000] { try await Task.sleep(for: .milliseconds(5)) }
        let reader = try await fixture.open(.reader)
        #expect(try await fixture.read(reader, .closed(first: 0, last: 149_999)) == 0..<150_000)
        let error = await #expect(throws: VaultError.self) { try await reader.read(fixture.url, range: .from(150_000)) }
        #expect(error?.code == .notHeld)
        await reader.close()
        await owner.close()
    }

    @Test("A second owner is refused until the first has closed the vault")
    func secondOwner() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 1))
        let owner = try await fixture.open()
        let error = await #expect(throws: VaultError.self) { try await fixture.open() }
        #expect(error?.code == .owned)
        await owner.close()
        let next = try await fixture.open()
        await next.close()
    }
}
