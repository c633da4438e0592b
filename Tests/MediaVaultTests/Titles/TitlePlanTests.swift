import Testing
import VaultManifest
import VaultModel

@testable import MediaVault

@Suite("What is fetched for a title")
struct TitlePlanTests {
    private static let base = "https://media.example/title/"

    private static func manifest(_ lines: String..., at name: String = "master.m3u8") throws -> Manifest {
        try Manifest(
            Array(("#EXTM3U\n" + lines.joined(separator: "\n") + "\n").utf8), kind: .hls, url: MediaURL(base + name))
    }

    private static func names(_ urls: [MediaURL]) -> [String] {
        urls.map { String($0.absoluteString.dropFirst(base.count)) }
    }

    private static func multivariant() throws -> Manifest {
        try manifest(
            #"#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="E",LANGUAGE="en",DEFAULT=YES,URI="en.m3u8""#,
            #"#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="D",LANGUAGE="de",URI="de.m3u8""#,
            #"#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="E",LANGUAGE="en",URI="words.m3u8""#,
            #"#EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=640x360,AUDIO="a",SUBTITLES="s""#, "360.m3u8",
            #"#EXT-X-STREAM-INF:BANDWIDTH=1600000,RESOLUTION=854x480,AUDIO="a",SUBTITLES="s""#, "480.m3u8",
            #"#EXT-X-STREAM-INF:BANDWIDTH=4000000,RESOLUTION=1920x1080,AUDIO="a",SUBTITLES="s""#, "1080.m3u8",
            #"#EXT-X-SESSION-KEY:METHOD=AES-128,URI="session.key""#,
            #"#EXT-X-SESSION-DATA:DATA-ID="x",URI="session.json""#)
    }

    @Test(
        "A selection decides which playlists are fetched",
        arguments: [
            ("best", "default", "none", ["en.m3u8", "1080.m3u8"]),
            ("480", "default", "none", ["en.m3u8", "480.m3u8"]),
            ("500", "de", "none", ["de.m3u8", "480.m3u8"]),
            ("100", "en,de", "none", ["en.m3u8", "de.m3u8", "360.m3u8"]),
            ("worst", "fr", "none", ["en.m3u8", "360.m3u8"]),
            ("480", "default", "en", ["en.m3u8", "words.m3u8", "480.m3u8"]),
            ("all", "all", "all", ["en.m3u8", "de.m3u8", "words.m3u8", "360.m3u8", "480.m3u8", "1080.m3u8"]),
        ])
    func playlists(video: String, audio: String, subtitles: String, expected: [String]) throws {
        let selection = RenditionSelection(
            video: try #require(.init(rawValue: video)), audio: try #require(.init(rawValue: audio)),
            subtitles: try #require(.init(rawValue: subtitles)))
        let plan = TitlePlan(try Self.multivariant().selecting(selection))
        #expect(Self.names(plan.playlists) == expected)
        #expect(Self.names(plan.parts) == ["session.key"], "session data is no part of a title")
    }

    @Test("Each file is fetched once, the beginning of every rendition first")
    func parts() throws {
        var plan = TitlePlan(try Self.multivariant().selecting(RenditionSelection(video: .height(480))))
        plan.add([
            try Self.manifest(
                #"#EXT-X-MAP:URI="v0.mp4""#, "#EXTINF:4,", "v1.m4s", "#EXTINF:4,", "v2.m4s", "#EXTINF:4,", "v3.m4s",
                "#EXT-X-ENDLIST", at: "480.m3u8"),
            try Self.manifest(
                #"#EXT-X-KEY:METHOD=AES-128,URI="session.key""#, "#EXTINF:8,", "#EXT-X-BYTERANGE:100@0", "a.aac",
                "#EXTINF:4,", "#EXT-X-BYTERANGE:50@100", "a.aac", "#EXT-X-ENDLIST", at: "en.m3u8"),
        ])
        #expect(Self.names(plan.parts) == ["session.key", "v0.mp4", "v1.m4s", "v2.m4s", "v3.m4s", "a.aac"])
    }

    @Test("Of an MPD, the last segment of a number that was rounded up may be absent, unless something states it")
    func computedPart() throws {
        let url = try MediaURL(Self.base + "manifest.mpd")
        func plan(_ set: String) throws -> TitlePlan {
            let text = #"<MPD mediaPresentationDuration="PT9S"><Period>\#(set)</Period></MPD>"#
            return TitlePlan(try Manifest(Array(text.utf8), kind: .dash, url: url))
        }
        let computed =
            #"<AdaptationSet><SegmentTemplate media="$Number$.m4s" duration="4"/><Representation/></AdaptationSet>"#
        let stated =
            #"<AdaptationSet><SegmentList><SegmentURL media="3.m4s"/></SegmentList><Representation/></AdaptationSet>"#
        #expect(Self.names(Array(try plan(computed).mayBeAbsent)) == ["3.m4s"])
        #expect(try plan(computed).parts.count == 3)
        #expect(try plan(computed + stated).mayBeAbsent.isEmpty)
    }

    @Test(
        "What the manifest's own authority has may be anywhere; anything else is public, and gets no credentials",
        arguments: [
            ("https://media.example/x", false, false, true), ("https://MEDIA.example:443/x", false, false, true),
            ("http://media.example/x", false, true, false), ("https://media.example:8443/x", false, true, false),
            ("https://cdn.example/x", false, true, false), ("https://media.example/x", true, true, true),
        ])
    func reach(url: String, isManifestDerived: Bool, isDerived: Bool, hasFields: Bool) throws {
        let own = try MediaURL(Self.base + "master.m3u8")
        let fields = OriginFields(origin: own.origin, fields: ["Authorization": "Bearer one"])
        let reach = TitleReach(named: own, base: own, isDerived: isManifestDerived, fields: fields)
        let reference = reach.reference(to: try MediaURL(url))
        #expect(reference.isDerived == isDerived && (reference.fields["Authorization"] != nil) == hasFields)
    }

    @Test("What a redirected manifest names is public, wherever it was named")
    func redirected() throws {
        let (named, base) = (try MediaURL("http://10.0.0.1/a.m3u8"), try MediaURL("https://elsewhere.example/a.m3u8"))
        let reach = TitleReach(named: named, base: base, isDerived: false, fields: nil)
        for url in ["http://10.0.0.1/1.ts", "https://elsewhere.example/1.ts", "https://third.example/1.ts"] {
            #expect(reach.reference(to: try MediaURL(url)).isDerived, "\(url)")
        }
    }

    @Test("What is named by a manifest that came from the same host by TLS is named, too; port 443 alone is no TLS")
    func upgraded() throws {
        let named = try MediaURL("http://nas/a.m3u8")
        for (base, isDerived) in [("https://nas/a.m3u8", false), ("http://nas:443/a.m3u8", true)] {
            let base = try MediaURL(base)
            let reach = TitleReach(named: named, base: base, isDerived: false, fields: nil)
            #expect(reach.reference(to: try URLReference.resolve("1.ts", at: base)).isDerived == isDerived, "\(base)")
        }
    }

    @Test("A selection is read from text and written as the same text")
    func text() {
        for video in ["best", "worst", "all", "1", "480", "100000"] {
            #expect(RenditionSelection.Video(rawValue: video)?.rawValue == video)
        }
        for audio in ["default", "all", "en", "en,pt-BR"] {
            #expect(RenditionSelection.Audio(rawValue: audio)?.rawValue == audio)
        }
        for subtitles in ["default", "none", "all", "zh-Hant"] {
            #expect(RenditionSelection.Subtitles(rawValue: subtitles)?.rawValue == subtitles)
        }
        #expect(RenditionSelection.Video(rawValue: "480p") == .height(480), "as lists show it")
        for wrong in ["", "0", "-1", "p", "480pp", "100001", "9999999999999999999999"] {
            #expect(RenditionSelection.Video(rawValue: wrong) == nil, "\(wrong)")
        }
        for wrong in ["", ",", "en,", "e n", "ä", String(repeating: "a", count: 36)] {
            #expect(RenditionSelection.Audio(rawValue: wrong) == nil, "\(wrong)")
        }
    }
}
