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
        ] as [(String, Int64)])
    func times(text: String, seconds: Int64) { #expect(FeedDate.seconds(text) == seconds) }

    @Test(
        "What is no time is none",
        arguments: [
            "", "yesterday", "Wed, 32 Oct 2002 13:00:00 GMT", "02 Okt 2002 13:00:00 GMT", "2002-13-02T13:00:00Z",
            "2002-10-02T25:00:00Z", "2002-10-02T13:00:00+99:99", "2002-10-02x", "99999999999-10-02", ",,,", "1",
            String(repeating: "2002-10-02", count: 100),
        ])
    func noTimes(text: String) { #expect(FeedDate.seconds(text) == nil) }
}
