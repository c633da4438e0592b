import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultManifest
import VaultModel
import VaultTestSupport

@Suite("A title whose first place is dead", .timeLimit(.minutes(5)))
struct AlternativeBaseTests {
    /// Two segments of four seconds, in two folders.
    private static let manifest = """
        <MPD type="static" mediaPresentationDuration="PT8S"><BaseURL>one/</BaseURL><BaseURL>two/</BaseURL><Period>\
        <AdaptationSet mimeType="video/mp4"><SegmentTemplate media="$Number$.m4s" duration="4"/>\
        <Representation id="v" bandwidth="8"/></AdaptationSet></Period></MPD>
        """

    /// - Parameter dead: the prefixes of paths that do not exist.
    private static func fixture(dead: [String]) async throws -> (VaultFixture, MediaURL) {
        let fixture = try await VaultFixture(ScriptedResource(length: 1))
        fixture.origin.answer { request in
            if request.target == "/manifest.mpd" {
                return ScriptedAnswer(
                    200,
                    fields: [
                        "Content-Type": "application/dash+xml", "Content-Length": "\(manifest.utf8.count)",
                        "ETag": "\"m\"",
                    ], body: request.method == "GET" ? [.bytes(Array(manifest.utf8))] : [])
            }
            let isDead = dead.contains { request.target.hasPrefix($0) }
            return isDead
                ? ScriptedAnswer(404, fields: ["Content-Length": "0"])
                : ScriptedResource(length: 40_000, contentType: "video/mp4").answer(to: request)
        }
        return (fixture, fixture.origin.url("/manifest.mpd"))
    }

    private static let options = DownloadOptions(selection: RenditionSelection())

    @Test(
        "It is fetched from the second, again without a request, and its copy is whole", arguments: ["/one/", "/one/2"])
    func second(dead: String) async throws {
        let (fixture, url) = try await Self.fixture(dead: [dead])
        let vault = try await fixture.open()
        try await TitleFixture.download(url, into: vault, Self.options)
        let title = try #require(try await vault.titles.summary(of: url)?.title)
        #expect(title.isComplete && title.resources == 3)
        let asked = fixture.origin.exchanges.filter { $0.request.target.hasSuffix("m4s") }.count
        try await TitleFixture.download(url, into: vault, Self.options)
        #expect(fixture.origin.exchanges.filter { $0.request.target.hasSuffix("m4s") }.count == asked)
        let folder = try TemporaryFolder()
        try await vault.transfer.export(MediaReference(url), to: folder.path + "/film") { _ in }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/film").sorted()
        #expect(names == ["1-1.m4s", "1-2.m4s", "manifest.mpd"])
        await vault.close()
    }

    @Test("While the first has everything, the second is not asked")
    func first() async throws {
        let (fixture, url) = try await Self.fixture(dead: [])
        let vault = try await fixture.open()
        try await TitleFixture.download(url, into: vault, Self.options)
        #expect(!fixture.origin.exchanges.contains { $0.request.target.hasPrefix("/two/") })
        await vault.close()
    }

    @Test("What no place has is missing")
    func none() async throws {
        let (fixture, url) = try await Self.fixture(dead: ["/one/1", "/two/1"])
        let vault = try await fixture.open()
        await #expect(throws: VaultError.self) { try await TitleFixture.download(url, into: vault, Self.options) }
        let title = try #require(try await vault.titles.summary(of: url)?.title)
        #expect(!title.isComplete && title.missing.count == 1)
        await vault.close()
    }
}
