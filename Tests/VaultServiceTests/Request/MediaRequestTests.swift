import Testing
import VaultModel

@testable import VaultService

@Suite("Media request")
struct MediaRequestTests {
    typealias Wanted = MediaRequest.Wanted

    @Test(
        "A Range field is parsed as the table of real servers requires",
        arguments: [
            ("bytes=0-9", Wanted.single(.closed(first: 0, last: 9))), ("bytes=-10", .single(.suffix(10))),
            ("bytes=42834-", .single(.from(42834))), ("bytes=-99999999999", .single(.suffix(99_999_999_999))),
            ("Bytes=0-9", .single(.closed(first: 0, last: 9))),
            ("bytes=0000000000-9", .single(.closed(first: 0, last: 9))),
            ("bytes=0-", .single(.from(0))), ("bytes=0-18446744073709551616", .single(.closed(first: 0, last: .max))),
            ("bytes=18446744073709551615-", .single(.from(.max))),
            ("bytes=-0", .nothing), ("bytes=5-2", .nothing), ("bytes=abc", .nothing), ("bytes=-", .nothing),
            ("bytes=--5", .nothing),
            ("bytes=0x0-9", .nothing), ("bytes=0-9;q=1", .nothing), ("bytes=+0-9", .nothing),
            ("items=0-9", .whole), ("bytes = 0-9", .whole), ("", .whole), ("bytes=", .whole),
            ("bytes=0-0,2-2", .several([.closed(first: 0, last: 0), .closed(first: 2, last: 2)])),
            ("bytes=0-,-5", .several([.from(0), .suffix(5)])), ("bytes=0-9,", .single(.closed(first: 0, last: 9))),
            ("bytes=, ,", .whole),
        ])
    func wanted(field: String, expected: Wanted) {
        #expect(MediaRequest(method: .get, range: [field]).wanted == expected)
    }

    @Test("Two hundred ranges request the whole resource")
    func manyRanges() {
        let field = "bytes=" + (0..<200).map { "\($0 * 2)-\($0 * 2)" }.joined(separator: ",")
        #expect(MediaRequest(method: .get, range: [field]).wanted == .whole)
    }

    @Test("No Range line, or two of them, request the whole resource")
    func lines() {
        #expect(MediaRequest(method: .get).wanted == .whole)
        #expect(MediaRequest(method: .get, range: ["bytes=0-1", "bytes=4-5"]).wanted == .whole)
    }

    @Test("HEAD ignores ranges", arguments: ["bytes=0-9", "bytes=9-2", "bytes=-0", "bytes=0-0,2-2"])
    func head(field: String) {
        #expect(MediaRequest(method: .head, range: [field]).wanted == .whole)
    }

    @Test("A range is opened at once unless the answer depends on the representation, so that it costs one request")
    func immediateRange() {
        let range = RequestedRange.closed(first: 0, last: 9)
        let ifRange = Conditions(ifRange: ["\"v1\""], now: 0)
        let ifNoneMatch = Conditions(ifNoneMatch: ["\"v1\""], now: 0)
        for (field, conditions, expected) in [
            (nil, .none, .whole), ("bytes=0-9", .none, range), (nil, ifRange, .whole), ("bytes=0-9", ifRange, nil),
            (nil, ifNoneMatch, nil), ("bytes=0-9", ifNoneMatch, nil), ("bytes=0-0,2-2", .none, nil),
            ("bytes=9-2", .none, nil), ("items=0-9", ifRange, .whole),
        ] as [(String?, Conditions, RequestedRange?)] {
            let request = MediaRequest(method: .get, range: field.map { [$0] } ?? [], conditions: conditions)
            #expect(request.immediateRange == expected, "\(field ?? "")")
        }
        #expect(MediaRequest(method: .head).immediateRange == nil)
    }
}
