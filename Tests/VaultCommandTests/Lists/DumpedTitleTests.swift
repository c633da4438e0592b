import MediaVault
import Testing

@testable import VaultCommand

@Suite("A line of yt-dlp --dump-json")
struct DumpedTitleTests {
    private static func url(_ line: String) throws -> String { try DumpedTitle(Array(line.utf8)).url.absoluteString }

    @Test(
        "The media are the URL of the title, else those that have all of it",
        arguments: [
            (#"{"url": "https://a.example/v?t=1"}"#, "https://a.example/v?t=1"),
            (
                #"{"_type": "video", "url": "https://a.example/v", "duration": 12.5, "thumbnail": null}"#,
                "https://a.example/v"
            ),
            (#"{"url": "https://a.example/v", "duration": {"odd": true}, "thumbnail": 7}"#, "https://a.example/v"),
            (
                #"""
                {"url": "https://a.example/segments/", "manifest_url": "https://a.example/m.mpd",
                "protocol": "http_dash_segments"}
                """#,
                "https://a.example/m.mpd"
            ),
            (#"{"url": "https://a.example/m.m3u8", "protocol": "m3u8_native"}"#, "https://a.example/m.m3u8"),
            (
                #"""
                {"requested_formats": [{"url": "https://a.example/v", "acodec": "none"},
                {"url": "https://a.example/av", "acodec": "opus", "vcodec": "vp9"}]}
                """#,
                "https://a.example/av"
            ),
            (
                #"""
                {"requested_formats": [
                {"url": "https://a.example/v", "acodec": "none", "manifest_url": "https://a.example/m.m3u8"},
                {"url": "https://a.example/a", "vcodec": "none", "manifest_url": "https://a.example/m.m3u8"}]}
                """#,
                "https://a.example/m.m3u8"
            ),
            (#"{"webpage_url": "https://a.example/film.MP4?t=1", "ext": "mp4"}"#, "https://a.example/film.MP4?t=1"),
        ])
    func media(_ line: String, _ url: String) throws {
        #expect(try Self.url(line) == url)
    }

    @Test(
        "What names no media is refused with what to do, and nothing of it is repeated",
        arguments: [
            ("{", "not a line of yt-dlp"), (#"{"url": 7}"#, "not a line of yt-dlp"), ("{} {}", "not a line of yt-dlp"),
            ("{}", "yt-dlp names no media"),
            (#"{"_type": "playlist", "url": "https://SECRET.example"}"#, "leave out --flat-playlist"),
            (#"{"webpage_url": "https://a.example/watch?v=SECRET", "ext": "mp4"}"#, "yt-dlp names no media"),
            (#"{"webpage_url": "https://a.example/SECRET.html", "ext": "html"}"#, "yt-dlp names no media"),
            (#"{"url": "rtmp://a.example/SECRET"}"#, "cannot be fetched"),
            (
                #"""
                {"requested_formats": [{"url": "https://a.example/SECRET", "acodec": "none"},
                {"url": "https://a.example/a", "vcodec": "none"}]}
                """#,
                "files of their own"
            ),
            (#"{"url": "https://a.example/v", "http_headers": {"Cookie": "SECRET\r\nX: y"}}"#, "cannot be sent"),
            (#"{"url": "https://a.example/v", "http_headers": {"a b": "SECRET"}}"#, "cannot be sent"),
        ])
    func refused(_ line: String, _ words: String) throws {
        let error = try #require(throws: VaultError.self) { try DumpedTitle(Array(line.utf8)) }
        #expect(error.code == .invalidURL)
        #expect(error.message.contains(words), "\(error.message)")
        #expect(!error.message.contains("SECRET"))
    }

    @Test("The title becomes the name, and the request fields are those of the media, without those of the vault")
    func fields() throws {
        let line = """
            {"url": "https://a.example/v", "title": "A film", "http_headers": {"User-Agent": "browser", "Cookie": "a=b",
            "Accept-Encoding": "gzip", "Range": "bytes=7-", "X": null}}
            """
        let title = try DumpedTitle(Array(line.utf8))
        #expect(title.title == "A film")
        #expect(title.fields == ["Cookie": "a=b", "User-Agent": "browser"])
        let format = """
            {"http_headers": {"Cookie": "page"}, "requested_formats":
            [{"url": "https://b.example/v", "http_headers": {"Cookie": "format"}}]}
            """
        #expect(try DumpedTitle(Array(format.utf8)).fields == ["Cookie": "format"])
        #expect(try DumpedTitle(Array(#"{"url": "https://a.example/v", "title": ""}"#.utf8)).title == nil)
    }
}
