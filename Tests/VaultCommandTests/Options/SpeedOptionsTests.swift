import ArgumentParser
import MediaVault
import Testing

@testable import VaultCommand

@Suite("How fast a title is fetched")
struct SpeedOptionsTests {
    @Test("Connections and a rate are taken over; without them there is one connection, as fast as it goes")
    func options() throws {
        let given = try SpeedOptions.parse(["--connections", "4", "--limit-rate", "2M"])
        #expect(given.options == DownloadOptions(connections: 4, bytesPerSecond: 2_000_000))
        #expect(try SpeedOptions.parse([]).options == DownloadOptions())
    }

    @Test(
        "What lies out of bounds is a usage error",
        arguments: [["--connections", "0"], ["--connections", "17"], ["--limit-rate", "0"]])
    func bounds(arguments: [String]) {
        #expect(throws: (any Error).self) { try SpeedOptions.parse(arguments) }
    }
}
