import SeededRandom
import Testing

@testable import VaultModel

@Suite("Times in feeds")
struct FeedDateTests {
    @Test(
        "A time is read in each form that feeds use",
        arguments: [
            ("Wed, 02 Oct 2002 13:00:00 GMT", 1_033_563_600), ("02 Oct 2002 13:00:00 +0000", 1_033_563_600),
            ("Wed, 2 Oct 2002 15:00 +0200", 1_033_563_600), ("Wed, 02 Oct 02 08:00:00 EST", 1_033_563_600),
            ("Wednesday, 02 October 2002 13:00:00 Z", 1_033_563_600), ("2002-10-02T13:00:00Z", 1_033_563_600),
            ("2002-10-02T15:00:00.25+02:00", 1_033_563_600), ("2002-10-02 13:00:00", 1_033_563_600),
            ("2002-10-02", 1_033_516_800), ("02 Oct 2002", 1_033_516_800),
            // The form of C, other orders, dashes, and clocks of twelve hours.
            ("Wed Oct  2 13:00:00 2002", 1_033_563_600), ("Wed Oct 2 09:00:00 EDT 2002", 1_033_563_600),
            ("Oct 2, 2002 1:00 PM", 1_033_563_600), ("2-Oct-2002 13:00", 1_033_563_600),
            ("Wed, 2nd Oct 2002 12:00:00 am", 1_033_516_800), ("2002 Oct 2 13:00", 1_033_563_600),
            ("Wed,02 Oct 2002,13:00:00 GMT", 1_033_563_600), ("Sept 5 2002", 1_031_184_000),
            // Odd zones: with a number behind the name, glued, short, unknown.
            ("Wed, 02 Oct 2002 15:00:00 GMT+0200", 1_033_563_600), ("02 Oct 2002 15:00:00+02:00", 1_033_563_600),
            ("02 Oct 2002 15:00:00 +2", 1_033_563_600), ("02 Oct 2002 15:00:00 CEST", 1_033_563_600),
            ("02 Oct 2002 13:00:00 Nowhere", 1_033_563_600), ("02 Oct 2002 13:00:00 GMT (UTC)", 1_033_563_600),
            // Years of two and three digits.
            ("Wed, 02 Oct 102 13:00:00 GMT", 1_033_563_600), ("02 Oct 70", 23_673_600), ("02-10-02", 1_033_516_800),
            // ISO 8601 in its other forms, and a date of Perforce.
            ("20021002T1300Z", 1_033_563_600), ("2002-10-02T130000+00", 1_033_563_600),
            ("2002-10-02T13:00:00,25Z", 1_033_563_600), ("2002-10-02T13:00Z", 1_033_563_600),
            ("2002-10-02 13:00:00 UTC", 1_033_563_600), ("2002-10-01T24:00:00Z", 1_033_516_800),
            ("2002-275", 1_033_516_800), ("2002-10", 1_033_430_400), ("2002", 1_009_843_200),
            ("Wed, 2002/10/02 09:00:00 EDT", 1_033_563_600), ("2002-10-02T23:59:60Z", 1_033_603_199),
        ] as [(String, Int64)])
    func times(text: String, seconds: Int64) { #expect(FeedDate.seconds(text) == seconds) }

    @Test(
        "What is no time is none",
        arguments: [
            "", "yesterday", "Wed, 32 Oct 2002 13:00:00 GMT", "02 Okt 2002 13:00:00 GMT", "2002-13-02T13:00:00Z",
            "2002-10-02T25:00:00Z", "2002-10-02T24:00:01Z", "2002-10-02T13:00:00+99:99", "2002-10-02x",
            "99999999999-10-02", ",,,", "1", "12345",
            "2 Oct 2002 2003", "10/02/2002", "2002-366x", "02 Oct 2002 13:00 14:00", "٢٠٠٢-١٠-٠٢",
            String(repeating: "2002-10-02", count: 100), "//-//-//", "ab-cd-ef", "-", "+", ":", "00-00-00", "/t:",
        ])
    func noTimes(text: String) { #expect(FeedDate.seconds(text) == nil) }

    @Test("No text ends the process")
    func anything() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let alphabet = Array("0129-/:+., tzTZ٢octpm")
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...16, using: &random)
            let text = (0..<count).map { _ in alphabet[Int.random(in: alphabet.indices, using: &random)] }
            if let time = FeedDate.seconds(String(text)) { #expect(abs(time) < 1 << 40, "seed \(seed): \(text)") }
        }
    }
}
