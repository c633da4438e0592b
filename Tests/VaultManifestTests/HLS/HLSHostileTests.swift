import Testing
import VaultManifest
import VaultModel

/// Playlists made to lead a player around the vault, or to exhaust it.
@Suite("Hostile HLS playlists")
struct HLSHostileTests {
    private let refused = ManifestTarget.refusal

    @Test(
        "What a player might open itself is refused, as a segment, a key and a variant",
        arguments: [
            "file:///etc/passwd", "FILE:/etc/passwd", "ftp://a.example/x.ts", "concat:http://a.example/1|file:///x",
            "crypto+http://a.example/x", "subfile:x", "javascript:alert(1)", "pipe:0", "C:\\x.ts", "\\\\server\\x.ts",
            "..\\x.ts", "http:x", "http://", "https:///x", "http://a.example:99999/x", "http://a b.example/",
            "https://a.example/\u{7F}", "{$unknown}/x.ts", "//",
        ])
    func refusedURIs(uri: String) throws {
        let led = try HLSPlaylist(
            "#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"\(uri)\"\n#EXTINF:6,\n\(uri)\n#EXT-X-STREAM-INF:X=1\n\(uri)\n"
        ).led
        #expect(
            led.text == "#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"\(refused)\"\n#EXTINF:6,\n\(refused)\n"
                + "#EXT-X-STREAM-INF:X=1\n\(refused)\n")
        #expect(led.references.isEmpty)
    }

    @Test("A playlist within a URI is refused: nobody would lead the URIs in it through the vault")
    func playlistInURI() throws {
        let data = "data:application/vnd.apple.mpegurl,%23EXTM3U%0Ahttp://evil.example/x.ts"
        let led = try HLSPlaylist("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n\(data)\n#EXT-X-MEDIA:URI=\"\(data)\"\n").led
        #expect(led.text == "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n\(refused)\n#EXT-X-MEDIA:URI=\"\(refused)\"\n")
    }

    @Test("A segment within a URI is refused: a player might find a playlist in it")
    func segmentInURI() throws {
        let data = "data:video/mp2t;base64,I0VYVE0zVQpodHRwOi8vZXZpbC5leGFtcGxlL3gudHM="
        #expect(try HLSPlaylist("#EXTM3U\n#EXTINF:1,\n\(data)\n").led.text == "#EXTM3U\n#EXTINF:1,\n\(refused)\n")
    }

    @Test("Logos and guides of a list of channels are led through the vault, however they are quoted")
    func channels() throws {
        let led = try HLSPlaylist(
            """
            #EXTM3U url-tvg="http://a.example/g.xml,http://b.example/g.xml" x-tvg-url=http://c.example/g.xml
            #EXTINF:-1 " tvg-logo="http://d.example/l.png" radio-logo='//e.example/l.png' x=http://f.example/x,Title
            t.ts
            #EXTINF:-1 tvg-logo="file:///etc/passwd" tvg-id="a:b" tvg-logo="http://g.example/l.png
            u.ts

            """
        ).led
        #expect(
            led.text == """
                #EXTM3U url-tvg="/media/led/1,/media/led/2" x-tvg-url=/media/led/3
                #EXTINF:-1 " tvg-logo="/media/led/4" radio-logo='/media/led/5' x=/media/led/6,Title
                /media/led/7
                #EXTINF:-1 tvg-logo="/refused" tvg-id="a:b" tvg-logo="/media/led/8
                /media/led/9

                """)
        #expect(led.references.filter { $0.role == .data }.count == 7)
    }

    @Test("A title that is a URL stays: nobody requests it")
    func titles() throws {
        let text = "#EXTM3U\n#EXTINF:6,http://radio.example/\n"
        #expect(try HLSPlaylist(text).led.text == text)
    }

    @Test("Segments to be requested in advance are led through the vault, and preloaded lists are refused")
    func preloads() throws {
        let led = try HLSPlaylist(
            "#EXTM3U\n#EXT-X-PREFETCH:http://a.example/1.ts\n#EXT-X-TWITCH-PREFETCH: http://a.example/2.ts\n"
                + "#EXT-X-DATERANGE:CLASS=\"com.apple.hls.preload\",X-URI=\"http://a.example/list.json\"\n"
        ).led
        #expect(
            led.text == "#EXTM3U\n#EXT-X-PREFETCH:/media/led/1\n#EXT-X-TWITCH-PREFETCH: /media/led/2\n"
                + "#EXT-X-DATERANGE:CLASS=\"com.apple.hls.preload\",X-URI=\"\(refused)\"\n")
    }

    @Test("A playlist within the URI of a segment is refused, too: some players look into it")
    func playlistInSegment() throws {
        for data in [
            "data:text/plain;base64,I0VYVE0zVQo=", "data:,%23EXTM3U%0Ahttp://evil.example/x.ts", "data:,#EXTM3U",
            "data:video/mp4;base64,%%%", "data:;base64,PE1QRC8+", "data:nothing",
        ] {
            let led = try HLSPlaylist("#EXTM3U\n#EXTINF:1,\n\(data)\n").led
            #expect(led.text == "#EXTM3U\n#EXTINF:1,\n\(refused)\n", "\(data)")
        }
    }

    @Test("A key at an intranet address is a reference like any other: whoever requests it decides on the address")
    func intranet() throws {
        let keys = ["http://169.254.169.254/latest", "http://127.0.0.1:22/", "http://[::1]/", "http://2130706433/"]
        for key in keys {
            let led = try HLSPlaylist("#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"\(key)\"\n").led
            #expect(led.urls == [key])
            #expect(led.references.map(\.role) == [.key])
        }
    }

    @Test("A playlist that names itself is a reference to a playlist, and nothing follows it")
    func selfReference() throws {
        let url = "https://origin.example/films/one/index.m3u8"
        let led = try HLSPlaylist("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nindex.m3u8\n#EXTINF:6,\n./index.m3u8\n").led
        #expect(led.urls == [url, url])
        #expect(led.references.allSatisfy { $0.role == .playlist })
    }

    @Test("References cannot leave the root of a host, and keep the tokens of their query")
    func resolution() throws {
        let playlist = try HLSPlaylist("#EXTM3U\n../../../../../a.ts\n%2e%2E/b.ts\nc.ts?token=x%2F..&exp=1#t=9\n?s=1\n")
        #expect(
            playlist.led.urls == [
                "https://origin.example/a.ts", "https://origin.example/films/b.ts",
                "https://origin.example/films/one/c.ts?token=x%2F..&exp=1",
                "https://origin.example/films/one/index.m3u8?s=1",
            ])
    }

    @Test(
        "A list of attributes that players read differently is refused with its line",
        arguments: [
            #"METHOD=AES-128,URI="k.bin"#, #"URI="a",URI="b""#, #"URI="a",uri="b""#, "URI=a b", #"URI= "a""#,
            #"URI=a"b""#,
            #"X="\",Y=",URI="http://evil.example/",Z=""#, #"NAME=a URI="http://evil.example/""#,
            #"X="a"URI="http://evil.example/""#, #"junk,URI="http://evil.example/""#, #"X"Y=1,URI="a""#,
            (0..<70).map { "A\($0)=1" }.joined(separator: ",") + #",URI="a""#,
        ])
    func ambiguousAttributes(list: String) {
        for tag in ["KEY", "MAP", "MEDIA", "PART", "SESSION-DATA", "I-FRAME-STREAM-INF"] {
            #expect(throws: ManifestError.malformed(line: 3, .attributes), "\(tag)") {
                try HLSPlaylist("#EXTM3U\n\n#EXT-X-\(tag):\(list)\n")
            }
        }
        let interstitial = list.replacing("URI", with: "X-ASSET-URI").replacing("uri", with: "x-asset-uri")
        #expect(throws: ManifestError.malformed(line: 2, .attributes)) {
            try HLSPlaylist("#EXTM3U\n#EXT-X-DATERANGE:\(interstitial)\n")
        }
    }

    @Test("A malformed list that mentions no URI stays: there is nothing to lead anywhere")
    func harmlessAttributes() throws {
        let text = "#EXTM3U\n#EXT-X-DATERANGE:ID=a b,CUE=\"x\n#EXT-X-STREAM-INF:BANDWIDTH = 9 ,NAME=\"a\nv\n"
        #expect(try HLSPlaylist(text).text == text)
    }

    @Test("A tag within another line is dropped with that line: some players find it")
    func hiddenTags() throws {
        let hidden = [
            "##EXT-X-KEY:METHOD=AES-128,URI=\"http://evil.example/\"",
            "# #EXT-X-MEDIA:TYPE=AUDIO,URI=\"http://evil.example/\"",
            "#EXTINF:6,#EXT-X-MAP:URI=\"http://evil.example/\"", "data:,#EXT-X-MEDIA:URI=http://evil.example/",
            "a.ts?#EXT-X-SESSION-KEY:URI=\"http://evil.example/\"",
        ]
        for line in hidden {
            #expect(try HLSPlaylist("#EXTM3U\n\(line)\r\n#end\n").led.text == "#EXTM3U\n#end\n")
        }
    }

    @Test("A lone carriage return ends a line, as it does for some players")
    func loneCarriageReturn() throws {
        let led = try HLSPlaylist("#EXTM3U\n# comment\rhttp://evil.example/x.ts\n").led
        #expect(led.text == "#EXTM3U\n# comment\r/media/led/1\n")
    }

    @Test(
        "A URI with a control character is refused with its line, and so is such a first line",
        arguments: [
            ("#EXTM3U\n\u{B}\n", 2), ("#EXTM3U\r\n#\0\r\na\u{C}b\n", 3), ("#EXTM3U\0\na.ts\n", 1),
        ])
    func controlCharacters(text: String, line: Int) {
        #expect(throws: ManifestError.notText(line: line)) { try HLSPlaylist(text) }
    }

    @Test(
        "What is no text in a title, a comment or a tag is replaced, so that it ends a line for nobody",
        arguments: [
            [0x00], [0x0B], [0x0C], [0x1B], [0xFC], [0x85], [0xC2, 0x85], [0xE2, 0x80, 0xA8], [0xE2, 0x80, 0xA9],
            [0xFF],
        ] as [[UInt8]])
    func mended(bytes: [UInt8]) throws {
        let url = try MediaURL("https://origin.example/films/one/index.m3u8")
        for line in [
            "#EXTINF:6,M*ller", "# *http://evil.example/x.ts", " #EXT-X-MEDIA:TYPE=AUDIO,NAME=\"M*\",URI=\"m\"",
        ] {
            let parts = line.split(separator: "*").map { Array($0.utf8) }
            let text = Array("#EXTM3U\n".utf8) + parts[0] + bytes + parts[1] + Array("\r\nü.ts\n".utf8)
            let led = try HLSPlaylist(text, url: url).led
            #expect(led.urls.last == "https://origin.example/films/one/%C3%BC.ts")
            #expect(led.text.contains("M\u{FFFD}") || led.text.contains("# \u{FFFD}http://evil.example/x.ts\r\n"))
            #expect(led.text.split(whereSeparator: \.isNewline).count == 3)
        }
    }

    @Test("A URI within a tag that is no text is refused: players differ in what they request")
    func unreadableURI() throws {
        let url = try MediaURL("https://origin.example/index.m3u8")
        let text = Array("#EXTM3U\n#EXT-X-MAP:URI=\"".utf8) + [0xFC] + Array(".mp4\"\n#EXTINF:6,\na.ts\n".utf8)
        let playlist = try HLSPlaylist(text, url: url)
        #expect(playlist.led.text == "#EXTM3U\n#EXT-X-MAP:URI=\"\(refused)\"\n#EXTINF:6,\n/media/led/1\n")
        #expect(Manifest.hls(playlist).refusals.map(\.line) == [2])
    }

    @Test("Replacing what is no text takes no more than the bound on bytes")
    func mendedLimit() throws {
        var limits = ManifestLimits()
        limits.maxBytes = 100
        let url = try MediaURL("https://origin.example/index.m3u8")
        let bytes = Array("#EXTM3U\n#".utf8) + [UInt8](repeating: 0xFF, count: 60)
        #expect(throws: ManifestError.tooLarge(limit: 100)) { try HLSPlaylist(bytes, url: url, limits: limits) }
    }

    @Test("Other encodings are refused")
    func encodings() throws {
        let url = try MediaURL("https://origin.example/index.m3u8")
        let latin = Array("#EXTM3U\n#EXTINF:6,\nM".utf8) + [0xFC] + Array("ller.ts\n".utf8)
        #expect(throws: ManifestError.notText(line: 3)) { try HLSPlaylist(latin, url: url) }
        let wide = "#EXTM3U\na.ts\n".utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
        #expect(throws: ManifestError.notText(line: 1)) { try HLSPlaylist(wide, url: url) }
        #expect(throws: ManifestError.notText(line: 1)) { try HLSPlaylist([0xFF, 0xFE] + wide, url: url) }
    }

    @Test("The line separators of Unicode in a URI are refused: a script sees two lines")
    func lineSeparators() {
        for separator in ["\u{2028}", "\u{2029}", "\u{85}"] {
            #expect(throws: ManifestError.malformed(line: 2, .lineSeparator)) {
                try HLSPlaylist("#EXTM3U\na.ts\(separator)http://evil.example/x.ts\n")
            }
        }
    }

    @Test(
        "What is no playlist is refused",
        arguments: [
            "", "\n\n", "<html>", " \n<?xml ?>", "{\"a\":1}", "[1]", "#EXT-X-ENDLIST\na.ts",
            "#EXTM3U#EXT-X-KEY:URI=\"a\"\n",
        ])
    func noPlaylist(text: String) {
        #expect(throws: ManifestError.notAManifest) { try HLSPlaylist(text) }
    }

    @Test("Bytes, lines, references and the text of references are bounded")
    func limits() throws {
        var limits = ManifestLimits()
        (limits.maxBytes, limits.maxLineBytes, limits.maxReferences, limits.maxURLBytes) = (200, 100, 5, 1000)
        func parse(_ text: String) throws { _ = try HLSPlaylist("#EXTM3U\n\(text)", limits: limits) }
        try parse(String(repeating: "a", count: 100))
        #expect(throws: ManifestError.lineTooLong(line: 2, limit: 100)) {
            try parse(String(repeating: "a", count: 101))
        }
        #expect(throws: ManifestError.tooLarge(limit: 200)) { try parse(String(repeating: "a\n", count: 97)) }
        for line in ["a", "f:", "#EXT-X-STREAM-INF:", "##EXT-X-", "#EXT-X-MEDIA:"] {
            try parse(String(repeating: "\(line)\n", count: 5))
            #expect(throws: ManifestError.tooManyReferences(limit: 5), "\(line)") {
                try parse(String(repeating: "\(line)\n", count: 6))
            }
        }
        let far = "https://origin.example/" + String(repeating: "x", count: 300) + "/"
        #expect(throws: ManifestError.tooLarge(limit: 1000)) {
            try HLSPlaylist("#EXTM3U\na\nb\nc\nd\n", at: far, limits: limits)
        }
    }

    @Test("A line of a gigabyte costs no more than the bound on bytes")
    func gigabyte() throws {
        let standard = ManifestLimits.standard
        #expect(standard.maxBytes == 32 << 20 && standard.maxLineBytes == 64 << 10)
        let line = [UInt8](repeating: UInt8(ascii: "a"), count: standard.maxBytes + 1)
        let url = try MediaURL("https://origin.example/index.m3u8")
        #expect(throws: ManifestError.tooLarge(limit: standard.maxBytes)) { try HLSPlaylist(line, url: url) }
    }

    @Test("Numbers of 400 digits are no numbers, and stay as they stand")
    func longNumbers() throws {
        let digits = String(repeating: "9", count: 400)
        let text = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=\(digits),RESOLUTION=\(digits)x\(digits)\nv.m3u8\n"
        let playlist = try HLSPlaylist(text)
        #expect(playlist.text == text)
        #expect(playlist.renditions.map(\.bandwidth) == [nil])
        #expect(playlist.renditions.map(\.height) == [nil])
        #expect(
            try HLSPlaylist("#EXTM3U\n#EXTINF:\(digits),\na.ts\n#EXTINF:2.\(digits),\nb.ts\n").duration
                == .microseconds(2_999_999))
    }
}
