import Testing
import VaultManifest
import VaultModel

/// What a playlist says about itself.
@Suite("HLS playlists")
struct HLSPlaylistTests {
    @Test(
        "A media playlist is live until it ends, unless its type is VOD, which never changes; nothing else is",
        arguments: [
            ("#EXT-X-TARGETDURATION:6\n#EXTINF:6,\na.ts", true),
            ("#EXT-X-TARGETDURATION:6\n#EXT-X-PLAYLIST-TYPE:EVENT\n#EXTINF:6,\na.ts", true),
            ("#EXT-X-TARGETDURATION:6\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXTINF:6,\na.ts", false),
            ("#EXT-X-PLAYLIST-TYPE: vod \n#EXTINF:6,\na.ts", false),
            ("#EXT-X-PLAYLIST-TYPE:VODKA\n#EXTINF:6,\na.ts", true),
            ("#EXT-X-TARGETDURATION:6\n#EXT-X-PLAYLIST-TYPE:EVENT\n#EXTINF:6,\na.ts\n#EXT-X-ENDLIST", false),
            ("#EXT-X-ENDLIST\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\na.ts", false),
            ("#EXT-X-MEDIA-SEQUENCE:1", true), ("#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8", false),
            ("#EXT-X-VERSION:6\n#EXT-X-INDEPENDENT-SEGMENTS", false), ("#EXTINF:215,Song\nsong.mp3", false),
            ("", false),
            ("#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8\n#EXT-X-TARGETDURATION:6", true),
        ])
    func liveness(lines: String, isLive: Bool) throws {
        #expect(try HLSPlaylist("#EXTM3U\n\(lines)\n").isLive == isLive)
    }

    @Test(
        "The duration is that of all segments, unless the playlist is live or does not say it",
        arguments: [
            ("#EXTINF:6.006,\na\n#EXTINF: 5,t\nb\n#EXT-X-ENDLIST", .microseconds(11_006_000)),
            ("#EXTINF:0.0000005,\na\n#EXT-X-ENDLIST", nil), ("#EXTINF:-1,\na", nil), ("#EXTINF:x,\na", nil),
            ("#EXTINF:2.5\na", .milliseconds(2500)), ("#EXTINF:999999999,\na", .seconds(999_999_999)),
            ("#EXTINF:1000000000,\na", nil), ("#EXTINF:6,\n#EXTINF:5,\na", .seconds(5)),
            ("#EXT-X-TARGETDURATION:6\n#EXTINF:6,\na", nil),
            ("#EXT-X-PLAYLIST-TYPE:VOD\n#EXTINF:6,\na", .seconds(6)), ("#EXT-X-STREAM-INF:BANDWIDTH=1\na", nil),
        ] as [(String, Duration?)])
    func duration(lines: String, duration: Duration?) throws {
        #expect(try HLSPlaylist("#EXTM3U\n\(lines)\n").duration == duration)
    }

    @Test(
        "The title is the list's, or that of the session; the first one counts",
        arguments: [
            ("#PLAYLIST: My list \n#PLAYLIST:Other", "My list"),
            ("#EXT-X-SESSION-DATA:DATA-ID=\"com.example.title\",VALUE=\"A, B\",LANGUAGE=\"en\"", "A, B"),
            ("#EXT-X-SESSION-DATA:DATA-ID=\"com.example.subtitle-url\",VALUE=\"no\"", nil),
            ("#PLAYLIST:", nil), ("#EXTINF:6,Part one\na.ts", nil),
            ("#PLAYLIST:" + String(repeating: "é", count: 300), String(repeating: "é", count: 200)),
        ] as [(String, String?)])
    func title(lines: String, title: String?) throws {
        #expect(try HLSPlaylist("#EXTM3U\n\(lines)\n").title == title)
    }

    @Test("Durations that add up to more than a number holds end at the largest one")
    func endlessDuration() throws {
        let segment = "#EXTINF:999999999,\ndata:,\n"
        let count = 10_000
        #expect(Int64(count).multipliedReportingOverflow(by: 999_999_999_000_000).overflow, "the sum must not fit")
        let text = "#EXTM3U\n" + String(repeating: segment, count: count)
        #expect(try HLSPlaylist(text).duration == .microseconds(Int64.max))
    }

    @Test("A variant's URI is its own, whatever tags stand between")
    func interleavedEntries() throws {
        let playlist = try HLSPlaylist(
            """
            #EXTM3U
            #EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO="a"
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="n",URI="n.m3u8"
            v.m3u8
            """)
        #expect(playlist.selecting(RenditionSelection()).text == playlist.text)
        #expect(playlist.selecting(RenditionSelection()).references.count == 2)
    }

    @Test("Variants and members of groups are the renditions")
    func renditions() throws {
        let playlist = try HLSPlaylist(
            """
            #EXTM3U
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",LANGUAGE="en",NAME="English",DEFAULT=YES,URI="en.m3u8"
            #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",LANGUAGE="fr",NAME="Français",FORCED=YES,URI="fr.m3u8"
            #EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="c",NAME="CC",INSTREAM-ID="CC1"
            #EXT-X-MEDIA:TYPE=HAPTICS,GROUP-ID="h",NAME="Rumble",URI="h.m3u8"
            #EXT-X-STREAM-INF:BANDWIDTH=900000,RESOLUTION=1280x720,CODECS="avc1.4d401f,mp4a.40.2",AUDIO="a",SUBTITLES="s"
            v.m3u8
            #EXT-X-STREAM-INF:BANDWIDTH=64000,CODECS="mp4a.40.2, ac-3",CLOSED-CAPTIONS=NONE
            sound.m3u8
            #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI="i.m3u8"
            """)
        let found = playlist.renditions
        #expect(found.map(\.kind) == [.audio, .subtitles, .closedCaptions, .video, .audio])
        #expect(found.map(\.language) == ["en", "fr", nil, nil, nil])
        #expect(found.map(\.name) == ["English", "Français", "CC", nil, nil])
        #expect(found.map(\.isDefault) == [true, false, false, false, false])
        #expect(found.map(\.isForced) == [false, true, false, false, false])
        #expect(found.map(\.groups) == [["a"], ["s"], ["c"], ["a", "s"], []])
        #expect(found.map(\.bandwidth) == [nil, nil, nil, 900_000, 64_000])
        #expect(found.map(\.height) == [nil, nil, nil, 720, nil])
        #expect(found.map(\.width) == [nil, nil, nil, 1280, nil])
        #expect(found[3].codecs == "avc1.4d401f,mp4a.40.2")
        #expect(Set(found.map(\.id)).count == 5)
        #expect(playlist.references.count == 6)
    }

    @Test("A playlist of type VOD that was cut before its first segment names nothing, though it never changes")
    func cutVOD() throws {
        #expect(try !Manifest.hls(HLSPlaylist("#EXTM3U\n#EXT-X-PLAYLIST-TYPE:VOD\n")).namesSomething)
        #expect(try Manifest.hls(HLSPlaylist("#EXTM3U\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-ENDLIST\n")).namesSomething)
    }

    @Test(
        "A line that no tag announces is no part, but gets a link; in a plain list every line is a file",
        arguments: [
            ("#EXTINF:6,\na.ts\n#EXT-X-ENDLIST\nWritten by hand", ["a.ts"]),
            ("#EXTINF:6,\na.ts\nb.ts\n#EXTINF:6,\nc.ts\n#EXT-X-ENDLIST", ["a.ts", "c.ts"]),
            ("#EXT-X-TARGETDURATION:6\na.ts\n#EXTINF:6,\nb.ts", ["b.ts"]),
            ("#EXT-X-TARGETDURATION:6\na.ts\nb.ts\n#EXT-X-ENDLIST", ["a.ts", "b.ts"]),
            ("#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8\n#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1\ni.m3u8", ["v.m3u8"]),
            ("#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI=\"i.m3u8\"\nj.m3u8", ["i.m3u8"]),
            ("#EXTINF:6,\na.ts\n#EXT-X-PART:DURATION=1,URI=\"p.ts\"\nb.ts\n#EXT-X-ENDLIST", ["a.ts", "b.ts"]),
            ("#EXTINF:215,Song\nsong.mp3\nother.mp3", ["song.mp3", "other.mp3"]), ("a.mp3\nb.mp3", ["a.mp3", "b.mp3"]),
        ])
    func bareLines(lines: String, names: [String]) throws {
        let playlist = try HLSPlaylist("#EXTM3U\n\(lines)\n")
        #expect(playlist.references.map(\.url.absoluteString) == names.map { "https://origin.example/films/one/\($0)" })
        let uris = playlist.led.text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(uris.allSatisfy { $0.hasPrefix(LedManifest.folder) })
    }

    @Test("A remark at the end that no player may request is refused, and the title is whole without it")
    func refusedRemark() throws {
        let playlist = try HLSPlaylist("#EXTM3U\n#EXTINF:6,\na.ts\n#EXT-X-ENDLIST\nfile:///etc/passwd\n")
        #expect(playlist.led.text.hasSuffix("#EXT-X-ENDLIST\n\(ManifestTarget.refusal)\n"))
        #expect(Manifest.hls(playlist).refusals.isEmpty)
    }

    @Test(
        "Bit rates and sizes of pictures are read up to their fraction",
        arguments: [
            ("BANDWIDTH=1280000.75,RESOLUTION=1280.0x720.5", 1_280_000, 720), ("BANDWIDTH=9,RESOLUTION=16x 9", 9, 9),
            ("BANDWIDTH=800000bps,RESOLUTION=640X360", 800_000, 360), ("BANDWIDTH=\"7\",RESOLUTION=\"4x3\"", 7, 3),
            ("BANDWIDTH=-5,RESOLUTION=x", nil, nil), ("BANDWIDTH=.5,RESOLUTION=4x.5", nil, nil),
        ] as [(String, Int?, Int?)])
    func fractions(attributes: String, bandwidth: Int?, height: Int?) throws {
        let found = try HLSPlaylist("#EXTM3U\n#EXT-X-STREAM-INF:\(attributes)\nv.m3u8\n").renditions
        #expect(found.map(\.bandwidth) == [bandwidth])
        #expect(found.map(\.height) == [height])
    }

    @Test("The best variant is the best one, also among bit rates with fractions")
    func bestFraction() throws {
        let variants = ["300000.5", "2500000.25", "1200000"].map { "#EXT-X-STREAM-INF:BANDWIDTH=\($0)\n\($0).m3u8\n" }
        let chosen = try HLSPlaylist("#EXTM3U\n\(variants.joined())").selecting(RenditionSelection())
        #expect(chosen.references.map(\.url.path) == ["/films/one/2500000.25.m3u8"])
    }

    @Test("A media playlist names what it needs in order: initialization, keys and segments")
    func order() throws {
        let playlist = try HLSPlaylist(
            """
            #EXTM3U
            #EXT-X-TARGETDURATION:6
            #EXT-X-MAP:URI="i"
            #EXT-X-KEY:METHOD=AES-128,URI="k"
            #EXTINF:6,
            a
            #EXT-X-KEY:METHOD=AES-128,URI="k"
            #EXTINF:6,
            b
            #EXT-X-ENDLIST
            """)
        #expect(playlist.references.map(\.role) == [.initialization, .key, .segment, .key, .segment])
        #expect(playlist.renditions.isEmpty)
        #expect(playlist.selecting(RenditionSelection(video: .worst)).text == playlist.text)
    }

    @Test("The work of parsing and of rewriting grows with the size of the playlist, not faster")
    func linearWork() throws {
        func cost(_ line: String, _ count: Int) throws -> (work: Int, links: Int, output: Int, bytes: Int) {
            let text = "#EXTM3U\n" + String(repeating: line + "\n", count: count)
            let playlist = try HLSPlaylist(text)
            let led = playlist.led
            return (playlist.work, led.references.count, led.bytes.count, text.utf8.count)
        }
        let lines = [
            "#EXTINF:6.006,\nsegment.ts", "#EXT-X-BYTERANGE:100\nall.mp4", "https://cdn.example/a/b/c.ts?token=1",
            "#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=0x1", "#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO=\"a\"\nv", "##########",
            "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"n\",URI=\"u\"", "{$a{$a{$a{$a", ",,,,,,,,",
            "# " + String(repeating: "{$", count: 400),
        ]
        for line in lines {
            let (small, large) = (try cost(line, 200), try cost(line, 2000))
            #expect(small.work > 0 && large.work <= small.work * 11, "\(line)")
            #expect(large.work <= 8 * large.bytes, "each byte is looked at a few times: \(line)")
            #expect(large.links == 10 * small.links, "\(line)")
            #expect(large.output <= large.bytes + 20 * large.links, "\(line)")
        }
    }
}
