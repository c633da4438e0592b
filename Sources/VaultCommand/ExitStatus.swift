import ArgumentParser
import MediaVault
import VaultService

/// The exit codes that scripts may rely on.
struct ExitStatus: Hashable, Sendable {
    let rawValue: Int32

    static let done = ExitStatus(rawValue: 0)
    /// Failed, for a reason that is none of the others: no vault there, owned by another, disk full.
    static let failed = ExitStatus(rawValue: 1)
    /// The command line cannot be used, a malformed URL or range included.
    static let usage = ExitStatus(rawValue: 2)
    /// The key, the passphrase or the keyring is not the right one.
    static let key = ExitStatus(rawValue: 3)
    /// Stored bytes fail their tag.
    static let integrity = ExitStatus(rawValue: 4)
    /// The origin cannot be reached, refused, or lied.
    static let origin = ExitStatus(rawValue: 5)
    /// The bytes are not held and could not be fetched.
    static let notHeld = ExitStatus(rawValue: 6)

    /// Ended by a signal, as a shell would say it.
    static func signal(_ number: Int32) -> ExitStatus { ExitStatus(rawValue: 128 + number) }

    init(rawValue: Int32) { self.rawValue = rawValue }

    /// What stands for an error of the library.
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

/// Why a run ended early, and what is said of it.
enum Failure: Hashable, Sendable {
    /// No failure at all: help, or the version, for standard output.
    case answer(String)
    /// Nothing is left to say: it was said, or nobody reads.
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
        case let error as Reported:
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
            return .message(CommandLineFault(arguments).sentence(message, full), .usage)
        default:
            return .message(CommandLineFault.line(MediaVaultCommand.message(for: error)), .failed)
        }
    }
}

/// Something in the command line or the environment that cannot be used.
struct UsageError: Error, Hashable, Sendable {
    /// One sentence without a full stop that names what to change.
    let message: String

    init(_ message: String) { self.message = message }
}

/// The end of a run that went on after a failure, which has been said already.
struct Reported: Error, Hashable, Sendable {
    let status: ExitStatus
}
