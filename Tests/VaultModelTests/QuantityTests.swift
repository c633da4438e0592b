import Testing

@testable import VaultModel

@Suite("Sizes and rates")
struct QuantityTests {
    @Test(
        "A size is accepted in every usual spelling",
        arguments: [
            ("500M", 500_000_000), ("500MB", 500_000_000), ("500 MB", 500_000_000), ("500  mb", 500_000_000),
            ("10m", 10_000_000), ("1.5GiB", 1_610_612_736), ("1.5gib", 1_610_612_736), ("1.5Gi", 1_610_612_736),
            ("0.1GiB", 107_374_182), (".5k", 500), ("2.50 TB", 2_500_000_000_000), ("1PiB", 1 << 50),
            ("1p", 1_000_000_000_000_000),
            ("5B", 5), ("5b", 5), ("5 bytes", 5), ("1 byte", 1), ("3 KBytes", 3000), ("1KB", 1000), ("1kb", 1000),
            ("1KiB", 1024), ("1Ki", 1024), ("0", 0), ("0B", 0), ("0.0G", 0), ("007k", 7000),
            ("0.000000000000000001PB", nil), ("0.5B", nil), ("0.0001k", nil),
            ("9007199254740991B", 9_007_199_254_740_991), ("9007199254740992B", nil), ("8PiB", nil),
            ("9.007199254740991PB", 9_007_199_254_740_991), ("99999999999999999999B", nil),
            ("9223372036854775807PB", nil),
        ] as [(String, Int64?)])
    func sizes(_ text: String, _ bytes: Int64?) {
        #expect(Quantity.size(text) == bytes)
    }

    @Test(
        "What is no size is refused: a bare number, a sign, a foreign digit, a rate, a time",
        arguments: [
            "", " ", "5", "1048576", "0.5", "00", "0 ", " 0", "MiB", ".", ".M", "5.M", "1.2.3M", "1,5M", "-1M", "+1M",
            "1e6B",
            "5X", "5EB", "5 M B", "5MiBB", "5Mi b", "5iB", "5i", "5bit", "5Mbit", "5MB/s", "90d", "５MB", "5\u{A0}MB",
            "5MB ",
            " 5MB", "5ḲB", "5K\u{301}B", "0x5M", "default",
        ])
    func noSizes(_ text: String) {
        #expect(Quantity.size(text) == nil)
    }

    @Test(
        "A rate is a size, with or without a time, or bits",
        arguments: [
            ("5M", 5_000_000), ("500k", 500_000), ("5MB/s", 5_000_000), ("5 MB/s", 5_000_000), ("5M/s", 5_000_000),
            ("1.5MiB/s", 1_572_864), ("5MBps", 5_000_000), ("5 MB/sec", 5_000_000), ("7 bytes/s", 7), ("5B", 5),
            ("40Mbit/s", 5_000_000), ("40 Mbit", 5_000_000), ("40mbit/s", 5_000_000), ("40Mbps", 5_000_000),
            ("40mbps", 5_000_000), ("2.5Gbit/s", 312_500_000), ("800kbits/s", 100_000), ("8bit/s", 1),
            ("8Kibit/s", 1024),
            ("8bps", 1), ("0", nil),
            // Bits to some people, bytes to others.
            ("40Mb/s", nil), ("40mb/s", nil), ("40Mb", nil), ("5b", nil),
            ("5", nil), ("5/s", nil), ("5ps", nil), ("5Mps", nil), ("7bit/s", nil), ("5MB/m", nil), ("5MB/", nil),
            ("M/s", nil),
            ("-5M", nil), ("9999999999999999Mbit/s", nil),
        ] as [(String, Int64?)])
    func rates(_ text: String, _ bytes: Int64?) {
        #expect(Quantity.rate(text) == bytes)
    }

    @Test(
        "A number of bytes is shown in the largest unit that it fills, and never rounded up",
        arguments: [
            (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1099, "1.0 kB"), (999_999, "999.9 kB"), (1 << 30, "1.0 GB"),
            (5_000_000_000, "5.0 GB"), (.max, "9.2 EB"),
        ] as [(Int64, String)])
    func readable(_ bytes: Int64, _ text: String) {
        #expect(Quantity.readable(bytes: bytes) == text)
    }
}
