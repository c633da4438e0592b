import Testing
import VaultManifest
import VaultModel

/// The multivariant playlist as it is played offline.
@Suite("HLS selection")
struct HLSSelectionTests {
    private let film = """
        #EXTM3U
        #EXT-X-INDEPENDENT-SEGMENTS
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="aac",LANGUAGE="en",NAME="English",DEFAULT=YES,URI="en.m3u8"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="aac",LANGUAGE="de-AT",NAME="Deutsch",URI="de.m3u8"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="other",LANGUAGE="en",NAME="Other",DEFAULT=YES,URI="other.m3u8"
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="subs",LANGUAGE="fr",NAME="Français",URI="fr.m3u8"
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="subs",LANGUAGE="en",NAME="Forced",FORCED=YES,URI="forced.m3u8"
        #EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="cc",NAME="CC",INSTREAM-ID="CC1"
        #EXT-X-STREAM-INF:BANDWIDTH=1000,RESOLUTION=640x360,AUDIO="aac",SUBTITLES="subs",CLOSED-CAPTIONS="cc"
        v360.m3u8
        # between
        #EXT-X-STREAM-INF:BANDWIDTH=3000,RESOLUTION=1280x720,AUDIO="aac",SUBTITLES="subs"
        v720.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=2000,RESOLUTION=1280x720,AUDIO="other",SUBTITLES="subs"
        v720-low.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=64,CODECS="mp4a.40.2",AUDIO="aac"
        sound.m3u8
        #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI="i.m3u8"
        #EXT-X-IMAGE-STREAM-INF:BANDWIDTH=1,URI="p.m3u8"
        #EXT-X-SESSION-KEY:METHOD=AES-128,URI="k"
        """

    @Test(
        "Only the chosen renditions stay",
        arguments: [
            (RenditionSelection(), ["en", "forced", "v720"]),
            (RenditionSelection(video: .worst, subtitles: .none), ["en", "v360"]),
            (RenditionSelection(video: .height(719), subtitles: .all), ["en", "fr", "forced", "v360"]),
            (RenditionSelection(video: .height(100), subtitles: .none), ["en", "v360"]),
            (RenditionSelection(video: .height(4000), subtitles: .languages(["FR"])), ["en", "fr", "v720"]),
            (RenditionSelection(audio: .languages(["de"])), ["de", "v720"]),
            (RenditionSelection(audio: .languages(["de", "en"]), subtitles: .none), ["en", "de", "v720"]),
            (RenditionSelection(audio: .languages(["it"]), subtitles: .languages(["it"])), ["en", "v720"]),
            (
                RenditionSelection(video: .all, audio: .all, subtitles: .all),
                ["en", "de", "other", "fr", "forced", "v360", "v720", "v720-low", "sound", "i", "p"]
            ),
        ])
    func chosen(selection: RenditionSelection, names: [String]) throws {
        let selected = try HLSPlaylist(film).selecting(selection)
        let playlists = selected.references.filter { $0.role == .playlist }
        #expect(playlists.map { $0.url.path } == names.map { "/films/one/\($0).m3u8" })
        #expect(selected.references.count == names.count + 1, "the key stays")
        #expect(selected.selecting(selection).text == selected.text, "selecting twice changes nothing")
        let again = try HLSPlaylist(selected.text)
        #expect(again.renditions.map(\.name) == selected.renditions.map(\.name))
        #expect(again.references == selected.references)
    }

    @Test("The lines that stay are complete, and a variant loses the groups that do not")
    func lines() throws {
        let selected = try HLSPlaylist(film).selecting(RenditionSelection(video: .worst, subtitles: .none))
        #expect(
            selected.text == """
                #EXTM3U
                #EXT-X-INDEPENDENT-SEGMENTS
                #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="aac",LANGUAGE="en",NAME="English",DEFAULT=YES,URI="en.m3u8"
                #EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="cc",NAME="CC",INSTREAM-ID="CC1"
                #EXT-X-STREAM-INF:BANDWIDTH=1000,RESOLUTION=640x360,AUDIO="aac",CLOSED-CAPTIONS="cc"
                v360.m3u8
                # between
                #EXT-X-SESSION-KEY:METHOD=AES-128,URI="k"
                """)
    }

    @Test(
        "An attribute is cut with one comma, wherever it stands",
        arguments: [
            (#"AUDIO="x",BANDWIDTH=1"#, "BANDWIDTH=1"), (#"BANDWIDTH=1,AUDIO="x""#, "BANDWIDTH=1"),
            (#"AUDIO="x""#, ""), (#"A=1,AUDIO="x",SUBTITLES="y",B=2"#, "A=1,B=2"),
            (#"AUDIO="x",SUBTITLES="y",B=2"#, "B=2"), (#"A=1,AUDIO="x",SUBTITLES="y""#, "A=1"),
            (#"AUDIO="x",A=1,SUBTITLES="y""#, "A=1"), (#"A=1 , AUDIO="x" ,B=2"#, "A=1 , B=2"),
            ("A=1,CLOSED-CAPTIONS=NONE", "A=1,CLOSED-CAPTIONS=NONE"),
        ])
    func cuts(attributes: String, left: String) throws {
        let playlist = try HLSPlaylist("#EXTM3U\n#EXT-X-STREAM-INF:\(attributes)\nv.m3u8\n")
        #expect(playlist.selecting(RenditionSelection()).text == "#EXTM3U\n#EXT-X-STREAM-INF:\(left)\nv.m3u8\n")
    }

    @Test(
        "Of the copies of a quality, on other pathways or hosts, the first stays",
        arguments: [RenditionSelection.Video.all, .best])
    func copies(video: RenditionSelection.Video) throws {
        let playlist = try HLSPlaylist(
            """
            #EXTM3U
            #EXT-X-CONTENT-STEERING:SERVER-URI="s",PATHWAY-ID="B"
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="b",NAME="b",URI="b/en.m3u8"
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="a",URI="a/en.m3u8"
            #EXT-X-STREAM-INF:BANDWIDTH=9,PATHWAY-ID="B",AUDIO="b"
            b/v.m3u8
            #EXT-X-STREAM-INF:AUDIO="a",PATHWAY-ID="A",BANDWIDTH=9
            a/v.m3u8
            #EXT-X-STREAM-INF:BANDWIDTH=9,PATHWAY-ID="B",AUDIO="b"
            https://copy.example/v.m3u8
            """)
        let selected = playlist.selecting(RenditionSelection(video: video))
        #expect(selected.references.map { $0.url.path } == ["/films/one/b/en.m3u8", "/films/one/b/v.m3u8"])
        #expect(!selected.text.contains("STEERING"))
    }

    @Test("The same video with several kinds of audio is taken with the one that every player decodes")
    func commonCodec() throws {
        let playlist = try HLSPlaylist(
            """
            #EXTM3U
            #EXT-X-STREAM-INF:BANDWIDTH=1,RESOLUTION=1280x720,CODECS="avc1.4d401f,mp4a.40.2",AUDIO="aac"
            v.m3u8
            #EXT-X-STREAM-INF:BANDWIDTH=2,RESOLUTION=1280x720,CODECS="avc1.4d401f,ec-3",AUDIO="ec3"
            v.m3u8
            """)
        #expect(playlist.selecting(RenditionSelection()).renditions.map(\.bandwidth) == [1])
    }

    @Test("A title of sound alone has qualities, too; and the usual angle of several is taken")
    func soundAndAngles() throws {
        let sound = try HLSPlaylist(
            """
            #EXTM3U
            #EXT-X-STREAM-INF:BANDWIDTH=64,CODECS="mp4a.40.5"
            low.m3u8
            #EXT-X-STREAM-INF:BANDWIDTH=128,CODECS="mp4a.40.2"
            high.m3u8
            """)
        #expect(sound.selecting(RenditionSelection()).renditions.map(\.bandwidth) == [128])
        let angles = try HLSPlaylist(
            """
            #EXTM3U
            #EXT-X-MEDIA:TYPE=VIDEO,GROUP-ID="cam",NAME="Field",URI="field.m3u8"
            #EXT-X-MEDIA:TYPE=VIDEO,GROUP-ID="cam",NAME="Main",DEFAULT=YES
            #EXT-X-STREAM-INF:BANDWIDTH=1,VIDEO="cam"
            main.m3u8
            """)
        #expect(angles.selecting(RenditionSelection()).renditions.map(\.name) == ["Main", nil])
        #expect(angles.selecting(RenditionSelection(video: .all)).renditions.count == 3)
    }

    @Test("A variant whose URI is refused is never chosen; without another, nothing is dropped")
    func refusedVariant() throws {
        let bad = "#EXT-X-STREAM-INF:BANDWIDTH=9\nfile:///x\n"
        let playlist = try HLSPlaylist("#EXTM3U\n\(bad)#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8\n")
        #expect(playlist.selecting(RenditionSelection()).text == "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8\n")
        let only = try HLSPlaylist("#EXTM3U\n\(bad)")
        #expect(only.selecting(RenditionSelection()).text == only.text)
    }

    @Test("The languages of many members are not compared each with each", .timeLimit(.minutes(5)))
    func manyLanguages() throws {
        let members = (0..<10_000).map { number in
            ["AUDIO", "SUBTITLES"].map {
                "#EXT-X-MEDIA:TYPE=\($0),GROUP-ID=\"g\",NAME=\"n\",LANGUAGE=\"l\(number)\",FORCED=YES,URI=\"\($0)\(number).m3u8\"\n"
            }.joined()
        }
        let playlist = try HLSPlaylist(
            "#EXTM3U\n\(members.joined())#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO=\"g\",SUBTITLES=\"g\"\nv.m3u8\n")
        #expect(playlist.selecting(RenditionSelection(audio: .all)).references.count == 20_001)
    }
}
