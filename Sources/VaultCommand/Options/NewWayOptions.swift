import ArgumentParser
import MediaVault

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
    func named(in surroundings: Surroundings = .current) throws -> UnlockWay? {
        try UnlockOptions.ways(
            [
                ("--new-key-file", newKeyFile), ("--new-passphrase-file", newPassphraseFile),
                ("--new-key-command", newKeyCommand), ("--new-credential", newCredential),
            ], surroundings)
    }

    /// What the library takes, asked for at the terminal where no option names it.
    func way(label: String? = nil, allowLoose: Bool) async throws -> SlotWay {
        SlotWay(
            try await (named() ?? .prompt).unlock(allowLoose: allowLoose, asking: .new), label: label,
            strength: PassphraseStrength(isSensitive: sensitive))
    }
}

extension PassphraseStrength {
    init(isSensitive: Bool) { self = isSensitive ? .sensitive : .moderate }
}
