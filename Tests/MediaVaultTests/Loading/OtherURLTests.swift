import MediaVault
import OriginTestSupport
import Synchronization
import Testing
import VaultModel

@Suite("A title that is requested from another URL than before", .timeLimit(.minutes(2)))
struct OtherURLTests {
    private static let length: Int64 = 400_000

    private static func resource(_ seed: UInt64, lastModified: String? = nil) -> ScriptedResource {
        ScriptedResource(seed: seed, length: length, entityTag: nil, lastModified: lastModified)
    }

    private static func reference(_ signature: Int, _ fixture: VaultFixture) -> MediaReference {
        MediaReference(fixture.origin.url("/film.mp4?sig=\(signature)"), contentID: "film")
    }

    private static func setPolicy(_ vault: Vault, _ change: (inout KeyPolicy) throws -> Void) async throws {
        var policy = try await vault.settings.keyPolicy()
        try change(&policy)
        try await vault.settings.setKeyPolicy(policy)
    }

    /// Reads a range; returns nil if the reader was told that the content changed.
    private static func read(
        _ vault: Vault, _ reference: MediaReference, _ range: RequestedRange = .whole
    ) async throws -> [UInt8]? {
        var bytes: [UInt8] = []
        do {
            for try await more in try await vault.read(reference, range: range) { bytes += more }
            return bytes
        } catch let error as VaultError where error.code == .changed {
            return nil
        }
    }

    @Test(
        "Without a validator the title begins again, even on the same connection and if the host's content is immutable",
        arguments: [true, false], [true, false])
    func withoutValidator(isImmutable: Bool, isRefreshed: Bool) async throws {
        let (old, new) = (Self.resource(1), Self.resource(2))
        let fixture = try await VaultFixture(old)
        let isRefused = Mutex(false)
        fixture.origin.answer { request in
            guard request.target.hasSuffix("sig=1") else { return new.answer(to: request) }
            guard isRefused.withLock({ $0 }) else { return old.answer(to: request) }
            return ScriptedAnswer(403, fields: ["Content-Length": "0"])
        }
        let vault = try await fixture.open()
        if isImmutable { try await Self.setPolicy(vault) { try $0.setImmutable("127.0.0.1") } }
        let (first, second) = (Self.reference(1, fixture), Self.reference(2, fixture))
        let beginning = try #require(try await Self.read(vault, first, .closed(first: 0, last: 99_999)))
        #expect(beginning.count == 100_000 && old.media.matches(beginning, at: 0))
        if isRefreshed {
            isRefused.withLock { $0 = true }
            vault.setLinkRefresher { _ in FreshLink(second.url) }
        }
        for attempt in 1...2 {
            guard let bytes = try await Self.read(vault, isRefreshed ? first : second) else {
                #expect(attempt == 1, "only a reader that has old bytes is told")
                continue
            }
            #expect(bytes.count == Int(Self.length) && new.media.matches(bytes, at: 0))
        }
        await vault.close()
    }

    @Test(
        "At a host whose content is immutable, all bytes of a URL are kept, whatever ignored query parameters it has",
        arguments: [1, 2])
    func sameURL(signature: Int) async throws {
        let resource = Self.resource(1)
        let fixture = try await VaultFixture(resource)
        fixture.origin.answer { request in
            var answer = resource.answer(to: request)
            answer.closes = true
            return answer
        }
        let vault = try await fixture.open()
        try await Self.setPolicy(vault) { policy in
            try policy.setImmutable("127.0.0.1")
            if signature != 1 { try policy.ignore(["sig"], on: nil) }
        }
        _ = try await Self.read(vault, Self.reference(1, fixture), .closed(first: 0, last: 99_999))
        await vault.close()
        let again = try await fixture.open()
        let bytes = try await Self.read(again, Self.reference(signature, fixture))
        #expect(bytes?.count == Int(Self.length) && fixture.bytesSent == Self.length)
        await again.close()
    }

    @Test("The same date and length show that another URL has the same version")
    func date() async throws {
        let resource = Self.resource(1, lastModified: "Wed, 02 Oct 2024 13:00:00 GMT")
        let fixture = try await VaultFixture(resource)
        let vault = try await fixture.open()
        _ = try await Self.read(vault, Self.reference(1, fixture), .closed(first: 0, last: 99_999))
        let bytes = try await Self.read(vault, Self.reference(2, fixture))
        #expect(bytes?.count == Int(Self.length) && fixture.bytesSent == Self.length)
        await vault.close()
    }
}
