import Testing
import VaultModel

@testable import VaultManifest

@Suite("MPDs that hide the names of files")
struct DASHHiddenNamesTests {
    private static let vault = "http://127.0.0.1:8300/d"
    private static let template = #"<SegmentTemplate media="$Number$.m4s"/>"#

    private static func lab(_ content: String, above: String = "") throws -> DASHLab {
        try DASHLab(
            period: "\(above)<AdaptationSet><Representation id=\"1\">\(content)</Representation></AdaptationSet>")
    }

    @Test(
        "A BaseURL that is one file gets a link, wherever it stands",
        arguments: [
            "v.mp4?sig=1", "v.mp4", " v.mp4#t=1 ", "a/v.mp4?sig=1", "../v.mp4?sig=1", "https://c.example/v.mp4?sig=1",
            "?sig=1", "a/?sig=1", "https://c.example/a/?sig=1", "a/", "https://c.example/a/",
        ])
    func file(text: String) throws {
        let base = "<BaseURL>\(text)</BaseURL>"
        let ranges = #"<SegmentList><Initialization range="0-9"/><SegmentURL mediaRange="10-19"/></SegmentList>"#
        for (content, above) in [
            (base, ""), (base + #"<SegmentBase indexRange="0-9"/>"#, ""), ("", base), (base + ranges, ""),
            (ranges, base),
        ] {
            let lab = try Self.lab(content, above: above)
            let rewritten = try lab.rewritten(hidesNames: true)
            #expect(rewritten.book.references.map(\.isFolder) == [false])
            #expect(rewritten.originals == lab.manifest.references.map(\.url))
            let bases = try lab.rewrittenText(hidesNames: true).split(separator: "<BaseURL>").dropFirst()
            #expect(bases.count == 1 && bases.allSatisfy { $0.hasPrefix("\(Self.vault)/0/") })
        }
    }

    @Test(
        "A BaseURL that something is relative to keeps its folder and loses its query",
        arguments: [
            ("v/?sig=1", "v/"), ("v/", "v/"), ("?sig=1", "./"), (" v/x.mpd?sig=1#a ", "v/x.mpd"), ("", "./"),
            ("../v/x?sig=1", "\(vault)/0/https/origin.example/v/x"),
            ("https://c.example/v/?sig=1", "\(vault)/0/https/c.example/v/"),
            ("data:text/vtt,WEBVTT?a", "data:text/vtt,WEBVTT?a"), ("file:///x?sig=1", "/refused/"),
        ])
    func folder(text: String, expected: String) throws {
        let lab = try Self.lab("<BaseURL>\(text)</BaseURL>\(Self.template)")
        let rewritten = try lab.rewritten(hidesNames: true)
        #expect(try lab.rewrittenText(hidesNames: true).contains("<BaseURL>\(expected)</BaseURL>"))
        #expect(rewritten.strays.isEmpty)
        if expected != "/refused/" { #expect(rewritten.originals == lab.manifest.references.map(\.url)) }
    }

    @Test("Beside another base, a file above it is no file for all, and its query stays hidden")
    func mixed() throws {
        let lab = try DASHLab(
            period: """
                <BaseURL>v.mp4?sig=1</BaseURL><AdaptationSet><Representation id="1"/>
                <Representation id="2"><BaseURL>w/?sig=2</BaseURL><SegmentTemplate media="$Number$"/></Representation>
                </AdaptationSet>
                """)
        let text = try lab.rewrittenText(hidesNames: true)
        #expect(text.contains("<BaseURL>v.mp4</BaseURL>") && text.contains("<BaseURL>w/</BaseURL>"))
    }

    @Test(
        "A base that is requested is a file, whatever else has a link of its own",
        arguments: [
            #"<SegmentBase><Initialization sourceURL="init.mp4?sig=2"/></SegmentBase>"#,
            #"<SegmentBase><Initialization sourceURL="v.mp4?sig=1" range="0-9"/></SegmentBase>"#,
            #"<SegmentList><Initialization sourceURL="i.mp4"/><SegmentURL mediaRange="0-9"/></SegmentList>"#,
            #"<SegmentList><SegmentURL mediaRange="0-9"/><SegmentURL media="w.mp4?sig=2"/></SegmentList>"#,
            #"<SegmentList><Initialization range="0-9"/><SegmentURL media="w.mp4?sig=2"/></SegmentList>"#,
            #"<SegmentTemplate initialization="i.mp4?sig=2"/>"#,
        ])
    func requestedBase(naming: String) throws {
        let lab = try Self.lab("<BaseURL>v.mp4?sig=1</BaseURL>" + naming)
        let rewritten = try lab.rewritten(hidesNames: true)
        #expect(rewritten.originals.compactMap(\.self) == lab.manifest.references.map(\.url))
        #expect(rewritten.strays.isEmpty && rewritten.book.references.allSatisfy { !$0.isFolder })
    }

    @Test("A file above several Representations is one also beside those with files of their own")
    func shared() throws {
        let lab = try DASHLab(
            period: """
                <AdaptationSet><BaseURL>v.mp4?sig=1</BaseURL><Representation id="1"/>
                <Representation id="2"><BaseURL>w.mp4?sig=2</BaseURL></Representation></AdaptationSet>
                """)
        let rewritten = try lab.rewritten(hidesNames: true)
        #expect(rewritten.originals.compactMap(\.self) == lab.manifest.references.map(\.url))
    }

    @Test("Each file that stands in a list gets a link; one that stands for several files stays")
    func lists() throws {
        let list = """
            <SegmentList><Initialization sourceURL="i.mp4?sig=1"/><SegmentURL media="1.m4s?sig=2" index="1.idx"/>
            <SegmentURL media="data:video/mp4;base64,AA=="/></SegmentList>
            """
        let lab = try Self.lab(list)
        let rewritten = try lab.rewritten(hidesNames: true)
        #expect(rewritten.book.references.map { $0.url.path.dropFirst(7) } == ["i.mp4", "1.m4s", "1.idx"])
        #expect(rewritten.originals.compactMap(\.self) == lab.manifest.references.map(\.url))
        #expect(try lab.rewrittenText(hidesNames: true).contains("media=\"data:video/mp4;base64,AA==\""))
        let shared = try DASHLab(
            period: """
                <AdaptationSet><SegmentList><SegmentURL media="1.m4s"/><SegmentURL media="2.m4s?sig=1"/></SegmentList>
                <Representation id="1"><BaseURL>a/</BaseURL></Representation>
                <Representation id="2"><BaseURL>b/</BaseURL></Representation></AdaptationSet>
                """
        ).rewrittenText(hidesNames: true)
        #expect(shared.contains("media=\"1.m4s\"") && shared.contains("media=\"2.m4s?sig=1\""))
        // A template without identifiers names one file.
        let one = try Self.lab(#"<SegmentTemplate media="one.m4s?sig=1"/>"#).rewrittenText(hidesNames: true)
        #expect(one.contains("media=\"\(Self.vault)/0/"))
    }

    @Test("What has no base shows no query either")
    func baseless() throws {
        let lab = try Self.lab(
            #"<BaseURL>x?sig=1</BaseURL><SegmentList><SegmentURL media="1.m4s?sig=1"/></SegmentList>"#,
            above: "<BaseURL>file:///x</BaseURL>")
        #expect(!(try lab.rewrittenText(hidesNames: true)).contains("sig"))
    }

    @Test("A live MPD is read again from its own link")
    func location() throws {
        let bytes = try DASHCorpus.bytes("live-timeline")
        #expect(try DASHLab(bytes).rewrittenText().contains("<Location>"), "premise")
        #expect(!(try DASHLab(bytes).rewrittenText(hidesNames: true)).contains("Location"))
    }

    @Test("A player asks the vault for the same files", arguments: DASHCorpus.names)
    func corpus(name: String) throws {
        let lab = try DASHLab(try DASHCorpus.bytes(name), name: name + ".mpd")
        let rewritten = try lab.rewritten(hidesNames: true)
        #expect(rewritten.strays.isEmpty)
        #expect(rewritten.originals.compactMap(\.self) == lab.manifest.references.map(\.url))
    }
}
