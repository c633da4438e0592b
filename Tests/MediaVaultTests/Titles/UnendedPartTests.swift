import OriginTestSupport
import Testing
import VaultManifest
import VaultModel
import VaultTestSupport

@testable import MediaVault
@testable import VaultStorage

@Suite("A part without a length is whole when its end was seen", .timeLimit(.minutes(5)))
struct UnendedPartTests {
    /// Larger than the files that are kept in a pack.
    private static let bytes: Int64 = 9 << 20

    /// A title of one part, whose length is not stated.
    private static func answer(to request: ScriptedRequest) -> ScriptedAnswer {
        guard request.target == "/a.ts" else {
            return TitleFixture.text(
                "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\na.ts\n#EXT-X-ENDLIST\n", request)
        }
        var answer = ScriptedResource(length: bytes, contentType: "video/mp2t", supportsRanges: false).answer(
            to: request)
        answer.sendInChunks()
        return answer
    }

    /// The cause that prevents the part from being stored whole.
    enum Cause: String, CaseIterable, CustomTestStringConvertible {
        case limit, fullDisk
        var testDescription: String { self == .limit ? "a limit on the vault's size" : "a full disk" }
    }

    @Test(
        "One that could not be stored to its end leaves its title incomplete, and says why", arguments: Cause.allCases)
    func cut(_ cause: Cause) async throws {
        let fixture = try await RoomFixture()
        fixture.origin.answer { Self.answer(to: $0) }
        let url = fixture.origin.url("/film.m3u8")
        let vault = try await fixture.open(cause == .limit ? StorageLimits(maxSize: 4 << 20) : nil)
        if cause == .fullDisk { fixture.disk.fill(leaving: 6 << 20) }
        let error = await #expect(throws: VaultError.self) { try await TitleFixture.download(url, into: vault) }
        #expect(
            error.map { [.quotaExceeded, .diskFull, .storage].contains($0.code) } == true,
            "\(String(describing: error))")
        let title = try #require(try await vault.titles.summary(of: url)?.title)
        #expect(!title.isComplete && title.missing.count == 1 && title.missing[0].contains("/a.ts"))
        let ready = try await vault.checks.readiness(ReadinessOptions(hasDownloads: true))
        #expect(ready.unready.first?.findings.map(\.cause).contains(.incomplete) == true)
        await vault.close()
    }

    @Test("Readiness looks at each part, whatever the title's record says")
    func readiness() async throws {
        let fixture = try await RoomFixture()
        fixture.origin.answer { Self.answer(to: $0) }
        let url = fixture.origin.url("/film.m3u8")
        let vault = try await fixture.open()
        try await TitleFixture.download(url, into: vault)
        #expect(
            try await vault.checks.readiness(ReadinessOptions(hasDownloads: true)).unready.isEmpty,
            "premise: it is ready")
        let part = try await vault.titles.id(of: MediaReference(fixture.origin.url("/a.ts")))
        var resource = try #require(try vault.store.index.resources.find(part))
        var information = try #require(resource.serving?.info.information)
        information.length = nil
        try vault.store.resources.update(information, of: &resource)
        let ready = try await vault.checks.readiness(ReadinessOptions(hasDownloads: true))
        #expect(ready.unready.first?.findings.map(\.cause) == [.incomplete])
        await vault.close()
    }
}
