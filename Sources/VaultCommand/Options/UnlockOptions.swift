import ArgumentParser
import MediaVault
import VaultService

/// The options that unlock the keyring.
///
/// A secret itself is never an argument, because other processes can read arguments.
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

    /// Returns the source of the key: options, else environment variables, else a credential or a prompt.
    func source(in environment: ProcessEnvironment = .current) throws -> UnlockSource {
        let options = try Self.source(
            [
                ("--key-file", keyFile), ("--passphrase-file", passphraseFile), ("--key-command", keyCommand),
                ("--credential", credential),
            ], environment)
        if let source = options { return source }
        let variables = [
            "MEDIAVAULT_KEY_FILE", "MEDIAVAULT_PASSPHRASE_FILE", "MEDIAVAULT_KEY_COMMAND", "MEDIAVAULT_CREDENTIAL",
        ]
        if let source = try Self.source(variables.map { ($0, environment[$0]) }, environment) { return source }
        return environment[CredentialName.folderVariable] == nil
            ? .prompt : .credential(.standard)
    }

    /// Returns the only source that is given; nil if none is.
    ///
    /// - Parameter named: key file, passphrase file, key command and credential, in this order.
    /// - Throws: ``UsageError`` if several are given, or the given one is empty.
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

    /// Returns the key for the library; prompts if neither options nor environment name one.
    ///
    /// - Parameter isNew: whether the user chooses a new passphrase, which must be typed twice.
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
    /// No source is named: prompt at the terminal, if there is one.
    case prompt

    /// Returns the key for the library; prompts if this is ``prompt``.
    ///
    /// - Parameters:
    ///   - allowLoose: whether other users may read a key or passphrase file.
    ///   - question: which passphrase to prompt for.
    /// - Throws: ``VaultError`` with code `invalidArgument` for a credential if this process has none.
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

/// A new unlock method: one that an option names, or a passphrase that is typed twice.
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

    /// Returns the source that the options name; nil if they name none.
    func named(in environment: ProcessEnvironment = .current) throws -> UnlockSource? {
        try UnlockOptions.source(
            [
                ("--new-key-file", newKeyFile), ("--new-passphrase-file", newPassphraseFile),
                ("--new-key-command", newKeyCommand), ("--new-credential", newCredential),
            ], environment)
    }

    /// Returns the new slot; prompts for a passphrase if no option names a key.
    func slot(label: String? = nil, allowLoose: Bool) async throws -> NewSlot {
        NewSlot(
            try await (named() ?? .prompt).unlock(allowLoose: allowLoose, asking: .new), label: label,
            strength: PassphraseStrength(isSensitive: sensitive))
    }
}

extension PassphraseStrength {
    init(isSensitive: Bool) { self = isSensitive ? .sensitive : .moderate }
}
