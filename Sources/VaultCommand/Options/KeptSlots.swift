import ArgumentParser
import MediaVault

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

    @Flag(help: "For a new root key: drop the slots that nothing given here opens.")
    var dropSlots = false

    /// Whether none of it was given.
    var isEmpty: Bool { slotKeyFile.isEmpty && slotPassphraseFile.isEmpty && !dropSlots }

    /// What opens the slots that are named.
    func unlocks(allowLoose: Bool) -> [Unlock] {
        let folder = Surroundings.current.workingDirectory
        return slotKeyFile.map { .keyFile(path: AbsolutePath.of($0, from: folder), allowLoose: allowLoose) }
            + slotPassphraseFile.map {
                .passphraseFile(path: AbsolutePath.of($0, from: folder), allowLoose: allowLoose)
            }
    }
}
