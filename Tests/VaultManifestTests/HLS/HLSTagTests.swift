import Testing
import VaultManifest
import VaultModel

/// What each tag names, and how it is rewritten for the player.
@Suite("HLS tags")
struct HLSTagTests {
    /// A line, or some; what the player gets; and what belongs to the title.
    struct Row: CustomTestStringConvertible {
        let lines: String
        let led: String
        let names: [(role: ManifestReference.Role, url: String)]
        let belongs: Bool

        init(
            _ lines: String, _ led: String, _ names: [(role: ManifestReference.Role, url: String)],
            belongs: Bool = true
        ) {
            (self.lines, self.led, self.names, self.belongs) = (lines, led, names, belongs)
        }

        var testDescription: String { lines }
    }

    private static let one = "https://origin.example/films/one/"

    @Test(
        "A tag with a URI names a resource, and its URI is written anew",
        arguments: [
            Row("#EXTINF:6,\na.ts", "#EXTINF:6,\n/media/led/1", [(.segment, one + "a.ts")]),
            Row(
                "#EXT-X-STREAM-INF:BANDWIDTH=1\n# between\nv/v.m3u8",
                "#EXT-X-STREAM-INF:BANDWIDTH=1\n# between\n/media/led/1", [(.playlist, one + "v/v.m3u8")]),
            Row(
                "#EXT-X-STREAM-INF:BANDWIDTH=1\nv", "#EXT-X-STREAM-INF:BANDWIDTH=1\n/media/led/1",
                [(.playlist, one + "v")]),
            Row(
                "#EXT-X-I-FRAME-STREAM-INF:URI=\"i.m3u8\",BANDWIDTH=1",
                "#EXT-X-I-FRAME-STREAM-INF:URI=\"/media/led/1\",BANDWIDTH=1", [(.playlist, one + "i.m3u8")]),
            Row(
                "#EXT-X-IMAGE-STREAM-INF:URI=\"p.m3u8\"", "#EXT-X-IMAGE-STREAM-INF:URI=\"/media/led/1\"",
                [(.playlist, one + "p.m3u8")]),
            Row(
                "#EXT-X-MEDIA:TYPE=AUDIO,URI=\"/a.m3u8\",NAME=\"x, y\"",
                "#EXT-X-MEDIA:TYPE=AUDIO,URI=\"/media/led/1\",NAME=\"x, y\"",
                [(.playlist, "https://origin.example/a.m3u8")]),
            Row(
                "#EXT-X-KEY:METHOD=AES-128,URI=\"https://k.example/k?t=1\",IV=0x01",
                "#EXT-X-KEY:METHOD=AES-128,URI=\"/media/led/1\",IV=0x01", [(.key, "https://k.example/k?t=1")]),
            Row(
                "#EXT-X-KEY:METHOD=AES-128,URI=\"k\",KEYFORMAT=\"identity\"",
                "#EXT-X-KEY:METHOD=AES-128,URI=\"/media/led/1\",KEYFORMAT=\"identity\"", [(.key, one + "k")]),
            Row("#EXT-X-KEY:METHOD=NONE", "#EXT-X-KEY:METHOD=NONE", []),
            Row(
                "#EXT-X-SESSION-KEY:METHOD=AES-128,URI=\"k\"", "#EXT-X-SESSION-KEY:METHOD=AES-128,URI=\"/media/led/1\"",
                [(.key, one + "k")]),
            Row(
                "#EXT-X-SESSION-DATA:DATA-ID=\"a.b\",URI=\"d.json\"",
                "#EXT-X-SESSION-DATA:DATA-ID=\"a.b\",URI=\"/media/led/1\"", [(.data, one + "d.json")]),
            Row(
                "#EXT-X-MAP:URI=\"../init.mp4\"", "#EXT-X-MAP:URI=\"/media/led/1\"",
                [(.initialization, "https://origin.example/films/init.mp4")]),
            Row(
                "#EXTALBUMARTURL:http://m.example/c.jpg", "#EXTALBUMARTURL:/media/led/1",
                [(.data, "http://m.example/c.jpg")]),
            Row("  #EXTINF:6,\n\t a.ts \t", "  #EXTINF:6,\n\t /media/led/1 \t", [(.segment, one + "a.ts")]),
            Row("other.m3u?x=.ts", "/media/led/1", [(.playlist, one + "other.m3u?x=.ts")]),
        ])
    func names(row: Row) throws {
        try check(row)
    }

    @Test(
        "A URI without quotation marks is read up to the comma, and gets its link within quotation marks",
        arguments: [
            Row(
                "#EXT-X-KEY:METHOD=AES-128,URI=foo.key,IV=0x1", "#EXT-X-KEY:METHOD=AES-128,URI=\"/media/led/1\",IV=0x1",
                [(.key, one + "foo.key")]),
            Row("#EXT-X-MAP:URI=i.mp4?a=b", "#EXT-X-MAP:URI=\"/media/led/1\"", [(.initialization, one + "i.mp4?a=b")]),
            Row(
                "#EXT-X-MEDIA:TYPE=AUDIO,URI=https://a.example/a.m3u8 ,NAME=\"x\"",
                "#EXT-X-MEDIA:TYPE=AUDIO,URI=\"/media/led/1\" ,NAME=\"x\"", [(.playlist, "https://a.example/a.m3u8")]),
        ])
    func unquoted(row: Row) throws {
        try check(row)
    }

    @Test(
        "A key of no method has no URI for a player to ask, wherever it stands in the line",
        arguments: [#"METHOD=NONE,URI="k""#, #"URI="k",METHOD=NONE"#, "METHOD=NONE,URI=k"])
    func noKey(attributes: String) throws {
        let led = try HLSPlaylist("#EXTM3U\n#EXT-X-KEY:\(attributes)\n").led
        #expect(led.text == "#EXTM3U\n#EXT-X-KEY:METHOD=NONE\n" && led.references.isEmpty)
    }

    @Test("An unquoted URI that is refused is refused within quotation marks; what nobody requests stays as it stands")
    func unquotedRefusals() throws {
        let lines =
            "#EXT-X-MAP:URI=file:///etc/passwd\n#EXT-X-DATERANGE:ID=\"a\",X-ASSET-LIST=l.json,X-ASSET-URI=a.m3u8\n"
        #expect(
            try HLSPlaylist("#EXTM3U\n\(lines)#EXT-X-KEY:METHOD=X,URI=skd://asset\n").led.text
                == "#EXTM3U\n#EXT-X-MAP:URI=\"/refused\"\n"
                + "#EXT-X-DATERANGE:ID=\"a\",X-ASSET-LIST=\"/refused\",X-ASSET-URI=\"/media/led/1\"\n"
                + "#EXT-X-KEY:METHOD=X,URI=skd://asset\n")
    }

    @Test(
        "What matters only while a stream is live is led through the vault, but does not belong to the title",
        arguments: [
            Row(
                "#EXT-X-PART:DURATION=1,URI=\"p.mp4\"", "#EXT-X-PART:DURATION=1,URI=\"/media/led/1\"",
                [(.segment, one + "p.mp4")], belongs: false),
            Row(
                "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"p.mp4\"", "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"/media/led/1\"",
                [(.segment, one + "p.mp4")], belongs: false),
            Row(
                "#EXT-X-PRELOAD-HINT:TYPE=MAP,URI=\"i.mp4\"", "#EXT-X-PRELOAD-HINT:TYPE=MAP,URI=\"/media/led/1\"",
                [(.initialization, one + "i.mp4")], belongs: false),
            Row(
                "#EXT-X-RENDITION-REPORT:URI=\"../a.m3u8\",LAST-MSN=1",
                "#EXT-X-RENDITION-REPORT:URI=\"/media/led/1\",LAST-MSN=1",
                [(.playlist, "https://origin.example/films/a.m3u8")], belongs: false),
            Row(
                "#EXT-X-DATERANGE:ID=\"a\",X-ASSET-URI=\"ad.m3u8\"",
                "#EXT-X-DATERANGE:ID=\"a\",X-ASSET-URI=\"/media/led/1\"", [(.playlist, one + "ad.m3u8")],
                belongs: false),
            Row(
                "#EXT-X-GAP\n#EXTINF:6,\na.ts", "#EXT-X-GAP\n#EXTINF:6,\n/media/led/1", [(.segment, one + "a.ts")],
                belongs: false),
            Row(
                "#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"https://drm.example/\",KEYFORMAT=\"com.example\"",
                "#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"/media/led/1\",KEYFORMAT=\"com.example\"",
                [(.key, "https://drm.example/")], belongs: false),
        ])
    func live(row: Row) throws {
        try check(row)
    }

    private func check(_ row: Row) throws {
        let playlist = try HLSPlaylist("#EXTM3U\n\(row.lines)\n")
        let led = playlist.led
        #expect(led.text == "#EXTM3U\n\(row.led)\n")
        #expect(led.references.map(\.role) == row.names.map(\.role))
        #expect(led.urls == row.names.map(\.url))
        #expect(playlist.references == (row.belongs ? led.references : []))
        #expect(playlist.text == "#EXTM3U\n\(row.lines)\n", "without links, everything stays")
    }

    @Test(
        "A line without a URI, and one that is not understood, stays byte for byte",
        arguments: [
            "#EXT-X-VERSION:7", "#EXT-X-TARGETDURATION:6", "#EXT-X-MEDIA-SEQUENCE:1", "#EXT-X-DISCONTINUITY",
            "#EXT-X-DISCONTINUITY-SEQUENCE:2", "#EXT-X-ENDLIST", "#EXT-X-PLAYLIST-TYPE:EVENT", "#EXT-X-I-FRAMES-ONLY",
            "#EXT-X-INDEPENDENT-SEGMENTS", "#EXT-X-START:TIME-OFFSET=-3",
            "#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00Z",
            "#EXT-X-BITRATE:9", "#EXT-X-SKIP:SKIPPED-SEGMENTS=3", "#EXT-X-PART-INF:PART-TARGET=1",
            "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES", "#EXT-X-DEFINE:NAME=\"a\",VALUE=\"b\"",
            "#EXT-X-TILES:LAYOUT=5x6",
            "#EXT-X-CUE-OUT:30", "#EXT-X-NEXT-YEARS-TAG:URI=\"https://x.example/\"", "# https://x.example/", "#", "   ",
            "#ext-x-key:URI=\"a\"", "#EXT-X-KEY", "#EXTM3U url-tvg=\"x\"",
            "#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"skd://asset\"",
            "#EXT-X-KEY:METHOD=X,URI=\"data:text/plain;base64,AA==\"",
            "#EXT-X-MEDIA:TYPE=AUDIO,URI=\"\"", "#EXT-X-MAP:URI=\"data:video/mp4;base64,AAAA\"",
        ])
    func unchanged(line: String) throws {
        let led = try HLSPlaylist("#EXTM3U\n\(line)\n").led
        #expect(led.text == "#EXTM3U\n\(line)\n")
        #expect(led.references.isEmpty)
    }

    @Test("Steering is dropped: what its server answers names hosts that nobody leads through the vault")
    func steering() throws {
        let led = try HLSPlaylist("#EXTM3U\r\n#EXT-X-CONTENT-STEERING:SERVER-URI=\"/s\",PATHWAY-ID=\"A\"\r\n#x\r\n").led
        #expect(led.text == "#EXTM3U\r\n#x\r\n")
        #expect(led.references.isEmpty)
    }

    @Test("A list of interstitial assets is refused; a single asset before or after it is led through the vault")
    func assetLists() throws {
        let (asset, list) = ("X-ASSET-URI=\"ad.m3u8\"", "X-ASSET-LIST=\"https://ads.example/l.json\"")
        for attributes in ["\(asset),\(list)", "\(list),\(asset)", list] {
            let led = try HLSPlaylist("#EXTM3U\n#EXT-X-DATERANGE:\(attributes)\n").led
            let expected = attributes.replacing("ad.m3u8", with: "/media/led/1")
                .replacing("https://ads.example/l.json", with: ManifestTarget.refusal)
            #expect(led.text == "#EXTM3U\n#EXT-X-DATERANGE:\(expected)\n")
        }
    }

    @Test("Line ends, a byte order mark and a missing last line end stay")
    func ends() throws {
        for (head, end) in [("#EXTM3U", "\n"), ("#EXTM3U", "\r\n"), ("#EXTM3U", "\r"), ("\u{FEFF}#EXTM3U", "\n")] {
            let led = try HLSPlaylist("\(head)\(end)#EXTINF:6,\(end)\(end)a.ts").led
            #expect(led.text == "\(head)\(end)#EXTINF:6,\(end)\(end)/media/led/1")
            #expect(led.urls == [Self.one + "a.ts"])
        }
    }

    @Test("A link never ends its line or its attribute, and is never taken for a variable")
    func escapedLinks() throws {
        let playlist = try HLSPlaylist("#EXTM3U\n#EXT-X-MAP:URI=\"i\"\na.ts\n")
        let bytes = playlist.rewritten { _ in "/x\"\r\n {$v}é" }
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "#EXTM3U\n#EXT-X-MAP:URI=\"/x%22%0D%0A%20%7B$v%7D%C3%A9\"\n/x%22%0D%0A%20%7B$v%7D%C3%A9\n")
    }
}
