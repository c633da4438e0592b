import ArgumentParser
import Logging
import MediaVault
import VaultService

/// Limits of the vault's room, for this run over those of its settings.
struct RoomOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The most bytes of sealed media the vault may hold: 200MiB, 2G; 0 is no limit.",
            valueName: "size"))
    var maxSize: String?

    @Option(
        help: ArgumentHelp(
            "How long what was merely played is kept after it was last read: 90d, 12h; 0 is for ever.",
            valueName: "age"))
    var maxAge: String?

    @Option(
        help: ArgumentHelp(
            "The bytes the vault leaves free on its disk: 10GiB (default: 5 % of it, 10GiB at most); 0 is none.",
            valueName: "size"))
    var minFree: String?

    @Flag(help: "Let the size limit cost titles that were fetched by name, too.")
    var evictDownloads = false

    /// The limits named; nil where none is.
    func limits() throws -> StorageLimits? {
        guard maxSize != nil || maxAge != nil || minFree != nil || evictDownloads else { return nil }
        return StorageLimits(
            maxSize: try maxSize.map { try SizeArgument.parse($0, "--max-size") },
            maxAge: try maxAge.map { try AgeArgument.parse($0, "--max-age") },
            minFree: try minFree.map { try SizeArgument.parse($0, "--min-free") },
            evictsDownloads: evictDownloads ? true : nil)
    }
}

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

/// How much the service logs, and how.
struct LogOptions: ParsableArguments {
    /// How a line is written.
    enum Format: String, ExpressibleByArgument, CaseIterable, Sendable {
        case text, json
    }

    /// Which lines are written; `info` tells every answer.
    enum Level: String, ExpressibleByArgument, CaseIterable, Sendable {
        case debug, info, notice, warning, error

        fileprivate var logLevel: Logger.Level {
            switch self {
            case .debug: .debug
            case .info: .info
            case .notice: .notice
            case .warning: .warning
            case .error: .error
            }
        }
    }

    @Option(help: ArgumentHelp("What to log; info tells every answer.", valueName: "level"))
    var logLevel = Level.notice

    @Option(help: ArgumentHelp("How to log: for people, or an object a line.", valueName: "format"))
    var logFormat = Format.text

    /// Standard output is for results: the log goes beside it.
    var logger: Logger {
        var logger = Logger(label: "mediavault") { label in
            switch logFormat {
            case .text: StreamLogHandler.standardError(label: label)
            case .json: JSONLogHandler.standardError(label: label)
            }
        }
        logger.logLevel = logLevel.logLevel
        return logger
    }
}

extension ListenAddress {
    /// Where the service listens unless it is told otherwise.
    static let standard = ListenAddress(host: "127.0.0.1", port: 8300)

    /// The address meant: option, else environment; nil where neither names one.
    static func named(_ option: String?, in surroundings: ProcessEnvironment = .current) throws -> ListenAddress? {
        try (option ?? surroundings["MEDIAVAULT_LISTEN"]).map { try ListenAddress($0) }
    }

    /// What a player on this machine connects to: a wildcard stands for every address, and is none itself.
    var reachable: ListenAddress {
        switch host {
        case "0.0.0.0": ListenAddress(host: "127.0.0.1", port: port)
        case "::": ListenAddress(host: "::1", port: port)
        default: self
        }
    }
}
