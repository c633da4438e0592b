import Testing
import VaultModel

@Suite("Media type")
struct MediaTypeTests {
    @Test(
        "A media extension gives the type, in any case",
        arguments: [
            ("/film.mp4", "video/mp4"), ("/a/b.c/FILM.MP4", "video/mp4"), ("/song.mp3", "audio/mpeg"),
            ("/x.tar.webm", "video/webm"),
            ("/live/index.m3u8", "application/vnd.apple.mpegurl"), ("/.mp4", "video/mp4"),
            ("film.mkv", "video/x-matroska"),
        ])
    func known(path: String, type: String) {
        #expect(MediaType.guess(path: path) == type)
    }

    @Test(
        "Any other path gives no type",
        arguments: [
            "", "/", "/film", "/film.", "/film.mp4.html", "/mp4", "/a.mp4/film", "/film.mp4x", "/film.mp4%00", "//",
        ])
    func unknown(path: String) {
        #expect(MediaType.guess(path: path) == nil)
    }

    @Test(
        "A single media type is read unchanged, with its parameters (RFC 9110 §8.3.1)",
        arguments: [
            "video/mp4", "application/dash+xml", "text/html;charset=utf-8", "video/mp4 ; codecs=\"avc1, mp4a\"",
            "a/b;;c=d;", "x-y!#$%&*+-.^_`|~/1", "a/b;c=\"\"", "a/b;c=\"\\\"\"",
        ])
    func one(text: String) {
        #expect(MediaType.one(" \(text)\t") == text)
    }

    @Test(
        "Any other text is refused",
        arguments: [
            "", "video", "video/", "/mp4", "video/mp4, text/html", "video/mp4,", ",video/mp4", "video/mp4 text/html",
            "video/mp4;a", "video/mp4;a=", "video/mp4;=b", "video/mp4;a=b c", "video/mp4;a=\"b", "video/mp4;a=\"b\"c",
            "video/mp4;a=\"\\", "video/mp4;a=\"\u{7F}\"", "video /mp4", "video/ mp4", "vidéo/mp4", "video/mp4;a=\"é\"",
            "multipart/x-mixed-replace; boundary=a", "Multipart/mixed", "video/mp4;a='b", "video/mp4;a=\"\t\"",
            "a/" + String(repeating: "b", count: 1023),
        ])
    func none(text: String) {
        #expect(MediaType.one(text) == nil)
    }

    @Test(
        "Known audio, video and raster image types are distinguished from types that may be a page",
        arguments: [
            ("video/mp4", true), ("Audio/MPEG; x=y", true), ("image/png", true), ("image/svg+xml", false),
            ("text/html", false), ("video/html", false), ("audio/mpegurl", false), ("application/octet-stream", false),
            ("multipart/x-mixed-replace", false), ("", false),
        ])
    func knownMedia(type: String, isKnown: Bool) {
        #expect(MediaType.isKnownMedia(type) == isKnown)
    }

    @Test(
        "A viewer gets a type with its codecs, and no other parameter",
        arguments: [
            ("video/mp4", "video/mp4"), ("video/mp4;name=a", "video/mp4"),
            (
                "video/mp4; charset=x; Codecs=\"avc1.4d401e, mp4a.40.2\"; host=a.example",
                "video/mp4; codecs=\"avc1.4d401e, mp4a.40.2\""
            ),
            ("audio/ogg;codecs=opus", "audio/ogg; codecs=\"opus\""), ("audio/ogg; codecs=\"\"", "audio/ogg"),
            ("video/mp4; codecs=\"a;host=b\"", "video/mp4; codecs=\"a\""),
        ])
    func withoutOrigin(_ type: String, _ expected: String) {
        #expect(MediaType.withoutOrigin(type) == expected)
    }
}
