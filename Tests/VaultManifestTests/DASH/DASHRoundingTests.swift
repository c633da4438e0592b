import Testing
import VaultModel

@testable import VaultManifest

@Suite("Segments of a number that is computed")
struct DASHRoundingTests {
    private static func lab(_ template: String, length: String = "PT9S") throws -> DASHLab {
        try DASHLab(
            period: #"<AdaptationSet><SegmentTemplate \#(template)/><Representation id="v"/></AdaptationSet>"#,
            attributes: #"type="static" mediaPresentationDuration="\#(length)""#)
    }

    @Test(
        "The last of a number that was rounded up need not be there; what is stated, exact or the first must be",
        arguments: [
            (#"media="$Number$.m4s" duration="4" initialization="i.mp4""#, "PT9S", ["3.m4s"]),
            (#"media="$Time$.m4s" duration="4000" timescale="1000""#, "PT8.001S", ["8000.m4s"]),
            (#"media="$Number$.m4s" duration="4" startNumber="0" index="$Number$.idx""#, "PT5S", ["1.m4s"]),
            (#"media="$Number$.m4s" duration="10""#, "PT59.5S", []),
            (#"media="$Number$.m4s" duration="1""#, "PT4.6S", []),
            (#"media="$Number$.m4s" duration="4""#, "PT8S", []), (#"media="$Number$.m4s" duration="4""#, "PT3S", []),
            (#"media="$Number$.m4s" duration="4" endNumber="3""#, "PT9S", []),
            (#"media="all.m4s" duration="4""#, "PT9S", []), (#"media="$Number$.m4s" duration="4""#, "", []),
        ] as [(String, String, [String])])
    func rounding(template: String, length: String, absent: [String]) throws {
        let references = try Self.lab(template, length: length).manifest.references
        #expect(
            references.filter(\.mayBeAbsent).map { $0.url.path.split(separator: "/").last.map(String.init) } == absent)
        #expect(references.first?.mayBeAbsent == false)
    }

    @Test("The segments of a timeline are stated, also where the last one is repeated until the end")
    func timeline() throws {
        let timeline = #"<SegmentTimeline><S t="0" d="4" r="-1"/></SegmentTimeline>"#
        let lab = try DASHLab(
            period: #"<AdaptationSet><SegmentTemplate media="$Number$.m4s">\#(timeline)</SegmentTemplate>"#
                + #"<Representation id="v"/></AdaptationSet>"#,
            attributes: #"type="static" mediaPresentationDuration="PT9S""#)
        #expect(lab.manifest.references.count == 3)
        #expect(lab.manifest.references.allSatisfy { !$0.mayBeAbsent })
    }

    @Test("A copy names no last segment that is not there, and the others as before")
    func local() throws {
        let manifest = try Self.lab(#"media="$Number$.m4s" duration="4""#).manifest
        let last = try #require(manifest.references.last { $0.mayBeAbsent })
        var whole = LocalNames(of: manifest.references)
        var short = LocalNames(of: manifest.references.filter { $0.url != last.url })
        let text = String(decoding: manifest.local(&whole), as: UTF8.self)
        #expect(text.contains(#"r="2""#) && whole.files.map(\.name) == ["1-1.m4s", "1-2.m4s", "1-3.m4s"])
        let cut = String(decoding: manifest.local(&short), as: UTF8.self)
        #expect(cut.contains(#"r="1""#) && short.files.map(\.name) == ["1-1.m4s", "1-2.m4s"])
    }
}
