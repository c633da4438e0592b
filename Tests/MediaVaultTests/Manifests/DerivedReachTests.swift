import Foundation
import OriginTestSupport
import Testing
import VaultFetch
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
        try await vault.settings.setKeyPolicy(policy)
        for range in [RequestedRange.closed(first: 0, last: 199_999), .from(200_000)] {
            let reader = try await vault.read(Self.derived(fixture), range: range)
            while try await reader.next() != nil {}
        }
        try await vault.settings.setKeyPolicy(KeyPolicy())
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
        let stored = try #require(try vault.store.index.resources.find(resource.id))
        #expect(stored.metadata.isDerived)
        await #expect(throws: VaultError.self) {
            let reader = try await vault.read(Self.derived(fixture))
            while try await reader.next() != nil {}
        }
        #expect(fixture.origin.exchanges.count == before, "it was requested at a private address")
        // The operator may name it, and gets it from that address.
        #expect(try await fixture.bytes(vault, MediaReference(fixture.url)) == 400_000)
        await vault.close()
    }

    // MARK: What the operator fetched from a private address

    /// Returns how a reference is refused; nil if it yields any byte or a head.
    private static func refusal(_ vault: Vault, _ reference: MediaReference) async throws -> VaultError? {
        do {
            for try await _ in try await vault.read(reference) { return nil }
            return nil
        } catch let error as VaultError {
            let other = await #expect(throws: VaultError.self) { try await vault.head(of: reference) }
            #expect(other == error, "HEAD and GET differ")
            return error
        }
    }

    @Test(
        "What the operator fetched from a private address is refused to a manifest as if it were not held, after each act",
        arguments: Act.allCases)
    func privateBytes(act: Act) async throws {
        let (fixture, first) = try await VaultFixture.filled(ScriptedResource(length: 400_000))
        await first.close()
        try await perform(act, fixture)
        try fixture.change(fixture.files()[0]) { $0[88] ^= 1 }
        #expect(try await fixture.verify(repairs: true).isSound, "the operator's URL may be asked for a repair")
        let before = fixture.origin.exchanges.count
        for mode in [VaultMode.online, .offline] {
            let vault = try await fixture.open(mode: mode)
            var unknown = MediaReference(fixture.origin.url("/unknown.mp4"))
            unknown.isDerived = true
            let expected = try #require(try await Self.refusal(vault, unknown))
            #expect(expected.code == (mode == .online ? .invalidResponse : .notHeld))
            let refused = try await Self.refusal(vault, Self.derived(fixture))
            #expect(refused == expected)
            #expect(try await vault.titles.heldRanges(of: Self.derived(fixture)).isEmpty)
            #expect(try await fixture.bytes(vault, MediaReference(fixture.url)) == 400_000)
            let resource = try await vault.name(Self.derived(fixture))
            #expect(vault.playback.held(resource, range: .from(0)) == nil, "not even now that it is in use")
            #expect(try await Self.refusal(vault, Self.derived(fixture)) == expected)
            await vault.close()
        }
        #expect(fixture.origin.exchanges.count == before, "something was requested")
    }

    @Test("A host that the operator allows is given, and no longer once it is not allowed any more")
    func allowedLater() async throws {
        let (fixture, vault) = try await VaultFixture.filled(ScriptedResource(length: 100_000))
        var policy = KeyPolicy()
        try policy.allow("127.0.0.1")
        for isAllowed in [true, false] {
            try await vault.settings.setKeyPolicy(isAllowed ? policy : KeyPolicy())
            #expect(try await (Self.refusal(vault, Self.derived(fixture)) == nil) == isAllowed)
        }
        await vault.close()
    }

    @Test("Of bytes whose origin an older version did not record, those stored for a manifest are given, others not")
    func olderVaults() async throws {
        let (fixture, vault) = try await VaultFixture.filled(ScriptedResource(length: 100_000))
        try await forget(fixture, vault)
        let again = try await fixture.open(mode: .offline)
        #expect(try await Self.refusal(again, Self.derived(fixture))?.code == .notHeld)
        #expect(try await fixture.bytes(again, MediaReference(fixture.url)) == 100_000)
        await again.close()
        let derived = try await filled()
        try await forget(derived, try await derived.open())
        let vaultOfManifest = try await derived.open(mode: .offline)
        #expect(try await derived.bytes(vaultOfManifest, Self.derived(derived)) == 400_000)
        await vaultOfManifest.close()
    }

    /// Removes the record of where the bytes came from, and closes the vault.
    private func forget(_ fixture: VaultFixture, _ vault: Vault) async throws {
        let id = try await vault.name(MediaReference(fixture.url)).id
        var stored = try #require(try vault.store.index.resources.find(id))
        var information = try #require(stored.serving?.info.information)
        #expect(information.privateHosts == ["127.0.0.1"])
        information.privateHosts = nil
        try vault.store.resources.update(information, of: &stored)
        #expect(try vault.store.index.resources.find(id)?.serving?.info.information.privateHosts == nil)
        await vault.close()
    }

    @Test("Of a title at a private address, the packed parts are given to its own manifest alone")
    func packed() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 50_000, contentType: "video/mp2t"))
        let resource = fixture.resource
        fixture.origin.answer { request in
            guard request.target == "/list.m3u8" else { return resource.answer(to: request) }
            let text = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\ns.ts\n#EXT-X-ENDLIST\n"
            var answer = ScriptedAnswer(
                200, fields: ["Content-Type": "application/vnd.apple.mpegurl", "Content-Length": "\(text.utf8.count)"])
            if request.method == "GET" { answer.body = [.bytes(Array(text.utf8))] }
            return answer
        }
        let vault = try await fixture.open()
        for try await _ in vault.download(fixture.origin.url("/list.m3u8")) {}
        var part = MediaReference(fixture.origin.url("/s.ts"))
        #expect(try await fixture.bytes(vault, part) == 50_000, "the links of its own manifest are named")
        part.isDerived = true
        #expect(try await Self.refusal(vault, part)?.code == .invalidResponse)
        await vault.close()
    }

    @Test("A manifest causes no request to a private address that the operator is asking at that moment")
    func whileAsking() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 100_000))
        fixture.origin.answer { _ in ScriptedAnswer(404, fields: ["Content-Length": "0"]) }
        let vault = try await fixture.open()
        let error = try #require(try await Self.refusal(vault, MediaReference(fixture.url)))
        #expect(error.code == .refused)
        let before = fixture.origin.exchanges.count
        let refused = try await Self.refusal(vault, Self.derived(fixture))
        #expect(refused?.code == .invalidResponse)
        #expect(fixture.origin.exchanges.count == before)
        await vault.close()
    }

    /// A transport whose answers come from public addresses, until they come from private ones.
    private final class MovingOrigin: Origin {
        let isPrivate = Locked(false)
        private let inner: any Origin

        init(_ inner: any Origin) { self.inner = inner }

        func send(_ request: OriginRequest) async throws -> any OriginResponse {
            let isPrivate = isPrivate.withLock(\.self)
            if isPrivate, request.reach == .publicOnly { throw OriginFailure.privateAddress }
            var open = request
            open.reach = .anywhere
            let response = try await inner.send(open)
            var head = response.head
            head.privateHosts = isPrivate ? [request.url.host] : []
            return Moved(head: head, inner: response)
        }
    }

    private final class Moved: OriginResponse {
        let head: OriginHead
        private let inner: any OriginResponse

        init(head: OriginHead, inner: any OriginResponse) { (self.head, self.inner) = (head, inner) }

        func nextBytes() async throws -> [UInt8]? { try await inner.nextBytes() }
        func cancel() { inner.cancel() }
        func end() -> [[UInt8]] { inner.end() }
    }

    @Test("If a host moves to a private address, a manifest gets nothing more, not even what is held, and not later")
    func moved() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 400_000))
        let origin = MovingOrigin(CurlOrigin(configuration: CurlConfiguration(userAgent: "MediaVault/test")))
        var options = VaultOptions(origin: origin)
        options.retry = .unhurried
        let vault = try await Vault.open(fixture.place, unlock: fixture.unlock, options: options)
        let led = try await vault.read(Self.derived(fixture), range: .closed(first: 0, last: 199_999))
        while try await led.next() != nil {}
        #expect(try await fixture.read(vault, .closed(first: 0, last: 199_999)) == 0..<200_000)
        let reading = try await vault.read(Self.derived(fixture), range: .closed(first: 0, last: 199_999))
        #expect(try await reading.next() != nil)
        origin.isPrivate.withLock { $0 = true }
        #expect(try await fixture.read(vault, .from(200_000)) == 200_000..<400_000, "the operator named the host")
        await #expect(throws: VaultError.self) { while try await reading.next() != nil {} }
        #expect(try await Self.refusal(vault, Self.derived(fixture))?.code == .invalidResponse)
        origin.isPrivate.withLock { $0 = false }
        #expect(try await Self.refusal(vault, Self.derived(fixture))?.code == .invalidResponse)
        #expect(try await fixture.bytes(vault, MediaReference(fixture.url)) == 400_000)
        await vault.close()
    }

    @Test("What an older version stored for the operator is given to a manifest once a public address has confirmed it")
    func confirmedLater() async throws {
        let (fixture, first) = try await VaultFixture.filled(ScriptedResource(length: 100_000))
        try await forget(fixture, first)
        let origin = MovingOrigin(CurlOrigin(configuration: CurlConfiguration(userAgent: "MediaVault/test")))
        let vault = try await Vault.open(
            fixture.place, unlock: fixture.unlock, options: VaultOptions(origin: origin))
        origin.isPrivate.withLock { $0 = true }
        #expect(try await Self.refusal(vault, Self.derived(fixture))?.code == .invalidResponse)
        origin.isPrivate.withLock { $0 = false }
        #expect(try await fixture.bytes(vault, Self.derived(fixture)) == 100_000)
        await vault.close()
        let offline = try await fixture.open(mode: .offline)
        #expect(try await fixture.bytes(offline, Self.derived(fixture)) == 100_000, "it is recorded")
        await offline.close()
    }
}
