import ArgumentParser
import MediaVault

/// How fast a title is fetched.
struct PaceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("How many connections fetch one title at a time: 1 to 16.", valueName: "n"))
    var connections = 1

    @Option(help: ArgumentHelp("The most bytes in a second: 500k, 2M; powers of ten.", valueName: "rate"))
    var limitRate: ByteRate?

    func validate() throws {
        guard (1...DownloadOptions.mostConnections).contains(connections) else {
            throw ValidationError("--connections lies between 1 and \(DownloadOptions.mostConnections)")
        }
    }

    /// What the library takes.
    var options: DownloadOptions {
        DownloadOptions(connections: connections, bytesPerSecond: limitRate?.bytesPerSecond)
    }
}
