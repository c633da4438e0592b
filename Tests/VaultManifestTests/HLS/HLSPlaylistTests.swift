import Testing
import VaultManifest
import VaultModel

/// What a playlist says about itself.
@Suite("HLS playlists")
struct HLSPlaylistTests {
    @Test(
        "A media playlist is live until it ends, whatever its type; nothing else is",
        arguments: [
            ("#EXT-X-TARGETDURATION:6\n#EXTINF:6,\na.ts", true),
            ("#EXT-X-TARGETDURATION:6\n#EXT-X-PLAYLIST-TYPE:EVENT\n#EXTINF:6,\na.ts", true),
            ("#EXT-X-TARGETDURATION:6\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXTINF:6,\na.ts", true),
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
            ("#EXT-X-TARGETDURATION:6\n#EXTINF:6,\na", nil), ("#EXT-X-STREAM-INF:BANDWIDTH=1\na", nil),
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
