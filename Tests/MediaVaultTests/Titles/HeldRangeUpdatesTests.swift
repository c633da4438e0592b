import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@Suite("Updates of held ranges", .timeLimit(.minutes(2)))
struct HeldRangeUpdatesTests {
    @Test("The ranges come as they are, then whenever they change, and a closed vault ends them with an error")
    func updates() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 900_000))
        let vault = try await fixture.open()
        let reference = MediaReference(fixture.url)
        var updates = vault.titles.heldRangeUpdates(of: reference).makeAsyncIterator()
        #expect(try await updates.next() == [])
        #expect(try await fixture.read(vault, .closed(first: 0, last: 99_999)) == 0..<100_000)
        var held = try await updates.next()
        while held != [0..<100_000] { held = try await updates.next() }
        #expect(try await fixture.read(vault, .closed(first: 300_000, last: 899_999)) == 300_000..<900_000)
        while held != [0..<100_000, 300_000..<900_000] { held = try await updates.next() }
        #expect(try await vault.titles.heldRanges(of: reference) == held)
        try await vault.titles.remove(reference)
        while held != [] { held = try await updates.next() }
        await vault.close()
        let error = await #expect(throws: VaultError.self) {
            while try await updates.next() != nil {}
        }
        #expect(error?.code == .closed)
    }

    @Test("Another resource's bytes bring no update")
    func others() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 900_000))
        let vault = try await fixture.open()
        let other = MediaReference(try MediaURL("\(fixture.url.origin)/other.mp4"))
        var updates = vault.titles.heldRangeUpdates(of: other).makeAsyncIterator()
        #expect(try await updates.next() == [])
        #expect(try await fixture.read(vault) == 0..<900_000)
        await vault.close()
        let error = await #expect(throws: VaultError.self) { try await updates.next() }
        #expect(error?.code == .closed)
    }

    @Test("The value of a download is its last report, when everything is held")
    func value() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 900_000))
        let vault = try await fixture.open()
        let last = try #require(try await vault.download(fixture.url).value)
        #expect(last.isComplete && last.held == 900_000)
        await vault.close()
    }
}
