import MediaVault
import OriginTestSupport
import Testing

@Suite("Naming of resources", .timeLimit(.minutes(5)))
struct NamingTests {
    private let length: Int64 = 200_000

    private func fixture() async throws -> VaultFixture { try await VaultFixture(ScriptedResource(length: length)) }

    private func listed(_ vault: Vault) async throws -> [ResourceSummary] {
        var all: [ResourceSummary] = []
        for try await summary in vault.titles.resources() { all.append(summary) }
        return all
    }

    @Test("A signed URL with a new token finds the same bytes, after a restart too")
    func ignoredToken() async throws {
        let fixture = try await fixture()
        var policy = KeyPolicy()
        try policy.ignore(["token"])
        let vault = try await fixture.open()
        try await vault.settings.setKeyPolicy(policy)
        let (one, two) = (fixture.origin.url("/film.mp4?token=1&v=1"), fixture.origin.url("/film.mp4?%74oken=2&v=1"))
        #expect(try await fixture.bytes(vault, MediaReference(one)) == length)
        #expect(try await fixture.bytes(vault, MediaReference(two)) == length)
        #expect(try await vault.titles.summary(of: fixture.origin.url("/film.mp4?v=2")) == nil)
        await vault.close()
        let again = try await fixture.open()
        #expect(try await again.settings.keyPolicy() == policy)
        #expect(try await fixture.bytes(again, MediaReference(two)) == length)
        #expect(fixture.bytesSent == length)
        await again.close()
    }

    @Test("Two hosts that are mapped to one share a resource, and each is requested by its own name")
    func mappedHost() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        var policy = KeyPolicy()
        try policy.map("localhost:\(fixture.origin.port)", to: "127.0.0.1:\(fixture.origin.port)")
        try await vault.settings.setKeyPolicy(policy)
        let other = try MediaURL("http://localhost:\(fixture.origin.port)/film.mp4")
        _ = try await fixture.read(vault, .closed(first: 0, last: 99_999))
        #expect(try await fixture.bytes(vault, MediaReference(other)) == length)
        #expect(fixture.bytesSent == length && fixture.ranges == ["bytes=0-99999", "bytes=100000-"])
        #expect(
            fixture.origin.exchanges.map { $0.request.fields["Host"] }
                == ["127.0.0.1", "localhost"].map { "\($0):\(fixture.origin.port)" })
        await vault.close()
    }

    @Test("If the policy changes during a request, its facts and its bytes belong to the same resource")
    func changedBetweenSteps() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let (one, two) = (fixture.origin.url("/film.mp4?v=1"), fixture.origin.url("/film.mp4?v=2"))
        for url in [one, two] {
            for try await _ in vault.download(url) {}
            try await vault.titles.pin(MediaReference(url))
        }
        let named = try await vault.name(MediaReference(two))
        let held = try #require(vault.playback.held(named, range: .whole))
        #expect(vault.playback.reader(of: held) != nil, "it is not given at once, so this test proves nothing")
        // From now on both URLs have the name of a URL without the query, under which nothing is held yet.
        var policy = KeyPolicy()
        try policy.ignore(["v"])
        try await vault.settings.setKeyPolicy(policy)
        #expect(vault.playback.reader(of: held) == nil)
        let head = try await vault.playback.head(of: named)
        let reader = try await vault.playback.read(named, range: .closed(first: 0, last: 9))
        #expect(reader.entityTag == head.entityTag)
        for try await _ in reader {}
        await vault.close()
    }

    @Test("A policy change hides titles that get another name, keeps their bytes, and lets readers continue")
    func changed() async throws {
        let gate = Gate()
        let fixture = try await fixture()
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            answer.insert(.hold(gate), at: 50_000)
            return answer
        }
        let vault = try await fixture.open()
        let url = fixture.origin.url("/film.mp4?token=1")
        let reader = try await vault.read(url)
        _ = try await reader.next()
        var policy = KeyPolicy()
        try policy.ignore(["token"])
        try await vault.settings.setKeyPolicy(policy)
        gate.open()
        var count: Int64 = 0
        while let bytes = try await reader.next() { count += Int64(bytes.count) }
        #expect(count > 100_000)
        #expect(try await vault.titles.summary(of: url) == nil)
        #expect(try await fixture.bytes(vault, MediaReference(url)) == length)
        #expect(try await listed(vault).count == 2)
        try await vault.settings.setKeyPolicy(KeyPolicy())
        await vault.close()
        let again = try await fixture.open(.reader)
        #expect(try await again.titles.summary(of: url)?.isComplete == true)
        let error = await #expect(throws: VaultError.self) { try await again.settings.setKeyPolicy(policy) }
        #expect(error?.code == .owned)
        await again.close()
    }

    @Test("A content id names one resource at any URL; the URL without it names another")
    func contentID() async throws {
        let fixture = try await fixture()
        let vault = try await fixture.open()
        let (one, two) = (fixture.origin.url("/a"), fixture.origin.url("/b?x"))
        #expect(try await fixture.bytes(vault, MediaReference(one, contentID: "film")) == length)
        #expect(try await fixture.bytes(vault, MediaReference(two, contentID: "film")) == length)
        #expect(fixture.bytesSent == length)
        #expect(try await vault.titles.summary(of: one) == nil)
        #expect(try await vault.titles.summary(of: MediaReference(two, contentID: "other")) == nil)
        let error = await #expect(throws: VaultError.self) { try await vault.read(MediaReference(one, contentID: "")) }
        #expect(error?.code == .invalidArgument)
        await vault.close()
    }

    @Test("A vault's own link names its title, even if expired; another vault's link is an ordinary URL")
    func ownAddress() async throws {
        let (fixture, stranger) = (try await fixture(), try await fixture())
        let vault = try await fixture.open()
        let other = try await stranger.open()
        let reference = MediaReference(fixture.url, contentID: "film")
        _ = try await fixture.bytes(vault, reference)
        func address(_ path: String) throws -> MediaURL { try MediaURL("http://127.0.0.1:8300\(path)") }
        let path = try vault.tokens.playbackPath(for: reference, expires: 1)
        #expect(try await vault.titles.summary(of: MediaReference(address(path))) != nil)
        let nested = vault.tokens.playbackPath(for: try address(path), expires: 1)
        #expect(try await vault.titles.summary(of: MediaReference(address(nested))) != nil)
        #expect(try await fixture.bytes(vault, MediaReference(address(nested))) == length)
        #expect(try await other.titles.summary(of: MediaReference(address(path))) == nil)
        #expect(try await listed(vault).count == 1 && fixture.bytesSent == length)
        await vault.close()
        await other.close()
    }
}
