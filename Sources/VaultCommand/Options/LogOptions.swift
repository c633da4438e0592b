import ArgumentParser
import Logging
import VaultService

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
