import MediaVault
import Testing

@testable import VaultCommand

@Suite struct M3UPlaylistTests {
    @Test("A playlist has a line of information and a link for each title, and nothing else")
    func text() {
        let text = M3UPlaylist.text([
            M3UPlaylist.Entry(name: "A film", duration: 5400, link: "http://a.example/1"),
            M3UPlaylist.Entry(name: "Ton, Ä", duration: nil, link: "http://a.example/2"),
        ])
        #expect(
            text == "#EXTM3U\n#EXTINF:5400,A film\nhttp://a.example/1\n#EXTINF:-1,Ton, Ä\nhttp://a.example/2\n")
        #expect(M3UPlaylist.text([]) == "#EXTM3U\n")
    }

    @Test(
        "A name never begins another line, whatever it contains",
        arguments: [
            ("a\nhttp://evil.example/", "a http://evil.example/"), ("a\r\n#EXTINF:1,b", "a #EXTINF:1,b"),
            ("a\u{2028}b\u{2029}c\u{85}d\u{B}e\u{C}f", "a b c d e f"), ("  a \t b ", "a b"), ("\n", "-"), ("", "-"),
            ("\u{1B}[31mred", "[31mred"),
        ])
    func names(name: String, expected: String) {
        let text = M3UPlaylist.text([M3UPlaylist.Entry(name: name, duration: 1, link: "l")])
        #expect(text == "#EXTM3U\n#EXTINF:1,\(expected)\nl\n")
        #expect(text.unicodeScalars.count { $0.properties.generalCategory == .control } == 3)
    }

    @Test("At a terminal, a name cannot turn the direction of the text; a file has it as it is")
    func shown() {
        let entry = M3UPlaylist.Entry(name: "a\u{202E}b", duration: 1, link: "l")
        #expect(M3UPlaylist.text([entry], isShown: true) == "#EXTM3U\n#EXTINF:1,a?b\nl\n")
        #expect(M3UPlaylist.text([entry]) == "#EXTM3U\n#EXTINF:1,a\u{202E}b\nl\n")
    }

    @Test(
        "A title without a name is called by the last part of its URL, else by its host",
        arguments: [
            (nil, "http://a.example/b/Film%202.mp4?c", "Film 2.mp4"), (nil, "http://a.example/", "a.example"),
            (nil, "http://a.example/b/", "b"), (nil, "http://a.example/%zz", "%zz"),
            ("Film", "http://a.example/b", "Film"),
        ] as [(String?, String, String)])
    func called(name: String?, url: String, expected: String) throws {
        #expect(M3UPlaylist.name(name, try MediaURL(url)) == expected)
    }
}
