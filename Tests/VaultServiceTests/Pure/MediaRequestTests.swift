import Testing
import VaultModel

@testable import VaultService

@Suite("Media request")
struct MediaRequestTests {
    typealias Wanted = MediaRequest.Wanted

    @Test(
        "A Range field comes to what the table of real servers says",
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
            ("bytes=0-0,2-2", .whole), ("bytes=0-99,50-149", .whole), ("bytes=0-,0-,0-,0-", .whole),
        ])
    func wanted(field: String, expected: Wanted) {
        #expect(MediaRequest(method: .get, range: [field]).wanted == expected)
    }

    @Test("Two hundred ranges ask for everything")
    func manyRanges() {
        let field = "bytes=" + (0..<200).map { "\($0 * 2)-\($0 * 2)" }.joined(separator: ",")
        #expect(MediaRequest(method: .get, range: [field]).wanted == .whole)
    }

    @Test("No Range line and two of them ask for everything (H8)")
    func lines() {
        #expect(MediaRequest(method: .get).wanted == .whole)
        #expect(MediaRequest(method: .get, range: ["bytes=0-1", "bytes=4-5"]).wanted == .whole)
    }

    @Test("HEAD has no ranges", arguments: ["bytes=0-9", "bytes=9-2", "bytes=-0"])
    func head(field: String) {
        let request = MediaRequest(method: .head, range: [field], ifRange: ["\"x\""])
        #expect(request.wanted == .whole)
        #expect(!request.isConditional)
    }

    @Test(
        "Only the same strong tag lets a range count",
        arguments: [
            (["\"v1\""], true), ([], true), (["W/\"v1\""], false), (["\"v2\""], false), (["v1"], false), ([""], false),
            (["Sat, 21 Nov 2026 12:00:00 GMT"], false), (["\"v1\", \"v2\""], false), (["\"v1\"", "\"v1\""], false),
        ])
    func ifRange(fields: [String], counts: Bool) {
        let request = MediaRequest(method: .get, range: ["bytes=0-9"], ifRange: fields)
        #expect(request.rangeCounts(for: EntityTag(strong: "v1")) == counts)
        #expect(request.isConditional == !fields.isEmpty)
    }

    @Test("If-Range without a range changes nothing")
    func ifRangeAlone() {
        #expect(!MediaRequest(method: .get, ifRange: ["\"v1\""]).isConditional)
    }
}
