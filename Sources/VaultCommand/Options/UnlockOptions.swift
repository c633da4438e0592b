import ArgumentParser
import MediaVault
import VaultService

/// The options that unlock the keyring.
///
/// The secret itself is never an argument, because other processes can read arguments.
struct UnlockOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Key file of exactly 32 bytes (MEDIAVAULT_KEY_FILE).", valueName: "file"), completion: .file())
    var keyFile: String?

    @Option(
        help: ArgumentHelp(
            "File that contains the passphrase (MEDIAVAULT_PASSPHRASE_FILE).", valueName: "file"), completion: .file())
    var passphraseFile: String?

    @Option(
        help: ArgumentHelp(
            "Shell command that prints the key (MEDIAVAULT_KEY_COMMAND).",
            valueName: "command"))
    var keyCommand: String?

    @Option(
        help: ArgumentHelp(
            "Credential of the systemd unit (MEDIAVAULT_CREDENTIAL; in a unit with credentials: mediavault.key).",
            valueName: "name"))
    var credential: String?

    @Flag(help: "Accept key and passphrase files that other users can read.")
    var allowLooseKeyFile = false

    /// Returns the source of the key. Options take precedence over environment variables. If neither name a source, it
    /// is the default credential if the unit has credentials, else a prompt.
    func source(in environment: ProcessEnvironment = .current) throws -> UnlockSource {
        if let source = try option(in: environment) { return source }
        let variables = [
            "MEDIAVAULT_KEY_FILE", "MEDIAVAULT_PASSPHRASE_FILE", "MEDIAVAULT_KEY_COMMAND", "MEDIAVAULT_CREDENTIAL",
        ]
        if let source = try Self.source(variables.map { ($0, environment[$0]) }, environment) { return source }
        return environment[CredentialName.folderVariable] == nil
            ? .prompt : .credential(.standard)
    }

    /// Returns the source that an option names; nil if none does.
    func option(in environment: ProcessEnvironment = .current) throws -> UnlockSource? {
        try Self.source(
            [
                ("--key-file", keyFile), ("--passphrase-file", passphraseFile), ("--key-command", keyCommand),
                ("--credential", credential),
            ], environment)
    }

    /// Returns the only source that is given; nil if none is given.
    ///
    /// - Parameter named: the names and values for key file, passphrase file, key command and credential, in this
    ///   order.
    /// - Throws: ``UsageError`` if several sources are given, or the given one is empty.
    static func source(
        _ named: [(name: String, value: String?)], _ environment: ProcessEnvironment
    ) throws -> UnlockSource? {
        let given = named.enumerated().compactMap { index, option in option.value.map { (index, option.name, $0) } }
        guard let (index, name, value) = given.first else { return nil }
        guard given.count == 1 else {
            throw UsageError("\(given.map(\.1).joined(separator: " and ")) cannot be combined; use one of them")
        }
        guard !value.isEmpty else { throw UsageError("\(name) is empty; give it a value") }
        switch index {
        case 0: return .keyFile(try environment.absolute(value))
        case 1: return .passphraseFile(try environment.absolute(value))
        case 2: return .keyCommand(value)
        default: return .credential(try CredentialName(value))
        }
    }

    /// Returns the unlock method to pass to the library, after prompting for a passphrase if neither the options nor
    /// the environment name a source.
    ///
    /// - Parameter isNew: whether a prompted passphrase is a new one, which the user must type twice.
    func unlock(isNew: Bool = false) async throws -> Unlock {
        try await source().unlock(allowLoose: allowLooseKeyFile, asking: isNew ? .first : .old)
    }
}

/// The source of the key that unlocks the keyring.
enum UnlockSource: Hashable, Sendable {
    case keyFile(String)
    case passphraseFile(String)
    case keyCommand(String)
    case credential(CredentialName)
    /// A prompt at the terminal, if there is one, because no source is named.
    case prompt

    /// Returns the unlock method to pass to the library, after prompting for a passphrase if this is ``prompt``.
    ///
    /// - Parameters:
    ///   - allowLoose: whether a key or passphrase file is accepted even if other users can read it.
    ///   - question: the passphrase to prompt for.
    /// - Throws: ``VaultError`` with code `invalidArgument` if this is a credential, but this process has no
    ///   credentials.
    func unlock(
        allowLoose: Bool, asking question: PassphrasePrompt.Question, in environment: ProcessEnvironment = .current
    ) async throws -> Unlock {
        switch self {
        case .keyFile(let path): .keyFile(path: path, allowLoose: allowLoose)
        case .passphraseFile(let path): .passphraseFile(path: path, allowLoose: allowLoose)
        case .keyCommand(let command): .keyCommand(command)
        case .credential(let name):
            .credential(path: try name.path(in: environment[CredentialName.folderVariable]))
        case .prompt: .passphrase(try await PassphrasePrompt.ask(question))
        }
    }
}

/// The options for a new unlock method, which is the one that an option names, else a passphrase that is typed twice.
struct NewSlotOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "New key file of exactly 32 bytes; created if it does not exist.", valueName: "file"), completion: .file())
    var newKeyFile: String?

    @Option(help: ArgumentHelp("File that contains the new passphrase.", valueName: "file"), completion: .file())
    var newPassphraseFile: String?

    @Option(help: ArgumentHelp("Shell command that prints the new key.", valueName: "command"))
    var newKeyCommand: String?

    @Option(help: ArgumentHelp("Credential of the systemd unit that contains the new key.", valueName: "name"))
    var newCredential: String?

    @Flag(help: "Derive the key of a new passphrase with 1 GiB of memory in several seconds, instead of 256 MiB.")
    var sensitive = false

    /// Returns the source that the options name; nil if none is named.
    func named(in environment: ProcessEnvironment = .current) throws -> UnlockSource? {
        try UnlockOptions.source(
            [
                ("--new-key-file", newKeyFile), ("--new-passphrase-file", newPassphraseFile),
                ("--new-key-command", newKeyCommand), ("--new-credential", newCredential),
            ], environment)
    }

    /// Returns the new slot, after prompting for a passphrase if no option names a source.
    func slot(label: String? = nil, allowLoose: Bool) async throws -> NewSlot {
        NewSlot(
            try await (named() ?? .prompt).unlock(allowLoose: allowLoose, asking: .new), label: label,
            strength: PassphraseStrength(isSensitive: sensitive))
    }
}

extension PassphraseStrength {
    init(isSensitive: Bool) { self = isSensitive ? .sensitive : .moderate }
}
