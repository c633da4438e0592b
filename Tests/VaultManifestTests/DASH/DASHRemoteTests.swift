import Testing
import VaultModel

@testable import VaultManifest

@Suite("Elements of an MPD that another document has")
struct DASHRemoteTests {
    private static let set =
        #"<AdaptationSet><Representation id="1"><BaseURL>v.mp4</BaseURL></Representation></AdaptationSet>"#
    private static let list = #"<SegmentList x:href="l.xml"><SegmentURL media="v.mp4"/></SegmentList>"#
    private static let zero = #"xlink:href="urn:mpeg:dash:resolve-to-zero:2013" xlink:actuate="onLoad""#

    private static func lab(_ content: String) throws -> DASHLab {
        let namespaces = #"xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:x="http://www.w3.org/1999/xlink""#
        return try DASHLab(Array(#"<MPD type="static" \#(namespaces)>\#(content)</MPD>"#.utf8))
    }

    @Test(
        "What resolves to nothing is left out, with everything in it",
        arguments: [
            "<Period \(zero)/><Period>\(set)</Period>", "<Period>\(set)<AdaptationSet \(zero)/></Period>",
            "<Period \(zero)><BaseURL>w/</BaseURL>\(set)</Period><Period>\(set)</Period>",
            "<Period><EventStream x:href=' urn:mpeg:dash:resolve-to-zero:2013 '/>\(set)</Period>",
            "<Period><SegmentList \(zero)/>\(set)</Period>",
        ])
    func nothing(content: String) throws {
        let lab = try Self.lab(content)
        #expect(lab.references == ["segment - v.mp4"])
        #expect(try !lab.rewrittenText().contains("href"))
    }

    @Test(
        "What has content of its own is read as it stands, and players get no link",
        arguments: [
            #"<Period xlink:href="https://evil.example/p.xml" xlink:actuate="onRequest">\#(set)</Period>"#,
            #"<Period x:href="p.xml" x:actuate="onLoad" x:type="simple">\#(set)</Period>"#,
            #"<Period>\#(set.replacing("<AdaptationSet", with: #"<AdaptationSet xlink:href="a.xml""#))</Period>"#,
            "<Period><AdaptationSet>\(list)<Representation/></AdaptationSet></Period>",
            #"<Period><EventStream xlink:href="e.xml"><Event/></EventStream>\#(set)</Period>"#,
        ])
    func content(content: String) throws {
        let lab = try Self.lab(content)
        #expect(lab.references == ["segment - v.mp4"])
        let text = try lab.rewrittenText()
        #expect(["href", "actuate", ".xml"].allSatisfy { !text.contains($0) })
        var names = LocalNames(of: lab.manifest.references)
        #expect(!String(decoding: lab.manifest.local(&names), as: UTF8.self).contains("href"))
    }

    @Test(
        "What has nothing that plays is refused: what it would be is elsewhere",
        arguments: [
            #"<Period xlink:href="p.xml" xlink:actuate="onRequest"><BaseURL>v/</BaseURL></Period>"#,
            #"<Period><AdaptationSet x:href="a.xml"><Role value="main"/></AdaptationSet></Period>"#,
            #"<Period><SegmentList xlink:href="l.xml"><Initialization sourceURL="i"/></SegmentList>\#(set)</Period>"#,
            #"<Period xlink:href="urn:mpeg:dash:resolve-to-zero:2014"/>"#,
            #"<Period xlink:href="urn:mpeg:dash:resolve-to-zero:2013"/><Period xlink:href="p.xml"/>"#,
        ])
    func remote(content: String) {
        #expect(throws: ManifestError.remoteElement) { try Self.lab(content) }
    }
}
