import Testing
import VaultModel

@testable import VaultManifest

@Suite("Places of the same files")
struct DASHAlternativesTests {
    private static let media = #"<SegmentTemplate media="$Number$.m4s"/>"#

    /// The places of each file, in the order of the manifest.
    private static func places(_ content: String) throws -> [[String]] {
        let manifest = try DASHLab(Array(#"<MPD mediaPresentationDuration="PT4S">\#(content)</MPD>"#.utf8)).manifest
        let alternatives = manifest.alternatives
        return manifest.references.map { reference in
            ([reference.url] + (alternatives[reference.url] ?? [])).map {
                $0.absoluteString.replacing(DASHLab.origin.absoluteString, with: "")
            }
        }
    }

    @Test(
        "A second BaseURL is another place of the same files, wherever it stands",
        arguments: [
            "* <Period><AdaptationSet>+<Representation/></AdaptationSet></Period>",
            "<Period>*<AdaptationSet>+<Representation/></AdaptationSet></Period>",
            "<Period><AdaptationSet>*+<Representation/></AdaptationSet></Period>",
            "<Period><AdaptationSet>+<Representation>*</Representation></AdaptationSet></Period>",
        ])
    func levels(content: String) throws {
        let bases = "<BaseURL>a/</BaseURL><BaseURL>https://b.example/</BaseURL>"
        let places = try Self.places(content.replacing("*", with: bases).replacing("+", with: Self.media))
        #expect(places == [["a/1.m4s", "https://b.example/1.m4s"]])
    }

    @Test("A place that names more files than a manifest may is none", arguments: ["data:,", "ftp://x/"])
    func unaffordable(first: String) throws {
        let media = #"<SegmentTemplate media="$Number$.m4s" duration="1" timescale="1000"/>"#
        let text = """
            <MPD type="static" mediaPresentationDuration="PT10H"><Period><AdaptationSet><Representation>\
            <BaseURL>\(first)</BaseURL><BaseURL>v/</BaseURL>\(media)</Representation></AdaptationSet>\
            <AdaptationSet><Representation><BaseURL>ok.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>
            """
        #expect(try DASHLab(Array(text.utf8)).manifest.alternatives.isEmpty)
    }

    @Test("Places of several levels combine, those that differ from the first in one level before the others")
    func combinations() throws {
        let places = try Self.places(
            """
            <BaseURL>a/</BaseURL><BaseURL>b/</BaseURL><Period><BaseURL>c/</BaseURL><BaseURL>d/</BaseURL>\
            <AdaptationSet>\(Self.media)<Representation/></AdaptationSet></Period>
            """)
        #expect(places.map(\.first) == ["a/c/1.m4s"] && places.map(\.last) == ["b/d/1.m4s"])
        #expect(Set(places[0]) == ["a/c/1.m4s", "a/d/1.m4s", "b/c/1.m4s", "b/d/1.m4s"])
    }

    @Test("What is absolute, or has one place, has no other; a place that cannot be requested is none")
    func none() throws {
        let two = "<BaseURL>a/</BaseURL><BaseURL>b/</BaseURL>"
        let absolute = #"<SegmentTemplate media="https://c.example/$Number$.m4s"/>"#
        let set = { (template: String) in
            "<Period><AdaptationSet>\(template)<Representation/></AdaptationSet></Period>"
        }
        #expect(try Self.places(two + set(absolute)) == [["https://c.example/1.m4s"]])
        #expect(try Self.places("<BaseURL>a/</BaseURL>" + set(Self.media)) == [["a/1.m4s"]])
        let refused = "<BaseURL>a/</BaseURL><BaseURL>file:///etc/</BaseURL>"
        #expect(try Self.places(refused + set(Self.media)) == [["a/1.m4s"]])
    }

    @Test("The number of places of one file is bounded, whatever stands where")
    func bound() throws {
        let bases = { (name: String) in (0..<50).map { "<BaseURL>\(name)\($0)/</BaseURL>" }.joined() }
        let places = try Self.places(
            """
            \(bases("m"))<Period>\(bases("p"))<AdaptationSet>\(bases("a"))\(Self.media)\
            <Representation>\(bases("r"))</Representation></AdaptationSet></Period>
            """)
        #expect(places.map(\.count) == [8])
    }

    @Test("Players get a link for each place")
    func links() throws {
        let lab = try DASHLab(
            period: """
                <BaseURL>https://a.example/x/</BaseURL><BaseURL>https://b.example/y/</BaseURL>\
                <AdaptationSet>\(Self.media)<Representation/></AdaptationSet>
                """)
        let rewritten = try lab.rewritten()
        #expect(
            rewritten.book.references.map(\.url.absoluteString) == ["https://a.example/x/", "https://b.example/y/"])
        let others = rewritten.manifest.alternatives.values.flatMap { $0 }
        #expect(others.compactMap(rewritten.book.original).map(\.absoluteString) == ["https://b.example/y/1.m4s"])
    }
}
