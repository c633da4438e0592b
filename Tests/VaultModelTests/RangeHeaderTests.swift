import Testing
import VaultModel

@Suite("Range header")
struct RangeHeaderTests {
    /// The length of the file from which odd ranges were requested of real servers.
    private static let length: Int64 = 42_835

    /// The resolution of a single range in `value`; nil for 416.
    private static func resolved(_ value: String) -> ByteRange? {
        guard case .ranges(let ranges) = RangeHeader(value), ranges.count == 1 else { return nil }
        return ranges[0].resolved(length: length)
    }

    @Test(
        "A range that every server answers with a part gives a part",
        arguments: [
            ("bytes=0-9", 0..<10), ("bytes=-10", 42_825..<42_835), ("bytes=42834-", 42_834..<42_835),
            ("bytes=-99999999999", 0..<42_835), ("Bytes=0-9", 0..<10), ("BYTES=0-9", 0..<10),
            ("bytes=00000000000000000000000000000000-9", 0..<10), ("bytes=0-18446744073709551616", 0..<42_835),
            ("bytes=0-9223372036854775807", 0..<42_835), ("bytes=42834-42834", 42_834..<42_835),
            ("bytes=-99999999999999999999999", 0..<42_835), ("bytes=0-", 0..<42_835), ("bytes= 0-9 ", 0..<10),
            ("bytes=\t0-9", 0..<10), ("bytes=42834-42835", 42_834..<42_835),
        ] as [(String, ByteRange)])
    func parts(value: String, range: ByteRange) {
        #expect(Self.resolved(value) == range)
    }

    @Test(
        "A range without an existing byte is read, and resolves to nothing: 416",
        arguments: [
            "bytes=42835-", "bytes=42835-42840", "bytes=-0", "bytes=18446744073709551615-",
            "bytes=18446744073709551615-18446744073709551616", "bytes=9223372036854775807-9223372036854775807",
        ])
    func nothing(value: String) {
        guard case .ranges(let ranges) = RangeHeader(value) else {
            Issue.record("\(value) cannot be read as a range")
            return
        }
        #expect(ranges.count == 1)
        #expect(ranges[0].resolved(length: Self.length) == nil)
    }

    @Test(
        "Text that is not a list of ranges is malformed, never a part",
        arguments: [
            "bytes=5-2", "bytes=abc", "bytes=-", "bytes=--5", "bytes=0x0-9", "bytes=0-9;q=1", "bytes=+0-9",
            "bytes=0-+9",
            "bytes=0 -9", "bytes=0- 9", "bytes=0", "bytes=0-9-", "bytes=0--9",
            "bytes=0.0-9", "bytes=1e1-", "bytes=٠-٩", "bytes=０-９", "bytes=0-9, bytes=20-29", "bytes==0-9",
            "bytes=0-9\u{0}",
            "bytes=0-9\r\n", "bytes=0\u{301}-9",
        ])
    func malformed(value: String) {
        #expect(RangeHeader(value) == .malformed)
    }

    @Test(
        "A missing field, an empty value and an unknown unit are ignored: 200",
        arguments: [
            nil, "", " ", "items=0-9", "bytes = 0-9", " bytes=0-9", "bytes", "bytes:0-9", "0-9", "bytes=", "bytes= \t",
            "bytes=,", "bytes= , ,",
            "=0-9",
            "bytes\u{301}=0-9", "byteſ=0-9",
        ] as [String?])
    func ignored(value: String?) {
        #expect(RangeHeader(value) == .ignored)
    }

    @Test(
        "Empty list members are ignored (RFC 9110 §5.6.1.2)",
        arguments: ["bytes=0-9,", "bytes=,0-9", "bytes=, ,\t,0-9,,"])
    func emptyMembers(value: String) {
        #expect(RangeHeader(value) == .ranges([.closed(first: 0, last: 9)]))
        #expect(RangeHeader("bytes=" + String(repeating: ",", count: 70_000)) == .ignored)
    }

    @Test("Several ranges keep the requested order")
    func several() {
        #expect(
            RangeHeader("bytes=0-0,2-2") == .ranges([.closed(first: 0, last: 0), .closed(first: 2, last: 2)]))
        #expect(
            RangeHeader("bytes=9-, 0-4\t,\t-3")
                == .ranges([.from(9), .closed(first: 0, last: 4), .suffix(3)]))
    }

    @Test("Overlapping ranges are all returned: the answer bounds their cost")
    func overlapping() {
        #expect(RangeHeader("bytes=0-,0-,0-,0-") == .ranges(Array(repeating: .from(0), count: 4)))
        #expect(
            RangeHeader("bytes=0-99,50-149") == .ranges([.closed(first: 0, last: 99), .closed(first: 50, last: 149)]))
    }

    @Test("More than sixteen ranges are ignored", arguments: [(16, false), (17, true), (200, true), (10_000, true)])
    func many(count: Int, isIgnored: Bool) {
        let list = (0..<count).map { "\($0 * 2)-\($0 * 2)" }.joined(separator: ",")
        #expect((RangeHeader("bytes=\(list)") == .ignored) == isIgnored)
    }

    @Test("Positions beyond 32 bits are exact")
    func large() {
        guard case .ranges(let ranges) = RangeHeader("bytes=4294967295-4294967300") else {
            Issue.record("the field cannot be read")
            return
        }
        #expect(ranges[0].resolved(length: 5_000_000_000) == 4_294_967_295..<4_294_967_301)
    }
}
