import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultManifest
import VaultModel

@Suite("What an origin sends in place of a manifest while it is ill", .timeLimit(.minutes(5)))
struct BrokenManifestTests {
    /// A text with status 200, and its type.
    struct Broken: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let type: String
        let text: String

        init(_ name: String, _ type: String, _ text: String) {
            (testDescription, self.type, self.text) = (name, type, text)
        }

        private static let hls = "application/vnd.apple.mpegurl"
        private static let s3 = """
            <?xml version="1.0" encoding="UTF-8"?>
            <Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>
            """
        static let all = [
            Broken("empty", hls, ""), Broken("a line break", hls, "\n"),
            Broken("its first line alone", hls, "#EXTM3U\n"),
            Broken(
                "cut behind a line", hls,
                "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n480-1.ts?token=secret\n"),
            Broken("cut in a line", hls, String(TitleFixture.master.prefix(60))),
            Broken("JSON", "application/json", #"{"error":"token expired"}"#),
            Broken("JSON as a playlist", hls, #"{"error":"token expired"}"#),
            Broken("an error of S3", "application/xml", s3), Broken("an error of S3 as a playlist", hls, s3),
            Broken("a text", "text/plain", "Error: token expired"),
            Broken("a text as a playlist", hls, "Error: token expired\n"),
            Broken("a cut MPD", "application/dash+xml", #"<?xml version="1.0"?><MPD type="static"><Period><Adap"#),
        ]

        /// It is a title where none is held.
        static let cutOfTypeVOD = Broken(
            "cut behind a line, of type VOD", hls,
            "#EXTM3U\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n480-1.ts?token=secret\n")

        func answer(to request: ScriptedRequest) -> ScriptedAnswer {
            ScriptedAnswer(
                200,
                fields: [
                    "Content-Type": type, "Content-Length": "\(text.utf8.count)", "ETag": "\"ill\"",
                    "Cache-Control": "max-age=86400",
                ], body: request.method == "GET" ? [.bytes(Array(text.utf8))] : [])
        }
    }

    /// Serves the title with playlists that are never fresh.
    private static func answer(to request: ScriptedRequest, version: String = "") -> ScriptedAnswer {
        var answer = TitleFixture.answer(to: request)
        guard request.target.hasSuffix(".m3u8") else { return answer }
        answer.set("Cache-Control", "no-cache")
        answer.set("ETag", "\"well\(version)\"")
        if request.fields["If-None-Match"] == "\"well\(version)\"" {
            answer.status = 304
            answer.body = []
        }
        return answer
    }

    private static func expectWhole(_ url: MediaURL, in vault: Vault) async throws {
        #expect(try await vault.titles.summary(of: url)?.title?.isComplete == true)
    }

    @Test("It is no title, and the next fetch asks the origin again", arguments: Broken.all)
    func first(_ broken: Broken) async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        fixture.origin.answer { broken.answer(to: $0) }
        let vault = try await fixture.open()
        let error = await #expect(throws: VaultError.self) { try await TitleFixture.download(url, into: vault) }
        #expect(
            error.map { [.invalidResponse, .notMedia, .invalidArgument].contains($0.code) } == true,
            "\(String(describing: error))")
        #expect(try await vault.titles.summary(of: url) == nil)
        fixture.origin.answer { TitleFixture.answer(to: $0) }
        try await TitleFixture.download(url, into: vault)
        try await Self.expectWhole(url, in: vault)
        await vault.close()
    }

    @Test("A media playlist that was ill is asked for again", arguments: Broken.all)
    func mediaPlaylist(_ broken: Broken) async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        fixture.origin.answer {
            $0.target.hasPrefix("/480.m3u8") ? broken.answer(to: $0) : TitleFixture.answer(to: $0)
        }
        let vault = try await fixture.open()
        await #expect(throws: VaultError.self) { try await TitleFixture.download(url, into: vault) }
        fixture.origin.answer { TitleFixture.answer(to: $0) }
        try await TitleFixture.download(url, into: vault)
        try await Self.expectWhole(url, in: vault)
        await vault.close()
    }

    @Test(
        "It replaces no title that is held, which gives way to the next that is one",
        arguments: Broken.all + [Broken.cutOfTypeVOD])
    func held(_ broken: Broken) async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        fixture.origin.answer { Self.answer(to: $0) }
        let vault = try await fixture.open()
        try await TitleFixture.download(url, into: vault)
        try await Self.expectWhole(url, in: vault)
        fixture.origin.answer { $0.target.hasSuffix(".m3u8") ? broken.answer(to: $0) : Self.answer(to: $0) }
        let asked = fixture.origin.exchanges.count
        _ = try? await TitleFixture.download(url, into: vault)
        #expect(fixture.origin.exchanges.count > asked, "premise: the origin was asked")
        try await Self.expectWhole(url, in: vault)
        await vault.close()
        let offline = try await fixture.open(mode: .offline)
        try await Self.expectWhole(url, in: offline)
        var text: [UInt8] = []
        for try await bytes in try await offline.read(url) { text += bytes }
        #expect(String(decoding: text, as: UTF8.self) == TitleFixture.master)
        await offline.close()
        fixture.origin.answer { Self.answer(to: $0, version: "again") }
        let later = try await fixture.open()
        try await TitleFixture.download(url, into: later)
        try await Self.expectWhole(url, in: later)
        #expect(try await later.titles.summary(of: url)?.etag == "\"wellagain\"")
        await later.close()
    }

    /// The reference that a player is refused, its playlist, and its line.
    struct Refused: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let path: String
        let text: String
        let line: Int

        init(_ name: String, _ path: String, _ text: String, line: Int) {
            (testDescription, self.path, self.text, self.line) = (name, path, text, line)
        }

        private static let list = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n"
        private static let media = "#EXTINF:4,\n480-1.ts?token=secret\n"
        private static let end = "#EXT-X-ENDLIST\n"

        static let all = [
            Refused(
                "a key", "/480.m3u8", list + "#EXT-X-KEY:METHOD=AES-128,URI=\"ftp://a/k\"\n" + media + end, line: 3),
            Refused("an unknown variable", "/480.m3u8", list + media + "#EXTINF:4,\n{$nope}.ts\n" + end, line: 6),
            Refused("a scheme", "/480.m3u8", list + "#EXTINF:4,\nfile:///etc/passwd\n" + media + end, line: 4),
            Refused(
                "an initialization section", "/480.m3u8", list + "#EXT-X-MAP:URI=\"{$x}\"\n" + media + end, line: 3),
            Refused(
                "every variant", "/master.m3u8", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nftp://a/b.m3u8\n", line: 3),
        ]
    }

    @Test("A title of which players are refused something is not whole, and names the line", arguments: Refused.all)
    func refused(_ refused: Refused) async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        fixture.origin.answer { request in
            request.target.hasPrefix(refused.path)
                ? TitleFixture.text(refused.text, request) : TitleFixture.answer(to: request)
        }
        let vault = try await fixture.open()
        let error = await #expect(throws: VaultError.self) { try await TitleFixture.download(url, into: vault) }
        #expect(error?.code == .invalidResponse && error?.message.contains("line \(refused.line) of ") == true)
        let title = try #require(try await vault.titles.summary(of: url)?.title)
        #expect(!title.isComplete && title.missing == [error?.message ?? ""])
        await vault.close()
        let again = try await fixture.open(mode: .offline)
        #expect(try await again.titles.summary(of: url)?.title?.missing == title.missing, "it is recorded")
        await again.close()
    }

    @Test("One refused variant of two keeps no title from being whole")
    func refusedVariant() async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        fixture.origin.answer { request in
            guard request.target == "/master.m3u8" else { return TitleFixture.answer(to: request) }
            return TitleFixture.text(
                TitleFixture.master + "#EXT-X-STREAM-INF:BANDWIDTH=9\nftp://a/b.m3u8\n", request)
        }
        let vault = try await fixture.open()
        try await TitleFixture.download(url, into: vault)
        try await Self.expectWhole(url, in: vault)
        await vault.close()
    }

    @Test("A title says which of its parts are missing, and why, until they are there")
    func missing() async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        fixture.origin.answer { request in
            request.target.hasPrefix("/480-2.ts")
                ? ScriptedAnswer(404, fields: ["Content-Length": "0"]) : TitleFixture.answer(to: request)
        }
        let vault = try await fixture.open()
        await #expect(throws: VaultError.self) { try await TitleFixture.download(url, into: vault) }
        let missing = try #require(try await vault.titles.summary(of: url)?.title?.missing)
        #expect(missing.count == 1 && missing[0].contains("/480-2.ts") && missing[0].contains("404"))
        #expect(!missing[0].contains("secret"))
        fixture.origin.answer { TitleFixture.answer(to: $0) }
        try await TitleFixture.download(url, into: vault)
        #expect(try await vault.titles.summary(of: url)?.title?.missing == [])
        await vault.close()
    }
}
