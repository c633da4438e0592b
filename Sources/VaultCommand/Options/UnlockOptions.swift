import ArgumentParser
import MediaVault

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

    @Flag(help: "Take a key or passphrase file that others can read, too.")
    var allowLooseKeyFile = false

    /// A way to open the keyring.
    enum Way: Hashable, Sendable {
        case keyFile(String)
        case passphraseFile(String)
        case keyCommand(String)
        /// Nothing was named: ask, where there is somebody to ask.
        case prompt
    }

    /// The way meant: what the options name, else what the environment names, else a prompt.
    func way(in surroundings: Surroundings = .current) throws -> Way {
        let options = try Self.ways(
            [("--key-file", keyFile), ("--passphrase-file", passphraseFile), ("--key-command", keyCommand)],
            surroundings)
        if let way = options { return way }
        let variables = ["MEDIAVAULT_KEY_FILE", "MEDIAVAULT_PASSPHRASE_FILE", "MEDIAVAULT_KEY_COMMAND"]
        return try Self.ways(variables.map { ($0, surroundings[$0]) }, surroundings) ?? .prompt
    }

    /// The one way that is named among key file, passphrase file and key command, in this order; nil where none is.
    private static func ways(_ named: [(name: String, value: String?)], _ surroundings: Surroundings) throws -> Way? {
        let given = named.enumerated().compactMap { index, way in way.value.map { (index, way.name, $0) } }
        guard let (index, name, value) = given.first else { return nil }
        guard given.count == 1 else {
            throw UsageError("\(given.map(\.1).joined(separator: " and ")) are both given; give one")
        }
        guard !value.isEmpty else { throw UsageError("\(name) is empty; name a file or a command") }
        switch index {
        case 0: return .keyFile(AbsolutePath.of(value, from: surroundings.workingDirectory))
        case 1: return .passphraseFile(AbsolutePath.of(value, from: surroundings.workingDirectory))
        default: return .keyCommand(value)
        }
    }

    /// What the library takes, asked for at the terminal where nothing is named.
    ///
    /// - Parameter isNew: whether the passphrase is being chosen, and so is asked for twice.
    func unlock(isNew: Bool = false) async throws -> Unlock {
        switch try way() {
        case .keyFile(let path): return .keyFile(path: path, allowLoose: allowLooseKeyFile)
        case .passphraseFile(let path): return .passphraseFile(path: path, allowLoose: allowLooseKeyFile)
        case .keyCommand(let command): return .keyCommand(command)
        case .prompt: return .passphrase(try await PassphrasePrompt.ask(isNew: isNew))
        }
    }
}
