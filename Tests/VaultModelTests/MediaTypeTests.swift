import Testing
import VaultModel

@Suite("Media type")
struct MediaTypeTests {
    @Test(
        "A media extension tells the type, whatever its case",
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
        "Any other path tells nothing",
        arguments: [
            "", "/", "/film", "/film.", "/film.mp4.html", "/mp4", "/a.mp4/film", "/film.mp4x", "/film.mp4%00", "//",
        ])
    func unknown(path: String) {
        #expect(MediaType.guess(path: path) == nil)
    }
}
