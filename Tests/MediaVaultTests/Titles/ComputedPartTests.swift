import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultManifest
import VaultModel
import VaultTestSupport

@Suite("A last segment that is computed and not there is no missing part", .timeLimit(.minutes(5)))
struct ComputedPartTests {
    /// Nine seconds are three segments of four, rounded up.
    private static let manifest = """
        <MPD type="static" mediaPresentationDuration="PT9S"><Period><AdaptationSet mimeType="video/mp4">\
        <SegmentTemplate media="$Number$.m4s" duration="4"/><Representation id="v" bandwidth="8"/>\
        </AdaptationSet></Period></MPD>
        """

    /// - Parameter gone: the paths of segments that are answered with a status.
    private static func answer(to request: ScriptedRequest, gone: [String: Int]) -> ScriptedAnswer {
        if request.target == "/manifest.mpd" {
            return ScriptedAnswer(
                200,
                fields: [
                    "Content-Type": "application/dash+xml", "Content-Length": "\(manifest.utf8.count)", "ETag": "\"m\"",
                ], body: request.method == "GET" ? [.bytes(Array(manifest.utf8))] : [])
        }
        if let status = gone[request.target] { return ScriptedAnswer(status, fields: ["Content-Length": "0"]) }
        return ScriptedResource(length: 40_000, contentType: "video/mp4").answer(to: request)
    }

    @Test("The title is complete without it, and its copy does not name it", arguments: [404, 410])
    func absent(status: Int) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 1))
        fixture.origin.answer { Self.answer(to: $0, gone: ["/3.m4s": status]) }
        let (vault, url) = (try await fixture.open(), fixture.origin.url("/manifest.mpd"))
        try await TitleFixture.download(url, into: vault, DownloadOptions(selection: RenditionSelection()))
        let title = try #require(try await vault.titles.summary(of: url)?.title)
        #expect(title.isComplete && title.resources == 3 && title.missing.isEmpty)
        let folder = try TemporaryFolder()
        try await vault.transfer.export(MediaReference(url), to: folder.path + "/film") { _ in }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/film").sorted()
        #expect(names == ["1-1.m4s", "1-2.m4s", "manifest.mpd"])
        await vault.close()
    }

    @Test(
        "Another segment that is not there is missing, and so is the last one that its origin refuses otherwise",
        arguments: [("/2.m4s", 404), ("/3.m4s", 403)])
    func missing(path: String, status: Int) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 1))
        fixture.origin.answer { Self.answer(to: $0, gone: [path: status]) }
        let (vault, url) = (try await fixture.open(), fixture.origin.url("/manifest.mpd"))
        await #expect(throws: VaultError.self) {
            try await TitleFixture.download(url, into: vault, DownloadOptions(selection: RenditionSelection()))
        }
        #expect(try await vault.titles.summary(of: url)?.title?.isComplete == false)
        await vault.close()
    }

    @Test("A last segment that is there belongs to the title")
    func present() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 1))
        fixture.origin.answer { Self.answer(to: $0, gone: [:]) }
        let (vault, url) = (try await fixture.open(), fixture.origin.url("/manifest.mpd"))
        try await TitleFixture.download(url, into: vault, DownloadOptions(selection: RenditionSelection()))
        #expect(try await vault.titles.summary(of: url)?.title?.resources == 4)
        await vault.close()
    }
}
