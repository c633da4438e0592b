import MediaVault
import Testing
import VaultService

@testable import VaultCommand

@Suite struct ArgumentValueTests {
    @Test(
        "The lifetime of a link without a name is a number and a unit, and at most a year",
        arguments: [
            ("1s", 1), ("90s", 90), ("30m", 1800), ("24h", 86_400), ("7d", 604_800), ("365d", 31_536_000),
            ("0s", nil), ("0d", nil), ("366d", nil), ("31536001s", nil), ("24", nil), ("h", nil), ("", nil),
            ("-1h", nil),
            ("+1h", nil), ("1.5h", nil), ("1H", nil), ("1w", 604_800), ("1y", 31_536_000), (" 1h", nil), ("1 h", nil),
            ("１h", nil),
            ("9223372036854775807d", nil), ("99999999999999999999s", nil),
        ] as [(String, Int64?)])
    func lifetime(_ text: String, _ seconds: Int64?) {
        let expiry = try? ExpiryArgument.parse(text)
        #expect(expiry.flatMap { try? $0.endOfUnnamed(now: 5) } == seconds.map { $0 + 5 })
    }

    @Test(
        "An expiry is a number and a unit, a day, a time or never",
        arguments: [
            ("never", .never), ("30d", .after(2_592_000)), ("400d", .after(34_560_000)),
            ("2027-01-31", .at(Timestamp(seconds: 1_801_353_600))),
            ("2027-01-31T12:00:00Z", .at(Timestamp(seconds: 1_801_396_800))), ("Never", nil), ("2027-02-30", nil),
            ("2027-1-31", nil), ("0", nil), ("0s", nil), ("", nil), ("tomorrow", nil),
        ] as [(String, GrantExpiry?)])
    func expiry(_ text: String, _ expected: GrantExpiry?) {
        #expect((try? ExpiryArgument.parse(text)) == expected)
    }

    @Test(
        "A range is written as in HTTP",
        arguments: [
            ("0-0", .closed(first: 0, last: 0)), ("5-9", .closed(first: 5, last: 9)), ("5-", .from(5)),
            ("-5", .suffix(5)),
            ("-0", .suffix(0)), ("", nil), ("-", nil), ("5", nil), ("9-5", nil), ("a-b", nil), ("0-1,3-4", nil),
            ("bytes=0-1", nil),
            ("+1-2", nil), ("0x1-2", nil), ("1--2", nil),
        ] as [(String, RequestedRange?)])
    func range(_ text: String, _ expected: RequestedRange?) {
        #expect((try? RangeArgument.parse(text)) == expected)
    }

    @Test(
        "A size is printed as it can be typed again, in the largest unit that divides it",
        arguments: [
            (0, "0"), (1, "1B"), (1023, "1023B"), (1024, "1KiB"), (1000, "1kB"), (5_000_000_000, "5GB"),
            (200 << 20, "200MiB"), ((200 << 20) + 1, "209715201B"), (1 << 40, "1TiB"),
        ] as [(Int64, String)])
    func sizeText(_ bytes: Int64, _ text: String) throws {
        #expect(SizeText.text(bytes) == text)
        #expect(try SizeArgument.parse(text, "max-size") == bytes)
    }

    @Test(
        "No limit has a word, a decimal comma is a point, and a comma before three digits is none",
        arguments: [
            ("none", 0), ("Unlimited", 0), ("off", 0), ("1,5G", 1_500_000_000), ("1.5G", 1_500_000_000),
            ("1,500M", nil), ("1,5,5G", nil), (",5G", nil), ("never", nil),
        ] as [(String, Int64?)])
    func typedSize(_ text: String, _ bytes: Int64?) {
        #expect((try? SizeArgument.parse(text, "max-size")) == bytes)
        if let bytes, bytes > 0 { #expect(ByteRate(argument: text + "/s")?.bytesPerSecond == bytes) }
    }

    @Test(
        "An age has weeks and years, too",
        arguments: [("2w", 1_209_600), ("1y", 31_536_000), ("none", 0), ("1 w", nil)] as [(String, Int64?)])
    func age(_ text: String, _ seconds: Int64?) {
        #expect((try? AgeArgument.parse(text, "max-age")) == seconds)
    }

    @Test(
        "The hours of the queue may be typed with blanks, and without the first zero",
        arguments: [
            ("1:00-6:00", "01:00-06:00"), ("22:30 - 6:00", "22:30-06:00"), ("off", ""), ("1-6", nil),
            ("1:00-25:00", nil),
        ] as [(String, String?)])
    func hours(_ text: String, _ expected: String?) {
        #expect((try? HoursArgument.parse(text.split(separator: " ").map(String.init))) == expected)
    }

    @Test("The message of a size says how to have no limit")
    func sizeAdvice() {
        let error = #expect(throws: UsageError.self) { try SizeArgument.parse("5", "max-size") }
        #expect(error?.message.hasSuffix("0 or none means no limit") == true)
    }

    @Test("The message gives the position of the invalid URL among several, and does not repeat the URL")
    func numbered() {
        let malformed = VaultError(.invalidURL, "the URL is malformed: it has no host")
        #expect(malformed.message(ofURL: 2, of: 3) == "URL 2 of 3: the URL is malformed: it has no host")
        #expect(malformed.message(ofURL: 1, of: 1) == malformed.message)
        #expect(VaultError(.refused, "no").message(ofURL: 2, of: 3) == "no")
    }

    @Test(
        "The message does not repeat the secrets of a URL",
        arguments: [
            ("no URL here", "no URL here"),
            ("unexpected argument 'https://a.example/b'", "unexpected argument 'https://a.example/b'"),
            ("'https://a.example/b?token=1&x=2' is odd", "'https://a.example/b?…' is odd"),
            ("'https://a.example/b#part'", "'https://a.example/b?…'"),
            ("https://user:pw@a.example/b", "https://a.example/b"),
            ("https://user:pw@a.example?t=1", "https://a.example?…"),
            ("https://a.example/@b", "https://a.example/@b"),
            ("http://a?b http://c@d/e?f end", "http://a?… http://d/e?… end"),
            ("://", "://"),
        ])
    func redaction(_ text: String, _ expected: String) {
        #expect(Redaction.withoutSecrets(text) == expected)
    }
}
