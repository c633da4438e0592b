import Testing
import VaultModel

@testable import VaultManifest

@Suite("DASH renditions")
struct DASHRenditionsTests {
    private func names(_ selection: RenditionSelection, of name: String = "languages") throws -> [String] {
        try DASHLab(try DASHCorpus.bytes(name)).manifest.selecting(selection).references
            .map { String($0.url.path.split(separator: "/").last ?? "") }
    }

    @Test("Each Representation of the video and each language is a rendition")
    func renditions() throws {
        let renditions = try DASHLab(try DASHCorpus.bytes("languages")).manifest.renditions
        #expect(
            renditions.map(\.id) == ["v240", "v480", "v480hq", "v1080", "sign", "de128", "en128", "sub-de", "sub-en"])
        #expect(
            renditions.map(\.kind)
                == [.video, .video, .video, .video, .video, .audio, .audio, .subtitles, .subtitles])
        let english = try #require(renditions.first { $0.id == "en128" })
        #expect(english.language == "en-GB" && english.name == "Original" && english.isDefault)
        #expect(english.bandwidth == 128_000)
        let video = try #require(renditions.first { $0.id == "v480" })
        #expect(video.width == 854 && video.height == 480)
    }

    @Test("Kinds are told by content type, media type and codecs; thumbnails and trick modes are no choices")
    func kinds() throws {
        let subtitles = try DASHLab(try DASHCorpus.bytes("subtitles")).manifest.renditions
        #expect(subtitles.map(\.id) == ["xml_en", "stpp_de", "wvtt_fr", "vtt_it", "vtt_es"])
        #expect(subtitles.allSatisfy { $0.kind == .subtitles })
        #expect(subtitles.filter(\.isForced).map(\.id) == ["wvtt_fr"])
        #expect(subtitles.filter(\.isDefault).map(\.id) == ["xml_en"])
        #expect(try DASHLab(try DASHCorpus.bytes("thumbnails")).manifest.renditions.map(\.id) == ["v"])
        #expect(try DASHLab(try DASHCorpus.bytes("trick-modes")).manifest.renditions.map(\.id) == ["v1", "v2"])
        #expect(try DASHLab(try DASHCorpus.bytes("no-media")).manifest.renditions.isEmpty)
        // Two Periods of the same language and height are one choice.
        #expect(try DASHLab(try DASHCorpus.bytes("periods-starts")).manifest.renditions.count == 1)
    }

    @Test("A selection keeps the chosen files")
    func selection() throws {
        #expect(try names(RenditionSelection()) == ["v1080.m4s", "en128.m4s"])
        #expect(
            try names(RenditionSelection(video: .worst, audio: .languages(["de"]), subtitles: .languages(["en"])))
                == ["v240.m4s", "de128.m4s", "en.vtt"])
        #expect(
            try names(RenditionSelection(video: .height(500), audio: .languages(["fr"]), subtitles: .none)) == [
                "v480hq.m4s", "en128.m4s",
            ])
        #expect(
            try names(RenditionSelection(video: .height(100), audio: .all, subtitles: .all))
                == ["v240.m4s", "de128.m4s", "en128.m4s", "de.vtt", "en.vtt"])
        let all = RenditionSelection(video: .all, audio: .all, subtitles: .all)
        #expect(try names(all).count == 10)
        #expect(try names(all, of: "trick-modes").count == 8)
        #expect(try names(RenditionSelection(video: .worst), of: "trick-modes") == ["i.mp4", "1.m4s", "2.m4s"])
        #expect(try names(RenditionSelection(), of: "thumbnails") == ["v.mp4"])
    }

    @Test("A selection applies in each Period")
    func periods() throws {
        let period =
            #"<AdaptationSet mimeType="video/mp4"><SegmentTemplate media="%$RepresentationID$"/>"#
            + #"<Representation id="a" height="360"/><Representation id="b" height="720"/></AdaptationSet>"#
        let text =
            "<MPD>" + ["1", "2"].map { "<Period>\(period.replacing("%", with: $0))</Period>" }.joined() + "</MPD>"
        let manifest = try DASHLab(Array(text.utf8)).manifest
        #expect(
            manifest.selecting(RenditionSelection(video: .height(400))).references.map(\.url.path) == [
                "/title/1a", "/title/2a",
            ])
        #expect(manifest.selecting(RenditionSelection()).references.map(\.url.path) == ["/title/1b", "/title/2b"])
        #expect(manifest.renditions.map(\.id) == ["a", "b"])
    }

    @Test("A chosen layer keeps the layers that it depends on")
    func layers() throws {
        #expect(try names(RenditionSelection(), of: "layered") == ["base.m4s", "mid.m4s", "high.m4s"])
        #expect(try names(RenditionSelection(video: .height(400)), of: "layered") == ["base.m4s", "mid.m4s"])
        #expect(try names(RenditionSelection(video: .worst), of: "layered") == ["base.m4s"])
    }

    @Test("Representations without ids can be chosen")
    func withoutIds() throws {
        let lab = try DASHLab(
            period: """
                <AdaptationSet mimeType="video/mp4"><Representation height="720"><BaseURL>a.mp4</BaseURL></Representation>
                <Representation height="360"><BaseURL>b.mp4</BaseURL></Representation></AdaptationSet>
                <AdaptationSet mimeType="audio/mp4"><Representation><BaseURL>c.mp4</BaseURL></Representation></AdaptationSet>
                """)
        #expect(Set(lab.manifest.renditions.map(\.id)).count == 3)
        #expect(
            lab.manifest.selecting(RenditionSelection(video: .worst)).references.map(\.url.path) == [
                "/title/b.mp4", "/title/c.mp4",
            ])
    }

    @Test("What is played offline names no other manifest, and every place of its files")
    func offline() throws {
        let steering = try DASHLab(try DASHCorpus.bytes("steering")).manifest.selecting(RenditionSelection())
        #expect(Set(steering.references.map(\.url.host)) == ["cdn1.example"])
        let others = Set(steering.alternatives.values.joined().map(\.host))
        #expect(others == ["cdn2.example", "cdn3.example", "origin.example"])
        let chained = try DASHLab(try DASHCorpus.bytes("chained")).manifest.selecting(RenditionSelection())
        #expect(!String(decoding: chained.rewritten { _ in nil }, as: UTF8.self).contains("next.example"))
        let languages = try DASHLab(try DASHCorpus.bytes("languages")).manifest.selecting(RenditionSelection())
        #expect(!String(decoding: languages.rewritten { _ in nil }, as: UTF8.self).contains("Preselection"))
        #expect(languages.renditions.map(\.id) == ["v1080", "en128"])
    }

    @Test("A live manifest is not changed by a selection, and has no duration")
    func live() throws {
        for name in ["live-numbers", "live-timeline", "low-latency"] {
            let manifest = try DASHLab(try DASHCorpus.bytes(name)).manifest
            #expect(manifest.isLive && manifest.duration == nil)
            #expect(manifest.selecting(RenditionSelection()).rewritten { _ in nil } == manifest.rewritten { _ in nil })
        }
    }

    @Test("Duration and title are those that the manifest states")
    func facts() throws {
        let film = try DASHLab(try DASHCorpus.bytes("packager-on-demand")).manifest
        #expect(film.duration == .milliseconds(596_500) && film.title == "Big & Small" && !film.isLive)
        #expect(try DASHLab(try DASHCorpus.bytes("ffmpeg-list")).manifest.title == nil)
        #expect(try DASHLab(period: "", attributes: "").manifest.duration == nil)
        let periods = "<MPD><Period duration='PT1.5S'/><Period duration='PT2S'/></MPD>"
        #expect(try DASHLab(Array(periods.utf8)).manifest.duration == .milliseconds(3500))
        let long =
            "<MPD><ProgramInformation><Title>\(String(repeating: "é", count: 1000))</Title></ProgramInformation></MPD>"
        #expect(try DASHLab(Array(long.utf8)).manifest.title?.utf8.count == 512)
    }
}
