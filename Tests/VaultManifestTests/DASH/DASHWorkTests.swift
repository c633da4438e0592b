import Testing
import VaultModel

@testable import VaultManifest

/// MPDs with so many elements that work for each two of them would take minutes.
@Suite("Work for large DASH manifests", .timeLimit(.minutes(5)))
struct DASHWorkTests {
    private static let many = 5000

    @Test("Elements that no player reads are not resolved at the base of each Representation")
    func strayElements() throws {
        let stray = String(repeating: #"<x><Initialization sourceURL="../i"/></x>"#, count: Self.many)
        let representations = (0..<Self.many).map {
            "<Representation id=\"\($0)\"><BaseURL>\($0)/</BaseURL></Representation>"
        }
        let lab = try DASHLab(
            period: "<SegmentTemplate media=\"m\"/>\(stray)<AdaptationSet>\(representations.joined())</AdaptationSet>")
        var links = 0
        _ = lab.manifest.rewritten { _ in
            links += 1
            return "l"
        }
        #expect(links == Self.many)
    }

    @Test("Representations without an id are chosen by their place")
    func namelessRepresentations() throws {
        let representations = (0..<Self.many).map {
            "<Representation height=\"\($0)\"><BaseURL>\($0)</BaseURL></Representation>"
        }
        let lab = try DASHLab(
            period: "<AdaptationSet contentType=\"video\">\(representations.joined())</AdaptationSet>")
        #expect(lab.manifest.renditions.count == Self.many)
        #expect(lab.manifest.selecting(RenditionSelection()).references.map(\.url.path) == ["/title/\(Self.many - 1)"])
    }

    @Test("A place is not taken for an id that looks like one")
    func placeLikeIds() throws {
        let lab = try DASHLab(
            period: """
                <AdaptationSet contentType="video"><Representation id="x.1" height="9"><BaseURL>tall</BaseURL></Representation>
                <Representation height="5"><BaseURL>low</BaseURL></Representation></AdaptationSet>
                """)
        #expect(lab.manifest.selecting(RenditionSelection()).references.map(\.url.path) == ["/title/tall"])
        #expect(
            lab.manifest.selecting(RenditionSelection(video: .worst)).references.map(\.url.path) == ["/title/low"])
    }
}
