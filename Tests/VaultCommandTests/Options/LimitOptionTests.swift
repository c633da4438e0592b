import ArgumentParser
import MediaVault
import Testing

@testable import VaultCommand

@Suite("Sizes and ages on the command line")
struct LimitOptionTests {
    @Test(
        "A size is a number with a unit, a power of 1024 or of 1000; a bare number is invalid",
        arguments: [
            ("0", 0), ("5", nil), ("1048576", nil), ("5B", 5), ("5G", 5_000_000_000), ("5k", 5000),
            ("5T", 5_000_000_000_000),
            ("300MiB", 314_572_800), ("200MiB", 209_715_200), ("2GB", 2_000_000_000),
            ("1KiB", 1024), ("1kB", 1000), ("7B", 7), ("3TiB", 3 << 40), ("1GiB", 1 << 30),
            ("", nil), ("MiB", nil), ("-1", nil), ("1.5GB", 1_500_000_000), ("1 GB", 1_000_000_000), ("90d", nil),
            ("9007199254740991B", 9_007_199_254_740_991), ("9007199254740992B", nil), ("9000000TiB", nil),
            ("99999999999999999999B", nil), ("１MB", nil),
        ] as [(String, Int64?)])
    func size(_ text: String, _ bytes: Int64?) {
        #expect((try? SizeArgument.parse(text, "--max-size")) == bytes)
    }

    @Test(
        "An age is a number with a unit, in seconds: 90 days are 7 776 000 seconds, never bytes",
        arguments: [
            ("90d", 7_776_000), ("12h", 43_200), ("30m", 1800), ("45s", 45), ("0", 0), ("0d", 0),
            ("90", nil), ("d", nil), ("", nil), ("-1d", nil), ("2w", 1_209_600), ("1 w", nil), ("300MiB", nil),
            ("9223372036854775807d", nil),
        ] as [(String, Int64?)])
    func age(_ text: String, _ seconds: Int64?) {
        #expect((try? AgeArgument.parse(text, "--max-age")) == seconds)
    }

    @Test("Options set limits for one run; without options there are none")
    func limits() throws {
        #expect(try LimitOptions.parse([]).limits() == nil)
        #expect(
            try LimitOptions.parse(["--max-size", "300MiB", "--max-age", "90d", "--min-free", "1GB"]).limits()
                == StorageLimits(maxSize: 300 << 20, maxAge: 90 * 86_400, minFree: 1_000_000_000))
        #expect(try LimitOptions.parse(["--max-size", "0"]).limits() == StorageLimits(maxSize: 0))
        #expect(throws: UsageError.self) { try LimitOptions.parse(["--max-age", "90"]).limits() }
        #expect(try LimitOptions.parse(["--evict-downloads"]).limits() == StorageLimits(evictsDownloads: true))
        #expect(try LimitOptions.parse(["--min-free", "0"]).limits() == StorageLimits(minFree: 0))
    }

    @Test("A size without a unit is refused with an example")
    func unit() {
        let error = #expect(throws: UsageError.self) { try SizeArgument.parse("5", "--max-size") }
        let text = error.map { "\($0)" } ?? ""
        #expect(text.contains("--max-size") && text.contains("5G") && text.contains("5B"))
    }
}
