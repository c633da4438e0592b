import MediaVault

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
            case .unreachable, .refused, .lied, .changed: .origin
            case .notHeld: .notHeld
            default: .failed
            }
    }
}
