import Foundation
import OriginTestSupport
import Testing
import VaultManifest
import VaultModel
import VaultTestSupport

@testable import MediaVault

@Suite("export writes a title as a folder that plays by itself, or nothing", .timeLimit(.minutes(2)))
struct TitleExportTests {
    private static let segment: Int64 = 40_000
    private static let hls = """
        #EXTM3U
        #EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=854x480
        low/list.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=4000000,RESOLUTION=1920x1080
        high/list.m3u8

        """
    private static let list = """
        #EXTM3U
        #EXT-X-MAP:URI="../../init.mp4"
        #EXTINF:4,
        1.m4s?token=secret
        #EXTINF:4,
        2.m4s
        #EXT-X-ENDLIST

        """
    private static let dash = """
        <MPD type="static" mediaPresentationDuration="PT8S"><Period><AdaptationSet mimeType="video/mp4">\
        <SegmentTemplate media="$RepresentationID$/$Number$.m4s" initialization="$RepresentationID$/init.mp4" \
        duration="4"/><Representation id="low" height="480" bandwidth="8"/>\
        <Representation id="high" height="1080" bandwidth="9"/></AdaptationSet></Period></MPD>
        """

    private static func seed(_ target: String) -> UInt64 { UInt64(target.utf8.reduce(0) { $0 * 31 % 9973 + Int($1) }) }

    private static func answer(to request: ScriptedRequest) -> ScriptedAnswer {
        let path = String(request.target.prefix { $0 != "?" })
        let text: String? =
            path.hasSuffix(".mpd") ? dash : path.hasSuffix("/master.m3u8") ? hls : path.hasSuffix(".m3u8") ? list : nil
        guard let text else {
            return ScriptedResource(seed: seed(path), length: segment, contentType: "video/mp4").answer(to: request)
        }
        let bytes = Array(text.utf8)
        let type = path.hasSuffix(".mpd") ? "application/dash+xml" : "application/vnd.apple.mpegurl"
        return ScriptedAnswer(
            200, fields: ["Content-Type": type, "Content-Length": "\(bytes.count)", "ETag": "\"\(bytes.count)\""],
            body: request.method == "GET" ? [.bytes(bytes)] : [])
    }

    /// A vault that holds the lower quality of a title.
    ///
    /// - Parameter played: the part that was played before, and is therefore a resource of its own.
    private static func filled(
        _ name: String, played: String? = nil
    ) async throws -> (VaultFixture, Vault, MediaURL) {
        let fixture = try await VaultFixture(ScriptedResource(length: 1))
        fixture.origin.answer { answer(to: $0) }
        let (vault, url) = (try await fixture.open(), fixture.origin.url("/films/one/" + name))
        if let played { for try await _ in try await vault.read(fixture.origin.url("/films/one/" + played)) {} }
        let options = DownloadOptions(selection: RenditionSelection(video: .height(480)))
        for try await _ in vault.download(url, options: options) {}
        return (fixture, vault, url)
    }

    @Test(
        "The folder has the held renditions, with numbers for names, and the bytes of the origin",
        arguments: [
            ("master.m3u8", ["1.m3u8", "2.mp4", "3.m4s", "4.m4s", "index.m3u8"]),
            ("manifest.mpd", ["1.mp4", "2-1.m4s", "2-2.m4s", "manifest.mpd"]),
        ])
    func complete(name: String, expected: [String]) async throws {
        let (fixture, vault, url) = try await Self.filled(name)
        let folder = try TemporaryFolder()
        let target = folder.path + "/film"
        let asked = fixture.origin.exchanges.count
        var last: ExportProgress?
        try await vault.transfer.export(MediaReference(url), to: target) { last = $0 }
        #expect(fixture.origin.exchanges.count == asked, "nothing is requested")
        let names = try FileManager.default.contentsOfDirectory(atPath: target).sorted()
        #expect(names == expected)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["film"])
        let contents = try names.map { Array(try Data(contentsOf: URL(filePath: target + "/" + $0))) }
        #expect(last?.written == last?.total && last?.written == contents.reduce(0) { $0 + Int64($1.count) })
        let prefix = name.hasSuffix("mpd") ? "/films/one/low/" : "/films/one/low/"
        let first = ScriptedResource(seed: Self.seed(prefix + "1.m4s"), length: Self.segment).media
        let place = try #require(names.firstIndex(of: name.hasSuffix("mpd") ? "2-1.m4s" : "3.m4s"))
        #expect(first.matches(contents[place], at: 0) && contents[place].count == Self.segment)
        let texts = zip(names, contents).filter { $0.0.hasSuffix("m3u8") || $0.0.hasSuffix("mpd") }
            .map { String(decoding: $0.1, as: UTF8.self) }.joined()
        for word in ["secret", "http", "high", "1080", "low/"] { #expect(!texts.contains(word), "\(word)") }
        await vault.close()
    }

    @Test(
        "What fetch completes, export exports, whatever else the playlist names",
        arguments: [
            #"#EXT-X-DATERANGE:ID="a",CLASS="com.apple.hls.interstitial",X-ASSET-URI="none/ad.m3u8""#,
            "#EXT-X-GAP\n#EXTINF:4,\nnone/gap.ts", #"#EXT-X-PART:DURATION=1,URI="none/part.ts""#,
            #"#EXT-X-RENDITION-REPORT:URI="none/other.m3u8",LAST-MSN=1"#,
            #"#EXT-X-PRELOAD-HINT:TYPE=PART,URI="none/part.ts""#, "#EXT-X-PREFETCH:none/next.ts",
            #"#EXT-X-KEY:METHOD=SAMPLE-AES,URI="none/licence",KEYFORMAT="com.microsoft.playready""#,
            #"#EXT-X-KEY:METHOD=NONE,URI="none/key""#, "none/remark",
        ])
    func completed(line: String) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 1))
        let text = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n\(line)\n#EXTINF:4,\n1.ts\n#EXT-X-ENDLIST\n"
        fixture.origin.answer { request in
            if request.target.hasPrefix("/none") { return ScriptedAnswer(404, fields: ["Content-Length": "0"]) }
            return request.target == "/one.m3u8"
                ? ScriptedAnswer(
                    200,
                    fields: [
                        "Content-Type": "application/vnd.apple.mpegurl", "Content-Length": "\(text.utf8.count)",
                        "ETag": "\"one\"",
                    ], body: request.method == "GET" ? [.bytes(Array(text.utf8))] : [])
                : ScriptedResource(length: Self.segment, contentType: "video/mp2t").answer(to: request)
        }
        let (vault, url) = (try await fixture.open(), fixture.origin.url("/one.m3u8"))
        try await TitleFixture.download(url, into: vault, DownloadOptions(selection: RenditionSelection()))
        #expect(try await vault.titles.summary(of: url)?.title?.isComplete == true)
        let folder = try TemporaryFolder()
        try await vault.transfer.export(MediaReference(url), to: folder.path + "/film")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/film").sorted()
        let bytes = try Data(contentsOf: URL(filePath: folder.path + "/film/index.m3u8"))
        let index = String(decoding: bytes, as: UTF8.self)
        #expect(index.contains("\n\(names.first { $0 == "2.ts" } ?? "1.ts")\n#EXT-X-ENDLIST"), "\(index)")
        #expect(!index.contains("none") && !index.contains("refused"), "\(index)")
        await vault.close()
    }

    private let media = ScriptedResource(length: Self.segment, contentType: "video/mp4")

    /// Returns a vault that has fetched a title whose list names parts of one file.
    private func list(_ parts: String) async throws -> (vault: Vault, url: MediaURL, fixture: VaultFixture) {
        let fixture = try await VaultFixture(ScriptedResource(length: 1))
        let text = """
            <MPD type="static" mediaPresentationDuration="PT4S"><Period><AdaptationSet mimeType="video/mp4">\
            <Representation id="v" bandwidth="8"><BaseURL>all.mp4</BaseURL><SegmentList duration="4">\
            <Initialization range="0-99"/>\(parts)</SegmentList></Representation></AdaptationSet></Period></MPD>
            """
        let media = media
        fixture.origin.answer { request in
            request.target == "/one.mpd"
                ? ScriptedAnswer(
                    200,
                    fields: [
                        "Content-Type": "application/dash+xml", "Content-Length": "\(text.utf8.count)",
                        "ETag": "\"one\"",
                    ], body: request.method == "GET" ? [.bytes(Array(text.utf8))] : []) : media.answer(to: request)
        }
        let (vault, url) = (try await fixture.open(), fixture.origin.url("/one.mpd"))
        try await TitleFixture.download(url, into: vault, DownloadOptions(selection: RenditionSelection()))
        return (vault, url, fixture)
    }

    @Test("A list that names the same bytes again and again is not copied, because that would fill the disk")
    func overlapping() async throws {
        let parts = (0..<40).map { "<SegmentURL mediaRange=\"\($0)-39999\"/>" }.joined()
        let (vault, url, fixture) = try await list(parts)
        let folder = try TemporaryFolder()
        let error = await #expect(throws: VaultError.self) {
            try await vault.transfer.export(MediaReference(url), to: folder.path + "/film") { _ in }
        }
        #expect(error?.code == .invalidResponse)
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/film"))
        await vault.close()
        withExtendedLifetime(fixture) {}
    }

    @Test("The ranges that a list names are files of their own, with the bytes of the origin")
    func ranges() async throws {
        let (vault, url, fixture) = try await list(
            #"<SegmentURL mediaRange="100-29999"/><SegmentURL mediaRange="30000-99999"/>"#)
        defer { withExtendedLifetime(fixture) {} }
        let folder = try TemporaryFolder()
        var last: ExportProgress?
        try await vault.transfer.export(MediaReference(url), to: folder.path + "/film") { last = $0 }
        #expect(last?.written == last?.total)
        let files = try ["1.mp4", "2.mp4", "3.mp4"].map {
            Array(try Data(contentsOf: URL(filePath: folder.path + "/film/" + $0)))
        }
        #expect(files.map(\.count) == [100, 29_900, 10_000], "the last range ends with the file")
        #expect(zip(files, [Int64(0), 100, 30_000]).allSatisfy { media.media.matches($0, at: $1) })
        await vault.close()
    }

    @Test("A title is exported into a folder that is named by a symbolic link")
    func throughLink() async throws {
        let (fixture, vault, url) = try await Self.filled("master.m3u8")
        defer { withExtendedLifetime(fixture) {} }
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path + "/real", withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/link", withDestinationPath: folder.path + "/real")
        try await vault.transfer.export(MediaReference(url), to: folder.path + "/link/film")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/real") == ["film"])
        await vault.close()
    }

    @Test("A title that is not complete becomes no folder, and an existing one is not replaced")
    func refused() async throws {
        let (fixture, vault, url) = try await Self.filled("master.m3u8", played: "low/2.m4s")
        let folder = try TemporaryFolder()
        let taken = await #expect(throws: VaultError.self) {
            try await vault.transfer.export(MediaReference(url), to: folder.path, replacing: true)
        }
        #expect(taken?.code == .invalidArgument && taken?.message.contains("folder") == true)
        try await vault.titles.remove(MediaReference(fixture.origin.url("/films/one/low/2.m4s")))
        let missing = await #expect(throws: VaultError.self) {
            try await vault.transfer.export(MediaReference(url), to: folder.path + "/film")
        }
        #expect(missing?.code == .notHeld)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        await vault.close()
    }
}
