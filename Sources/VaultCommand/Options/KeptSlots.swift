import ArgumentParser
import MediaVault
import VaultService

/// The slots that stay when the root key is made anew: what opens them is needed to seal it for them.
struct KeptSlots: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "For a new root key: a key file that opens another slot, which stays. May be given often.",
            valueName: "file"))
    var slotKeyFile: [String] = []

    @Option(
        help: ArgumentHelp(
            "For a new root key: a passphrase file that opens another slot, which stays. May be given often.",
            valueName: "file"))
    var slotPassphraseFile: [String] = []

    @Option(
        help: ArgumentHelp(
            "For a new root key: a credential that opens another slot, which stays; a running service takes its own. May be given often.",
            valueName: "name"))
    var slotCredential: [String] = []

    @Flag(help: "For a new root key: drop the slots that nothing given here opens.")
    var dropSlots = false

    /// The options, as messages name them.
    static let names = "--slot-key-file, --slot-passphrase-file, --slot-credential and --drop-slots"

    /// Whether none of it was given.
    var isEmpty: Bool {
        slotKeyFile.isEmpty && slotPassphraseFile.isEmpty && slotCredential.isEmpty && !dropSlots
    }

    /// What opens the slots that are named.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` where one is no credential's name.
    func keys(allowLoose: Bool) throws -> [SlotKey] {
        let folder = Surroundings.current.workingDirectory
        let files: [Unlock] =
            slotKeyFile.map { .keyFile(path: AbsolutePath.of($0, from: folder), allowLoose: allowLoose) }
            + slotPassphraseFile.map {
                .passphraseFile(path: AbsolutePath.of($0, from: folder), allowLoose: allowLoose)
            }
        return try files.map { .unlock($0) } + slotCredential.map { .credential(try CredentialName($0)) }
    }
}
