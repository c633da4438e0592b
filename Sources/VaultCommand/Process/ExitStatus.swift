import MediaVault

/// An exit code. Scripts may rely on its value.
struct ExitStatus: Hashable, Sendable {
    let rawValue: Int32

    static let done = ExitStatus(rawValue: 0)
    /// Any other failure, such as a path without a vault, a vault that another process owns, or a full disk.
    static let failed = ExitStatus(rawValue: 1)
    /// An invalid command line, including a malformed URL or range.
    static let usage = ExitStatus(rawValue: 2)
    /// A wrong key or passphrase, an unusable keyring, or a service without a key.
    static let key = ExitStatus(rawValue: 3)
    /// Stored bytes failed authentication.
    static let integrity = ExitStatus(rawValue: 4)
    /// The origin was unreachable, refused the request, or sent an invalid response.
    static let origin = ExitStatus(rawValue: 5)
    /// The bytes are not held and could not be fetched.
    static let notHeld = ExitStatus(rawValue: 6)

    /// Returns the exit code with which shells report that a signal ended a process.
    static func signal(_ number: Int32) -> ExitStatus { ExitStatus(rawValue: 128 + number) }

    init(rawValue: Int32) { self.rawValue = rawValue }

    /// Creates the exit code for one of the library's error codes.
    init(_ code: VaultError.Code) {
        self =
            switch code {
            case .invalidURL, .invalidArgument, .unsatisfiableRange: .usage
            case .wrongKey, .damagedKeyring, .tamperedKeyring, .foreignKeyring, .olderKeyring, .looseKeyFile, .locked:
                .key
            case .integrity: .integrity
            case .unreachable, .refused, .invalidResponse, .changed: .origin
            case .notHeld: .notHeld
            default: .failed
            }
    }
}

/// The error thrown if an argument or environment variable cannot be used.
struct UsageError: Error, Hashable, Sendable {
    /// One sentence without a full stop that states what to change.
    let message: String

    init(_ message: String) { self.message = message }
}

/// The error that ends a run whose failures have already been reported.
struct AlreadyReported: Error, Hashable, Sendable {
    let status: ExitStatus
}

/// The error thrown if the reader of standard output has gone, so that nothing is left to do or to report.
struct OutputClosed: Error, Hashable, Sendable {}
