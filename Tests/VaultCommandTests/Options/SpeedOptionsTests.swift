import ArgumentParser
import MediaVault
import Testing

@testable import VaultCommand

@Suite("Fetch speed options")
struct SpeedOptionsTests {
    @Test("Connections and rate are used as given; the default is one connection without a rate limit")
    func options() throws {
        let given = try SpeedOptions.parse(["--connections", "4", "--limit-rate", "2M"])
        #expect(given.options == DownloadOptions(connections: 4, bytesPerSecond: 2_000_000))
        #expect(try SpeedOptions.parse([]).options == DownloadOptions())
    }

    @Test(
        "A rate takes the units of a size, and bits",
        arguments: [
            ("5MB/s", 5_000_000), ("40Mbit/s", 5_000_000), ("5MB", 5_000_000), ("5M", 5_000_000), ("1KiB", 1024),
            ("7B", 7),
        ])
    func units(text: String, rate: Int64) throws {
        #expect(try SpeedOptions.parse(["--limit-rate", text]).options.bytesPerSecond == rate)
    }

    @Test(
        "A value out of bounds is a usage error",
        arguments: [["--connections", "0"], ["--connections", "17"], ["--limit-rate", "0"], ["--limit-rate", "5"]])
    func bounds(arguments: [String]) {
        #expect(throws: (any Error).self) { try SpeedOptions.parse(arguments) }
    }
}
