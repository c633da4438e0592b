import Testing
import VaultModel

@testable import VaultManifest

@Suite("DASH rewriting")
struct DASHRewritingTests {
    private static let vault = "http://127.0.0.1:8300/d"

    @Test(
        "A BaseURL stays if it is relative and below, and is led through the vault if not",
        arguments: [
            ("v/", "v/"), ("v.mp4", "v.mp4"), (" v.mp4\n", " v.mp4\n"), ("?k=1", "?k=1"), ("a/../b/", "a/../b/"),
            ("./", "./"), ("../title/v.mp4", "\(vault)/0/https/origin.example/title/v.mp4"),
            ("\u{FEFF}\u{A0}https://c.example/v.mp4", "\(vault)/0/https/c.example/v.mp4"),
            ("data:text/vtt,WEBVTT", "data:text/vtt,WEBVTT"),
            ("../v.mp4", "\(vault)/0/https/origin.example/v.mp4"),
            ("/title/v.mp4", "\(vault)/0/https/origin.example/title/v.mp4"),
            ("https://origin.example/title/v.mp4", "\(vault)/0/https/origin.example/title/v.mp4"),
            ("//c.example/v.mp4?t=a%2Fb&amp;u", "\(vault)/0/https/c.example/v.mp4?t=a%2Fb&amp;u"),
            (" HTTP://C.example:8080/v/ ", "\(vault)/0/http/c.example:8080/v/"),
            ("https://user:secret@c.example/v.mp4", "\(vault)/0/https/c.example/v.mp4"),
            ("../../../../v.mp4", "\(vault)/0/https/origin.example/v.mp4"),
            ("%2e%2e/v.mp4", "\(vault)/0/https/origin.example/v.mp4"),
            ("file:///etc/passwd", "/refused/"), ("javascript:alert(1)", "/refused/"), ("concat:a|b", "/refused/"),
            ("https:", "/refused/"), ("https:c.example/v.mp4", "/refused/"), ("http:///v.mp4", "/refused/"),
            ("\\\\c.example\\v.mp4", "/refused/"), ("/\\c.example/v.mp4", "/refused/"), ("a\tb", "/refused/"),
            ("https://c.example:99999/", "/refused/"),
        ])
    func baseURL(text: String, expected: String) throws {
        let lab = try DASHLab(
            period:
                #"<AdaptationSet><Representation id="1"><BaseURL>\#(text)</BaseURL></Representation></AdaptationSet>"#)
        #expect(try lab.rewrittenText().contains("<BaseURL>\(expected)</BaseURL>"))
        #expect(try lab.rewritten().strays.isEmpty)
    }

    @Test("A BaseURL that something is relative to is a folder, whether or not it ends in a slash")
    func folders() throws {
        for (text, expected) in [
            ("https://c.example/a/b/", "/a/b/"), ("https://c.example/a/b.mpd?x=1", "/a/b.mpd?x=1"),
            ("https://c.example", "/"),
        ] {
            let lab = try DASHLab(
                period: """
                    <BaseURL>\(text)</BaseURL><AdaptationSet><SegmentTemplate media="$Number$.m4s"/>
                    <Representation id="1"/></AdaptationSet>
                    """)
            let rewritten = try lab.rewritten()
            #expect(rewritten.book.references.map(\.isFolder) == [true])
            #expect(rewritten.book.references.allSatisfy { $0.url.path.hasSuffix("/") })
            #expect(rewritten.originals == lab.manifest.references.map(\.url))
            #expect(String(decoding: rewritten.bytes, as: UTF8.self).contains("c.example\(expected)</BaseURL>"))
        }
    }

    @Test(
        "A player that finds the MPD elsewhere, after a redirect, finds its files where they are",
        arguments: [
            "", "<BaseURL>v/</BaseURL>", "<BaseURL>../w/</BaseURL><BaseURL>//c.example/</BaseURL>",
            "<BaseURL>https://c.example/</BaseURL>", "<x:BaseURL xmlns:x=\"urn:x\">v/</x:BaseURL>",
        ])
    func placed(bases: String) throws {
        let url = DASHLab.origin.folder
        let text =
            "<MPD>\(bases)<Period><AdaptationSet><Representation><SegmentList><SegmentURL media=\"1\"/></SegmentList></Representation></AdaptationSet></Period></MPD>"
        let manifest = try DASHManifest(Array(text.utf8), url: url, limits: .standard)
        let before = manifest.references
        let elsewhere = try MediaURL("https://first.example/a/b/manifest.mpd")
        let book = LinkBook(manifest: elsewhere)
        let bytes = manifest.placed(at: elsewhere).rewritten { book.link($0) }
        let seen = try DASHManifest(bytes, url: book.address(of: elsewhere, number: "m"), limits: .standard)
        #expect(seen.references.map { book.original(of: $0.url) } == before.map(\.url))
        let same = manifest.placed(at: try MediaURL("https://origin.example/title/other.mpd"))
        #expect(same.rewritten { _ in nil } == manifest.rewritten { _ in nil })
    }

    @Test("A live MPD that was redirected is read again where it is")
    func placedLocation() throws {
        let elsewhere = try MediaURL("https://first.example/a/b/manifest.mpd")
        let text = "<MPD type=\"dynamic\"><Location>manifest.mpd?session=1</Location></MPD>"
        let manifest = try DASHManifest(Array(text.utf8), url: DASHLab.origin, limits: .standard)
        var urls: [String] = []
        _ = manifest.placed(at: elsewhere).rewritten {
            urls.append($0.url.absoluteString)
            return nil
        }
        #expect(urls.contains("https://origin.example/title/manifest.mpd?session=1"))
    }

    @Test("Every one of several BaseURL is led through the vault, and the first is what references use")
    func alternatives() throws {
        let lab = try DASHLab(try DASHCorpus.bytes("steering"))
        let rewritten = try lab.rewritten()
        #expect(
            rewritten.book.references.map(\.url.host)
                == ["cdn1.example", "cdn2.example", "cdn3.example"])
        #expect(rewritten.book.references.allSatisfy { $0.isFolder && $0.role == .segment })
    }

    @Test(
        "A template keeps its identifiers behind the link of its folder",
        arguments: [
            ("$Number$.m4s", "$Number$.m4s"), ("v/../$Number$.m4s", "v/../$Number$.m4s"),
            (
                "https://c.example/v/$RepresentationID$/$Number%05d$.m4s?t=/",
                "\(vault)/0/https/c.example/v/$RepresentationID$/$Number%05d$.m4s?t=/"
            ),
            ("/v$$/x-$Number$.m4s", "\(vault)/0/https/origin.example/v$$/x-$Number$.m4s"),
            ("../x-$Number$.m4s", "\(vault)/0/https/origin.example/x-$Number$.m4s"),
            ("https://c.example/v$$x/one.m4s", "\(vault)/0/https/c.example/v$$x/one.m4s"),
            ("https://c.example/?n=$Number$/", "\(vault)/0/https/c.example/?n=$Number$/"),
            ("https://c$Number$.example/v.m4s", "/refused"), ("https:$RepresentationID$/v.m4s", "/refused"),
            ("https://c.example/v/$Number$/../../$RepresentationID$", "/refused"),
            ("file:///$Number$", "/refused"), ("\\\\c.example/$Number$", "/refused"),
            ("$RepresentationID$/../../../$Number$", "/refused"),
            ("https://c.example/$RepresentationID$/../../$Number$", "/refused"),
        ])
    func template(text: String, expected: String) throws {
        let lab = try DASHLab(
            period: #"<AdaptationSet><SegmentTemplate media="\#(text)"/><Representation id="1"/></AdaptationSet>"#)
        #expect(try lab.rewrittenText().contains(#"media="\#(expected)""#))
        #expect(try lab.rewritten().strays.isEmpty)
    }

    @Test(
        "An id or a bit rate cannot lead a template elsewhere",
        arguments: [
            "https://evil.example/", "//evil.example/", "/evil", "../../x", "\\\\evil.example\\", "a/../../../x",
            "file:///x", "&#9;//evil.example/",
            " https://evil.example/", "&#10;https://evil.example",
        ])
    func hostileIds(id: String) throws {
        for attribute in ["id", "bandwidth"] {
            let name = attribute == "id" ? "RepresentationID" : "Bandwidth"
            let lab = try DASHLab(
                period: """
                    <AdaptationSet><SegmentTemplate media="$\(name)$/$Number$.m4s" initialization="$\(name)$"/>
                    <Representation \(attribute)="\(id)"/></AdaptationSet>
                    """)
            let rewritten = try lab.rewritten()
            #expect(rewritten.strays.isEmpty && rewritten.book.references.isEmpty)
            #expect(try lab.rewrittenText().contains(#"initialization="/refused" media="/refused""#))
            #expect(lab.manifest.references.isEmpty)
        }
    }

    @Test("An inherited template is resolved at the base of each Representation that inherits it")
    func inheritance() throws {
        let period: (String) -> String = { media in
            """
            <SegmentTemplate media="\(media)"/><AdaptationSet>
            <Representation id="1"><BaseURL>https://a.example/x/</BaseURL></Representation>
            <Representation id="2"><BaseURL>https://b.example/x/</BaseURL></Representation></AdaptationSet>
            """
        }
        #expect(try DASHLab(period: period("v/$Number$")).rewritten().originals.count == 2)
        #expect(try DASHLab(period: period("v/$Number$")).rewrittenText().contains(#"media="v/$Number$""#))
        // One text cannot mean a folder of both hosts.
        #expect(try DASHLab(period: period("/v/$Number$")).rewrittenText().contains(#"media="/refused""#))
        let same = try DASHLab(period: period("https://c.example/$Number$")).rewritten()
        #expect(same.originals.compactMap(\.self).map(\.host) == ["c.example", "c.example"])
    }

    @Test("What makes players ask around the vault is left out")
    func requests() throws {
        for (name, gone) in [
            ("steering", ["ContentSteering", "steering.example", "3455"]),
            ("broadcast", ["Metrics", "report.example", "tracker.example", "byteRange"]),
            ("live-timeline", ["PatchLocation", "patch.mpp", "ntp.example", "callback"]),
            ("live-numbers", ["UTCTiming", "time.example"]),
            ("low-latency", ["CMCD", "steering.example", "time.example"]),
            ("chained", ["Location", "elsewhere.example/"]), ("odd-xml", ["xml-stylesheet", "style.example"]),
            ("packager-on-demand", ["moreInformationURL"]),
        ] {
            let before = String(decoding: try DASHCorpus.bytes(name), as: UTF8.self)
            let after = try DASHLab(try DASHCorpus.bytes(name)).rewrittenText()
            for text in gone {
                #expect(before.contains(text), "\(name): \(text)")
                #expect(!after.contains(text), "\(name): \(text)")
            }
        }
    }

    @Test("Licences, events, fonts, and what is not understood stay or are led through the vault")
    func kept() throws {
        for (name, texts) in [
            ("bento-protected", ["https://drm.example/wv?key=1&amp;x=2", "AAAANHBzc2gB", "kgIAAAEAAQCIAjwAVwBSAE0="]),
            ("broadcast", ["http://www.scte.org/schemas/35/2016", "dvb:priority", "/https/fonts.example/f.woff"]),
            (
                "live-timeline",
                [
                    "urn:mpeg:dash:event:2012", "utc:direct:2014", "/https/cdn.example/live/manifest.mpd?session=1",
                    "r=\"-1\"",
                ]
            ),
            ("low-latency", ["<Latency", "<PlaybackRate", "ProducerReferenceTime", "availabilityTimeComplete"]),
            (
                "chained",
                [
                    "/https/next.example/next.mpd", "/https/one.example/f.mpd ", "/https/origin.example/f.mpd g.mpd",
                    "/https/init.example/i.mp4",
                ]
            ),
            (
                "odd-xml",
                [
                    "x:unknown=\"a&#9;b&#10;c&quot;&lt;&amp;'\"",
                    "&lt;not&gt; &amp; markup ]]&gt; endtext &lt; &amp; &gt; ü",
                ]
            ),
            ("layered", ["SubRepresentation"]), ("languages", ["<Preselection"]),
        ] {
            let after = try DASHLab(try DASHCorpus.bytes(name)).rewrittenText()
            for text in texts { #expect(after.contains(text), "\(name): \(text)") }
        }
    }

    @Test("The roles of what is linked are those of what is requested")
    func roles() throws {
        var roles: [String: ManifestReference.Role] = [:]
        for name in ["live-timeline", "chained", "broadcast", "absolute-templates"] {
            _ = try DASHLab(try DASHCorpus.bytes(name)).manifest.rewritten {
                roles[$0.url.host + $0.url.path] = $0.role
                return nil
            }
        }
        #expect(roles["cdn.example/live/manifest.mpd"] == .playlist)
        #expect(roles["next.example/next.mpd"] == .playlist)
        #expect(roles["init.example/i.mp4"] == .initialization)
        #expect(roles["fonts.example/f.woff"] == .data)
        #expect(roles["net.example/one.m4s"] == .segment)
        #expect(roles["net.example/i.mp4"] == .initialization)
    }

    @Test("A link is escaped for the template and for XML")
    func escaping() throws {
        let lab = try DASHLab(
            period:
                #"<AdaptationSet><SegmentTemplate media="https://c.example/$Number$"/><Representation/></AdaptationSet>"#
        )
        let text = String(decoding: lab.manifest.rewritten { _ in #"http://v/a$b"&<{ü}/"# }, as: UTF8.self)
        #expect(text.contains(##"media="http://v/a$$b%22&amp;%3C%7B%C3%BC%7D/$Number$""##))
    }
}
