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

    @Flag(help: "Take a key or passphrase file that others can read, too.")
    var allowLooseKeyFile = false

    /// A way to open the keyring.
    enum Way: Hashable, Sendable {
        case keyFile(String)
        case passphraseFile(String)
        /// Nothing was named: ask, where there is somebody to ask.
        case prompt
    }

    /// The way meant: what the options name, else what the environment names, else a prompt.
    func way(in surroundings: Surroundings = .current) throws -> Way {
        switch (keyFile, passphraseFile) {
        case (nil, nil):
            return try Self.way(
                keyFile: surroundings["MEDIAVAULT_KEY_FILE"],
                passphraseFile: surroundings["MEDIAVAULT_PASSPHRASE_FILE"],
                named: "MEDIAVAULT_KEY_FILE and MEDIAVAULT_PASSPHRASE_FILE", in: surroundings)
        default:
            return try Self.way(
                keyFile: keyFile, passphraseFile: passphraseFile,
                named: "--key-file and --passphrase-file", in: surroundings)
        }
    }

    private static func way(
        keyFile: String?, passphraseFile: String?, named: String, in surroundings: Surroundings
    ) throws -> Way {
        guard keyFile?.isEmpty != true, passphraseFile?.isEmpty != true else {
            throw UsageError("--key-file or --passphrase-file is empty; name a file")
        }
        switch (keyFile, passphraseFile) {
        case (nil, nil): return .prompt
        case (let file?, nil): return .keyFile(AbsolutePath.of(file, from: surroundings.workingDirectory))
        case (nil, let file?): return .passphraseFile(AbsolutePath.of(file, from: surroundings.workingDirectory))
        case (.some, .some): throw UsageError("\(named) are both given; give one")
        }
    }

    /// What the library takes, asked for at the terminal where nothing is named.
    ///
    /// - Parameter isNew: whether the passphrase is being chosen, and so is asked for twice.
    func unlock(isNew: Bool = false) async throws -> Unlock {
        switch try way() {
        case .keyFile(let path): return .keyFile(path: path, allowLoose: allowLooseKeyFile)
        case .passphraseFile(let path): return .passphraseFile(path: path, allowLoose: allowLooseKeyFile)
        case .prompt: return .passphrase(try await PassphrasePrompt.ask(isNew: isNew))
        }
    }
}
