import Testing
import VaultModel

@testable import VaultManifest

/// MPDs that some players read differently than an XML parser does: each of these led a player around the vault.
@Suite("DASH manifests that players misread")
struct DASHMisreadingTests {
    private static func rewritten(_ period: String) throws -> String { try DASHLab(period: period).rewrittenText() }

    @Test("An attribute with a prefix is gone if libxml2 takes it for one without, and others stay")
    func prefixedAttributes() throws {
        let text = try Self.rewritten(
            """
            <AdaptationSet xmlns:a="urn:a" xmlns:dvb="urn:dvb:dash:dash-extensions:2014-1" dvb:priority="1" xml:base="https://evil.example/">
            <SegmentTemplate a:media="https://evil.example/$Number$" a:initialization="https://evil.example/i" a:index="//evil.example/x"
            a:bitstreamSwitching="//evil.example/b" media="$RepresentationID$/$Number$.m4s"><Initialization a:sourceURL="//evil.example/i"/>
            </SegmentTemplate><Representation a:id="//evil.example/" a:bandwidth="//evil.example/" id="1"/></AdaptationSet>
            """)
        #expect(!text.contains("evil"))
        #expect(text.contains("dvb:priority=\"1\""))
    }

    @Test("An attribute is gone if a parser might drop the beginning of its name")
    func oddlyNamedAttributes() throws {
        let text = try Self.rewritten(
            """
            <AdaptationSet><SegmentTemplate _media="https://evil.example/$Number$" émedia="https://evil.example/$Number$"/>
            <Representation id="1"/></AdaptationSet>
            """)
        #expect(!text.contains("evil"))
    }

    @Test(
        "An element whose name has other capitals is refused: ffmpeg ignores their case",
        arguments: [
            "baseurl", "BASEURL", "x:BaseUrl", "segmentTemplate", "Segmentlist", "SEGMENTBASE", "segmentURL",
            "initialization", "representationIndex", "adaptationSet", "representation", "PERIOD", "location",
        ])
    func capitals(name: String) {
        let child = "<\(name)>https://evil.example/</\(name)>"
        #expect(throws: ManifestError.malformed(line: 2, .element)) {
            try DASHLab(period: "\n<AdaptationSet><Representation id=\"1\">\(child)</Representation></AdaptationSet>")
        }
    }

    @Test("Within events and protection, names are not those of DASH")
    func foreignElements() throws {
        let period = """
            <EventStream schemeIdUri="urn:example"><Event><location>x</location></Event></EventStream>
            <AdaptationSet><ContentProtection schemeIdUri="urn:x"><representation/></ContentProtection><Representation/></AdaptationSet>
            """
        #expect(try Self.rewritten(period).contains("<location>x</location>"))
    }

    @Test(
        "Nothing of a comment, an instruction or a CDATA section stays in which a parser could find markup",
        arguments: [
            "<!--><BaseURL>https://evil.example/</BaseURL>-->", "<!---><BaseURL>https://evil.example/</BaseURL>-->",
            "<?x ><BaseURL>https://evil.example/</BaseURL></?x>?>", "<?x a='><BaseURL>https://evil.example/?>",
            "<x><![CDATA[<BaseURL>https://evil.example/</BaseURL>]]></x>",
            "<BaseURL><![CDATA[https&#58;//evil.example/]]></BaseURL>",
        ])
    func hiddenMarkup(text: String) throws {
        let rewritten = try Self.rewritten(
            "<AdaptationSet><Representation id=\"1\">\(text)</Representation></AdaptationSet>")
        for hidden in ["<!", "<?", ">https:", "https&#58;"] { #expect(!rewritten.contains(hidden), "\(hidden)") }
    }

    @Test("A text is one text, whatever comments, instructions and sections it is made of")
    func splitText() throws {
        let lab = try DASHLab(
            period: """
                <AdaptationSet><Representation id="1"><BaseURL> ht<!-- a -->tps:<?p q?>//c.ex<![CDATA[ample/]]>v&#46;mp4
                </BaseURL></Representation></AdaptationSet>
                """)
        #expect(lab.references == ["segment - https://c.example/v.mp4"])
        #expect(try lab.rewrittenText().contains("<BaseURL>http://127.0.0.1:8300/d/0/https/c.example/v.mp4</BaseURL>"))
    }

    @Test(
        "What may be said once is refused if it is said twice: one player takes the first, another the last",
        arguments: [
            "<SegmentTemplate media=\"a\"/>", "<SegmentList><SegmentURL media=\"a\"/></SegmentList>", "<SegmentBase/>",
        ])
    func twice(element: String) throws {
        _ = try DASHLab(period: "<AdaptationSet>\(element)<Representation/></AdaptationSet>")
        #expect(throws: ManifestError.malformed(line: 2, .element)) {
            try DASHLab(period: "<AdaptationSet>\(element)\n\(element)<Representation/></AdaptationSet>")
        }
        for name in ["Initialization", "RepresentationIndex", "BitstreamSwitching"] {
            let part = "<\(name) sourceURL=\"a\"/>"
            _ = try DASHLab(period: "<SegmentBase>\(part)</SegmentBase>")
            #expect(throws: ManifestError.malformed(line: 2, .element)) {
                try DASHLab(period: "<SegmentBase>\(part)\n\(part)</SegmentBase>")
            }
        }
    }
}
