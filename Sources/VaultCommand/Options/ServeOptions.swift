import ArgumentParser
import Logging
import MediaVault
import VaultService

/// The storage limits for this run, which override the vault's settings.
struct LimitOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Maximum size of stored media: \(SizeArgument.forms); 0 means no limit.",
            valueName: "size"))
    var maxSize: String?

    @Option(
        help: ArgumentHelp(
            "How long to keep media that was only played, after it was last read: 90d, 12h; 0 means forever.",
            valueName: "age"))
    var maxAge: String?

    @Option(
        help: ArgumentHelp(
            "Disk space to leave free: 10GiB, 2.5 GB (default: 5 % of the disk, at most 10GiB); 0 means none.",
            valueName: "size"))
    var minFree: String?

    @Flag(help: "Let the size limit evict downloaded titles, too.")
    var evictDownloads = false

    /// Returns the limits that were given as options; nil if none were given.
    func limits() throws -> StorageLimits? {
        guard maxSize != nil || maxAge != nil || minFree != nil || evictDownloads else { return nil }
        return StorageLimits(
            maxSize: try maxSize.map { try SizeArgument.parse($0, "--max-size") },
            maxAge: try maxAge.map { try AgeArgument.parse($0, "--max-age") },
            minFree: try minFree.map { try SizeArgument.parse($0, "--min-free") },
            evictsDownloads: evictDownloads ? true : nil)
    }
}

/// The speed of a download.
struct SpeedOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Number of connections per title: 1 to 16 (default: 1, and 6 for a title of many files).", valueName: "n"))
    var connections: Int?

    @Option(
        help: ArgumentHelp("Maximum rate of the download: \(ByteRate.forms).", valueName: "rate"))
    var limitRate: ByteRate?

    func validate() throws {
        guard (1...DownloadOptions.maxConnections).contains(connections ?? 1) else {
            throw ValidationError("--connections must be between 1 and \(DownloadOptions.maxConnections)")
        }
    }

    /// The library's options for the download.
    var options: DownloadOptions {
        DownloadOptions(connections: connections, bytesPerSecond: limitRate?.bytesPerSecond)
    }
}

/// The options that state which events the service logs, and in which format.
struct LogOptions: ParsableArguments {
    /// The least severe level that is logged. The level `info` includes every response.
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

    @Option(
        help: ArgumentHelp(
            "Log level; info logs every response (MEDIAVAULT_LOG_LEVEL; default: notice).", valueName: "level"))
    var logLevel: Level?

    @Option(
        help: ArgumentHelp(
            "Log format: name=value pairs, or one JSON object per line (MEDIAVAULT_LOG_FORMAT; default: logfmt).",
            valueName: "format"))
    var logFormat: LogFormat?

    /// Returns the logger. It writes to standard error, because standard output is for results.
    ///
    /// - Throws: ``UsageError`` if an environment variable has a value that the option does not accept.
    func logger(in environment: ProcessEnvironment = .current) throws -> Logger {
        let format = try logFormat ?? Self.value(of: "MEDIAVAULT_LOG_FORMAT", in: environment) ?? .logfmt
        let level = try logLevel ?? Self.value(of: "MEDIAVAULT_LOG_LEVEL", in: environment) ?? .notice
        var logger = Logger(label: "mediavault") { _ in LineLogHandler.standardError(format) }
        logger.logLevel = level.logLevel
        return logger
    }

    private static func value<Value: ExpressibleByArgument & CaseIterable & RawRepresentable<String>>(
        of variable: String, in environment: ProcessEnvironment
    ) throws -> Value? {
        guard let text = environment[variable] else { return nil }
        guard let value = Value(rawValue: text) else {
            let values = Value.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("\(variable) is '\(text)'; give it one of \(values)")
        }
        return value
    }
}

extension LogFormat: ExpressibleByArgument {}

extension ListenAddress {
    /// The default address of the service.
    static let standard = ListenAddress(host: "127.0.0.1", port: 8300)

    /// Returns the address that the option states, else the one that the environment states; nil if neither does.
    static func named(_ option: String?, in environment: ProcessEnvironment = .current) throws -> ListenAddress? {
        try (option ?? environment["MEDIAVAULT_LISTEN"]).map { try ListenAddress($0) }
    }

    /// The address to which a player on this machine connects, which is the loopback address in place of a wildcard
    /// address.
    var reachable: ListenAddress {
        switch host {
        case "0.0.0.0": ListenAddress(host: "127.0.0.1", port: port)
        case "::": ListenAddress(host: "::1", port: port)
        default: self
        }
    }
}
