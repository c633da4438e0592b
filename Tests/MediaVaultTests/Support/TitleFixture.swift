import MediaVault
import OriginTestSupport
import Testing
import VaultManifest
import VaultModel

/// An HLS title of two pictures and two languages, three segments each, at a scripted origin.
enum TitleFixture {
    static let segmentBytes: Int64 = 40_000
    static let segments = ["480", "1080", "en", "de"].flatMap { list in (1...3).map { "/\(list)-\($0).ts" } }

    static let master = """
        #EXTM3U
        #PLAYLIST:A film
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="E",LANGUAGE="en",DEFAULT=YES,URI="en.m3u8"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="D",LANGUAGE="de",URI="de.m3u8"
        #EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=854x480,AUDIO="a"
        480.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=4000000,RESOLUTION=1920x1080,AUDIO="a"
        1080.m3u8

        """

    static func list(_ name: Substring, isLive: Bool = false, more: String = "") -> String {
        "#EXTM3U\n#EXT-X-TARGETDURATION:4\n" + more
            + (1...3).map { "#EXTINF:4,\n\(name)-\($0).ts?token=secret\n" }.joined()
            + (isLive ? "" : "#EXT-X-ENDLIST\n")
    }

    /// Serves the title of two pictures and two languages, three segments each.
    static func answer(to request: ScriptedRequest, more: String = "", live: String? = nil) -> ScriptedAnswer {
        let path = request.target.prefix { $0 != "?" }
        let name = path.dropFirst().prefix { $0 != "." }
        if path == "/master.m3u8" { return text(master, request) }
        if path.hasSuffix(".m3u8") { return text(list(name, isLive: live == String(name), more: more), request) }
        guard segments.contains(String(path)) else { return ScriptedAnswer(404, fields: ["Content-Length": "0"]) }
        return ScriptedResource(seed: seed(of: path), length: segmentBytes, contentType: "video/mp2t")
            .answer(to: request)
    }

    static func seed(of path: some StringProtocol) -> UInt64 {
        UInt64(segments.firstIndex(of: String(path)) ?? 0) + 1
    }

    static func text(_ text: String, _ request: ScriptedRequest) -> ScriptedAnswer {
        .playlist(text, entityTag: "\(text.utf8.count)", isFresh: true, to: request)
    }

    static func fixture() async throws -> (fixture: VaultFixture, master: MediaURL) {
        let fixture = try await VaultFixture(ScriptedResource(length: 1))
        fixture.origin.answer { answer(to: $0) }
        return (fixture, fixture.origin.url("/master.m3u8"))
    }

    static let small = DownloadOptions(connections: 3, selection: RenditionSelection(video: .height(480)))

    @discardableResult
    static func download(
        _ url: MediaURL, into vault: Vault, _ options: DownloadOptions = small
    ) async throws -> DownloadProgress? {
        var last: DownloadProgress?
        for try await progress in vault.download(url, options: options) {
            #expect(progress.total.map { progress.held <= $0 } ?? true)
            last = progress
        }
        return last
    }
}
