import ArgumentParser
import MediaVault
import VaultService

/// What opens the keyring. A secret itself is never an argument: other processes can read those.
struct UnlockOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file of exactly 32 bytes that opens the keyring (MEDIAVAULT_KEY_FILE).", valueName: "file"))
    var keyFile: String?

    @Option(
        help: ArgumentHelp(
            "A file whose passphrase opens the keyring (MEDIAVAULT_PASSPHRASE_FILE).", valueName: "file"))
    var passphraseFile: String?

    @Option(
        help: ArgumentHelp(
            "A shell command that prints the key that opens the keyring (MEDIAVAULT_KEY_COMMAND).",
            valueName: "command"))
    var keyCommand: String?

    @Option(
        help: ArgumentHelp(
            "A credential of the service's unit that opens the keyring (MEDIAVAULT_CREDENTIAL; in a unit with credentials: mediavault.key).",
            valueName: "name"))
    var credential: String?

    @Flag(help: "Take a key or passphrase file that others can read, too.")
    var allowLooseKeyFile = false

    /// The way meant: what the options name, else what the environment names, else a prompt.
    func way(in surroundings: ProcessEnvironment = .current) throws -> UnlockSource {
        let options = try Self.ways(
            [
                ("--key-file", keyFile), ("--passphrase-file", passphraseFile), ("--key-command", keyCommand),
                ("--credential", credential),
            ], surroundings)
        if let way = options { return way }
        let variables = [
            "MEDIAVAULT_KEY_FILE", "MEDIAVAULT_PASSPHRASE_FILE", "MEDIAVAULT_KEY_COMMAND", "MEDIAVAULT_CREDENTIAL",
        ]
        if let way = try Self.ways(variables.map { ($0, surroundings[$0]) }, surroundings) { return way }
        return surroundings[CredentialName.folderVariable] == nil
            ? .prompt : .credential(.standard)
    }

    /// The one way that is named among key file, passphrase file, key command and credential, in this order; nil where
    /// none is.
    static func ways(_ named: [(name: String, value: String?)], _ surroundings: ProcessEnvironment) throws -> UnlockSource? {
        let given = named.enumerated().compactMap { index, way in way.value.map { (index, way.name, $0) } }
        guard let (index, name, value) = given.first else { return nil }
        guard given.count == 1 else {
            throw UsageError("\(given.map(\.1).joined(separator: " and ")) are both given; give one")
        }
        guard !value.isEmpty else { throw UsageError("\(name) is empty; name something that opens the keyring") }
        switch index {
        case 0: return .keyFile(AbsolutePath.of(value, from: surroundings.workingDirectory))
        case 1: return .passphraseFile(AbsolutePath.of(value, from: surroundings.workingDirectory))
        case 2: return .keyCommand(value)
        default: return .credential(try CredentialName(value))
        }
    }

    /// What the library takes, asked for at the terminal where nothing is named.
    ///
    /// - Parameter isNew: whether the passphrase is being chosen, and so is asked for twice.
    func unlock(isNew: Bool = false) async throws -> Unlock {
        try await way().unlock(allowLoose: allowLooseKeyFile, asking: isNew ? .first : .old)
    }
}

/// A way to open the keyring, as options and environment name it.
enum UnlockSource: Hashable, Sendable {
    case keyFile(String)
    case passphraseFile(String)
    case keyCommand(String)
    case credential(CredentialName)
    /// Nothing was named: ask, where there is somebody to ask.
    case prompt

    /// What the library takes, asked for at the terminal where nothing is named.
    ///
    /// - Parameters:
    ///   - allowLoose: whether others may read a key or passphrase file.
    ///   - question: which passphrase is asked for.
    /// - Throws: ``VaultError`` with code `invalidArgument` for a credential where this process was lent none.
    func unlock(
        allowLoose: Bool, asking question: PassphrasePrompt.Question, in surroundings: ProcessEnvironment = .current
    ) async throws -> Unlock {
        switch self {
        case .keyFile(let path): .keyFile(path: path, allowLoose: allowLoose)
        case .passphraseFile(let path): .passphraseFile(path: path, allowLoose: allowLoose)
        case .keyCommand(let command): .keyCommand(command)
        case .credential(let name):
            .credential(path: try name.path(in: surroundings[CredentialName.folderVariable]))
        case .prompt: .passphrase(try await PassphrasePrompt.ask(question))
        }
    }
}

/// A new way to open the keyring: named by an option, or a passphrase that is typed twice.
struct NewWayOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file of exactly 32 bytes that will open it; made where it is not there.", valueName: "file"))
    var newKeyFile: String?

    @Option(help: ArgumentHelp("A file whose passphrase will open it.", valueName: "file"))
    var newPassphraseFile: String?

    @Option(help: ArgumentHelp("A shell command that prints the key that will open it.", valueName: "command"))
    var newKeyCommand: String?

    @Option(help: ArgumentHelp("A credential of this unit's that will open it.", valueName: "name"))
    var newCredential: String?

    @Flag(help: "Make a new passphrase cost 1 GiB of memory and some seconds, in place of 256 MiB.")
    var sensitive = false

    /// The way that the options name; nil where they name none.
    func named(in surroundings: ProcessEnvironment = .current) throws -> UnlockSource? {
        try UnlockOptions.ways(
            [
                ("--new-key-file", newKeyFile), ("--new-passphrase-file", newPassphraseFile),
                ("--new-key-command", newKeyCommand), ("--new-credential", newCredential),
            ], surroundings)
    }

    /// What the library takes, asked for at the terminal where no option names it.
    func way(label: String? = nil, allowLoose: Bool) async throws -> NewSlot {
        NewSlot(
            try await (named() ?? .prompt).unlock(allowLoose: allowLoose, asking: .new), label: label,
            strength: PassphraseStrength(isSensitive: sensitive))
    }
}

extension PassphraseStrength {
    init(isSensitive: Bool) { self = isSensitive ? .sensitive : .moderate }
}
