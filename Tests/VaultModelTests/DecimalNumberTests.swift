import Testing
import VaultModel

@Suite("Decimal number")
struct DecimalNumberTests {
    @Test(
        "Digits that fit 63 bits are read exactly",
        arguments: [
            ("0", 0), ("9", 9), ("00010", 10), ("9223372036854775807", .max), ("0000000000000000000000000000001", 1),
        ] as [(String, Int64)])
    func read(text: String, number: Int64) {
        #expect(DecimalNumber.exact(text) == number)
        #expect(DecimalNumber.clamped(text) == number)
    }

    @Test(
        "A number that is too large is nil, or the largest value",
        arguments: [
            "9223372036854775808", "18446744073709551616", String(repeating: "9", count: 1000),
        ])
    func tooLarge(text: String) {
        #expect(DecimalNumber.exact(text) == nil)
        #expect(DecimalNumber.clamped(text) == .max)
    }

    @Test(
        "Text other than ASCII digits is not a number",
        arguments: [
            "", " ", "+1", "-1", " 1", "1 ", "1.0", "1e3", "0x1", "1_000", "١", "１", "1\u{301}", "1\u{0}", "½",
        ])
    func refused(text: String) {
        #expect(DecimalNumber.exact(text) == nil)
        #expect(DecimalNumber.clamped(text) == nil)
    }
}
