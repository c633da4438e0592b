import Testing
import VaultModel

@Suite("Content-Range")
struct ContentRangeTests {
    @Test(
        "A valid field is read, and its inclusive end becomes half-open",
        arguments: [
            ("bytes 0-0/1", .bytes(0..<1, total: 1)), ("bytes 0-100/1000", .bytes(0..<101, total: 1000)),
            ("bytes 42-1233/1234", .bytes(42..<1234, total: 1234)), ("bytes 42-1233/*", .bytes(42..<1234, total: nil)),
            ("bytes */1234", .unsatisfied(total: 1234)), ("bytes */0", .unsatisfied(total: 0)),
            ("Bytes 0-9/10", .bytes(0..<10, total: 10)), ("BYTES */7", .unsatisfied(total: 7)),
            ("  bytes  0-9/10\t", .bytes(0..<10, total: 10)), ("bytes 00-09/010", .bytes(0..<10, total: 10)),
            (
                "bytes 4294967295-4294967300/5000000000",
                .bytes(4_294_967_295..<4_294_967_301, total: 5_000_000_000)
            ),
            (
                "bytes 0-9223372036854775806/9223372036854775807",
                .bytes(0..<9_223_372_036_854_775_807, total: 9_223_372_036_854_775_807)
            ),
            ("bytes 0-9223372036854775806/*", .bytes(0..<9_223_372_036_854_775_807, total: nil)),
        ] as [(String, ContentRange)])
    func valid(value: String, expected: ContentRange) {
        #expect(ContentRange(value) == expected)
    }

    @Test(
        "An invalid field is refused (RFC 9110 §14.4)",
        arguments: [
            "", "bytes", "bytes ", "bytes 5-4/10", "bytes 0-10/10", "bytes 10-10/10", "bytes 0-9/9", "bytes 0-9",
            "bytes 0-9/",
            "bytes */*", "bytes */", "bytes /10", "bytes -9/10", "bytes 0-/10", "bytes -/10", "bytes 0/10",
            "items 0-9/10",
            "bytes=0-9/10", "bytes: 0-9/10", "0-9/10", "bytes 0-9/10/10", "bytes 0-9-9/10", "bytes 0-9/10,",
            "bytes 0-9 /10",
            "bytes 0-9/ 10", "bytes 0 - 9/10", "bytes +0-9/10", "bytes --1-9/10", "bytes 0-9/-10", "bytes 0-9/+10",
            "bytes 0x0-0x9/10", "bytes 0-9223372036854775807/*", "bytes 0-9223372036854775807/9223372036854775807",
            "bytes 0-18446744073709551615/18446744073709551616", "bytes 18446744073709551616-18446744073709551617/*",
            "bytes */18446744073709551616", "bytes 0-9/18446744073709551616", "bytes ٠-٩/١٠", "bytes 0-9/10\r\nX: y",
            "bytes 0-9/10\u{0}", "bytes\u{A0}0-9/10", "bytes 0-9/10; bytes 0-9/10", "bytes */ 10",
        ])
    func hostile(value: String) {
        #expect(ContentRange(value) == nil)
    }

    @Test(
        "A printed field is read back",
        arguments: [
            .bytes(0..<1, total: nil), .bytes(0..<101, total: 1000), .bytes(5..<Int64.max, total: .max),
            .unsatisfied(total: 0), .unsatisfied(total: .max),
        ] as [ContentRange])
    func roundTrip(range: ContentRange) {
        #expect(ContentRange(range.description) == range)
    }

    @Test("The printed form is HTTP's")
    func printed() {
        #expect(ContentRange.bytes(0..<101, total: 1000).description == "bytes 0-100/1000")
        #expect(ContentRange.bytes(5..<6, total: nil).description == "bytes 5-5/*")
        #expect(ContentRange.unsatisfied(total: 12).description == "bytes */12")
    }
}
