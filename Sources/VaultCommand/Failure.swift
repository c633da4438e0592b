import ArgumentParser
import MediaVault
import VaultService

/// The way in which a run ended early, with the text to print.
enum Failure: Hashable, Sendable {
    /// Help or the version, for standard output. This is not a failure.
    case answer(String)
    /// There is nothing to print, because the failure was already reported or standard output is closed.
    case silent(ExitStatus)
    /// The help for a command group, for standard error. It is printed if the command line names none of the group's
    /// commands.
    case help(String)
    /// A sentence for standard error.
    case message(String, ExitStatus)

    init(_ error: any Error, arguments: [String] = []) {
        switch error {
        case let error as VaultError:
            self = .message(error.text, ExitStatus(error.code))
        case let error as ListenFailure:
            self = .message(error.description, .failed)
        case let error as UsageError:
            self = .message(error.message, .usage)
        case let error as MissingCommand:
            self = .help(error.help)
        case let error as Interrupted:
            self = .message(error.message, .signal(error.signal))
        case let error as AlreadyReported:
            self = .silent(error.status)
        case is OutputClosed:
            self = .silent(.failed)
        default:
            self = Self.parsing(error, arguments)
        }
    }

    private static func parsing(_ error: any Error, _ arguments: [String]) -> Failure {
        switch MediaVaultCommand.exitCode(for: error) {
        case .success:
            return .answer(MediaVaultCommand.fullMessage(for: error))
        case .validationFailure:
            let (message, full) = (MediaVaultCommand.message(for: error), MediaVaultCommand.fullMessage(for: error))
            return .message(CommandLineError(arguments).sentence(message, full), .usage)
        default:
            return .message(CommandLineError.line(MediaVaultCommand.message(for: error)), .failed)
        }
    }
}

/// The error thrown if the command line names a command group, but none of its commands.
struct MissingCommand: Error {
    let help: String

    init(of group: any ParsableCommand.Type) { help = MediaVaultCommand.helpMessage(for: group) }
}
