import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@Suite("The scope of playback links", .timeLimit(.minutes(5)))
struct AddressScopeTests {
    private let title = ScriptedResource(length: 200_000)

    /// Returns an origin that serves `private` to one user only, and everything else to everyone.
    private func fixture() async throws -> VaultFixture {
        let fixture = try await VaultFixture(title)
        fixture.origin.answer { [title] request in
            request.target.contains("private") && request.fields["Authorization"] != "Bearer one"
                ? ScriptedAnswer(401, fields: ["Content-Length": "0"]) : title.answer(to: request)
        }
        return fixture
    }

    @Test("A link for one title neither opens a private title in its folder, nor sends its credentials")
    func otherTitle() async throws {
        let fixture = try await fixture()
        let (secret, trailer) = (fixture.origin.url("/a/private.mp4"), fixture.origin.url("/a/trailer.mp4"))
        let filling = try await fixture.open()
        let reader = try await filling.read(
            MediaReference(secret, fields: ["Authorization": "Bearer one"]), range: .closed(first: 0, last: 99_999))
        while try await reader.next() != nil {}
        await filling.close()  // A client may get bytes before they are durable.
        let vault = try await fixture.open()
        #expect(try await vault.titles.summary(of: secret)?.bytes == 100_000, "the plain URL names the private title")
        let address = vault.tokens.playbackPath(for: trailer, expires: .max)
        let nested = vault.tokens.playbackPath(
            for: try MediaURL("http://127.0.0.1:8300" + vault.tokens.playbackPath(for: trailer, expires: .max)),
            expires: .max)
        // A link to a changed link grants no more than the changed link itself.
        let changed = "http://127.0.0.1:8300" + address.replacing("trailer", with: "private")
        let around = vault.tokens.playbackPath(for: try MediaURL(changed), expires: .max)
        for target in [address, nested, around] {
            let asked = fixture.origin.exchanges.count
            let other = try #require(
                vault.tokens.reference(ofTarget: target.replacing("trailer", with: "private"), now: 0))
            #expect(other.url == secret)
            let named = try await vault.name(other)
            #expect(vault.playback.held(named, range: .closed(first: 0, last: 9)) == nil)
            for range in [RequestedRange.closed(first: 0, last: 9), .closed(first: 150_000, last: 150_009)] {
                let error = await #expect(throws: VaultError.self) { try await vault.read(other, range: range) }
                #expect(error?.originStatus == 401)
            }
            let new = fixture.origin.exchanges.dropFirst(asked)
            #expect(!new.isEmpty && new.allSatisfy { $0.request.fields["Authorization"] == nil })
        }
        // A link for the private title opens it, with the fields stored with the title.
        let own = vault.tokens.playbackPath(for: secret, expires: .max)
        let reference = try #require(vault.tokens.reference(ofTarget: own, now: 0))
        #expect(try await fixture.bytes(vault, reference) == 200_000)
        await vault.close()
    }

    @Test("A link for any title of a folder opens the public titles in that folder")
    func unusedKey() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let (one, two) = (fixture.origin.url("/a/one.mp4"), fixture.origin.url("/a/two.mp4"))
        for try await _ in vault.download(two) {}
        let asked = fixture.origin.exchanges.count
        let address = vault.tokens.playbackPath(for: one, expires: .max)
        let reference = try #require(
            vault.tokens.reference(ofTarget: address.replacing("one", with: "two"), now: 0))
        #expect(try await fixture.bytes(vault, reference) == 200_000 && fixture.origin.exchanges.count == asked)
        await vault.close()
    }

    @Test("The same Authorization with other cookies or fields is another principal")
    func otherFields() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        func reference(_ fields: HeaderFields) -> MediaReference {
            MediaReference(fixture.origin.url("/private.mp4"), fields: fields)
        }
        let one = reference(["Authorization": "Bearer one", "Cookie": "profile=1"])
        for try await _ in vault.download(one) {}
        for fields: HeaderFields in [
            ["Authorization": "Bearer one"], ["Authorization": "Bearer one", "Cookie": "profile=2"],
            ["Authorization": "Bearer one", "Cookie": "profile=1", "X-Tenant": "b"],
        ] {
            #expect(try await vault.titles.summary(of: reference(fields)) == nil)
        }
        let same = reference(["cookie": "profile=1", "User-Agent": "me", "authorization": "Bearer one"])
        #expect(try await vault.titles.summary(of: same)?.isComplete == true)
        await vault.close()
    }

    @Test("A URL named by a manifest is requested at public addresses only, after a restart too")
    func derivedAfterRestart() async throws {
        let fixture = try await VaultFixture(title)
        fixture.origin.answer { [title] request in
            request.target == "/named"
                ? ScriptedAnswer(403, fields: ["Content-Length": "0"]) : title.answer(to: request)
        }
        var derived = MediaReference(fixture.origin.url("/derived"), contentID: "film")
        derived.isDerived = true
        let vault = try await fixture.open()
        var policy = KeyPolicy()
        try policy.allow("127.0.0.1")
        try await vault.settings.setKeyPolicy(policy)
        let reader = try await vault.read(derived, range: .closed(first: 0, last: 9))
        while try await reader.next() != nil {}
        #expect(fixture.origin.exchanges.last?.request.target == "/derived")
        try await vault.settings.setKeyPolicy(KeyPolicy())
        await vault.close()
        let again = try await fixture.open()
        let asked = fixture.origin.exchanges.count
        // The operator names another URL, which the origin refuses: the remembered URL would be next.
        let named = MediaReference(fixture.origin.url("/named"), contentID: "film")
        await #expect(throws: VaultError.self) {
            try await again.read(named, range: .closed(first: 100_000, last: 100_009))
        }
        let targets = fixture.origin.exchanges.dropFirst(asked).map(\.request.target)
        #expect(!targets.isEmpty && targets.allSatisfy { $0 == "/named" }, "\(targets)")
        // A URL that the operator named may be at any address.
        derived.isDerived = false
        #expect(try await fixture.bytes(again, derived) == 200_000)
        await again.close()
    }
}
