import ArgumentParser
import MediaVault
import VaultService

/// An exit code; scripts may rely on its value.
struct ExitStatus: Hashable, Sendable {
    let rawValue: Int32

    static let done = ExitStatus(rawValue: 0)
    /// Any other failure: no vault at that path, a vault owned by another process, a full disk.
    static let failed = ExitStatus(rawValue: 1)
    /// An invalid command line, including a malformed URL or range.
    static let usage = ExitStatus(rawValue: 2)
    /// Wrong key or passphrase, or an unusable keyring.
    static let key = ExitStatus(rawValue: 3)
    /// Stored bytes failed authentication.
    static let integrity = ExitStatus(rawValue: 4)
    /// The origin was unreachable, refused, or sent an invalid response.
    static let origin = ExitStatus(rawValue: 5)
    /// The bytes are not held and could not be fetched.
    static let notHeld = ExitStatus(rawValue: 6)

    /// Returns the exit code of a process ended by a signal, as shells report it.
    static func signal(_ number: Int32) -> ExitStatus { ExitStatus(rawValue: 128 + number) }

    init(rawValue: Int32) { self.rawValue = rawValue }

    /// Maps an error code of the library to an exit code.
    init(_ code: VaultError.Code) {
        self =
            switch code {
            case .invalidURL, .invalidArgument, .unsatisfiableRange: .usage
            case .wrongKey, .damagedKeyring, .tamperedKeyring, .foreignKeyring, .olderKeyring, .looseKeyFile: .key
            case .integrity: .integrity
            case .unreachable, .refused, .invalidResponse, .changed: .origin
            case .notHeld: .notHeld
            default: .failed
            }
    }
}

/// Why a run ended early, and what the command prints.
enum Failure: Hashable, Sendable {
    /// Not a failure: help or the version, for standard output.
    case answer(String)
    /// Nothing to print: the failure was already reported, or standard output is closed.
    case silent(ExitStatus)
    /// One sentence for standard error.
    case message(String, ExitStatus)

    init(_ error: any Error, arguments: [String] = []) {
        switch error {
        case let error as VaultError:
            self = .message(error.message, ExitStatus(error.code))
        case let error as ListenFailure:
            self = .message(error.description, .failed)
        case let error as UsageError:
            self = .message(error.message, .usage)
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

/// An argument or environment variable that cannot be used.
struct UsageError: Error, Hashable, Sendable {
    /// One sentence without a full stop that states what to change.
    let message: String

    init(_ message: String) { self.message = message }
}

/// Ends a run that continued after failures, which were already reported.
struct AlreadyReported: Error, Hashable, Sendable {
    let status: ExitStatus
}
