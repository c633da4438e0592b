import Testing
import VaultModel

@testable import VaultService

@Suite("Selection")
struct SelectionTests {
    private func facts(length: Int64? = 1000, isWholeAnswer: Bool = false) -> MediaFacts {
        MediaFacts(
            information: ContentInformation(
                length: length, type: nil, validators: Validators(), supportsRanges: !isWholeAnswer),
            entityTag: EntityTag(strong: "v1"), isWholeAnswer: isWholeAnswer, cacheStatus: .hit)
    }

    private func selection(_ field: String, ifRange: [String] = [], of facts: MediaFacts) -> Selection {
        let request = MediaRequest(
            method: .get, range: [field], conditions: Conditions(ifRange: ifRange, now: 0))
        return Selection(request, of: facts)
    }

    @Test(
        "A Range field selects the bytes that the table of real servers requires",
        arguments: [
            ("bytes=0-9", .single(.closed(first: 0, last: 9))), ("bytes=0-0,2-2", .several([0..<1, 2..<3])),
            ("bytes=0-99,50-149", .whole), ("bytes=0-,0-,0-,0-", .whole),
            ("bytes=2000-,0-4", .single(.closed(first: 0, last: 4))), ("bytes=2000-,3000-", .nothing),
            ("bytes=9-2", .nothing), ("items=0-9", .whole),
        ] as [(String, Selection)])
    func fields(field: String, expected: Selection) {
        #expect(selection(field, of: facts()) == expected)
    }

    @Test("If If-Range names another representation, the answer is whole, whatever the range")
    func ifRange() {
        for field in ["bytes=0-9", "bytes=0-0,2-2", "bytes=9-2", "bytes=2000-,3000-"] {
            #expect(selection(field, ifRange: ["\"v2\""], of: facts()) == .whole)
            #expect(selection(field, ifRange: ["\"v1\""], of: facts()) == selection(field, of: facts()))
        }
    }

    @Test("Several ranges are answered whole if the length is unknown or the origin does not support ranges")
    func unknown() {
        #expect(selection("bytes=0-0,2-2", of: facts(length: nil)) == .whole)
        #expect(selection("bytes=0-0,2-2", of: facts(isWholeAnswer: true)) == .whole)
    }

    @Test("The last bytes of an empty resource are the whole of it, also among other ranges (RFC 9110 §14.1.2)")
    func lastByteOfEmptyResource() {
        #expect(selection("bytes=0-0,-2", of: facts(length: 0)) == .whole)
        #expect(selection("bytes=0-0,2-2", of: facts(length: 0)) == .nothing)
        #expect(selection("bytes=0-0,-0", of: facts(length: 0)) == .nothing)
    }

    @Test("A part is requested by its first and last byte")
    func part() {
        #expect((5..<6 as ByteRange).asRequested == .closed(first: 5, last: 5))
    }
}
