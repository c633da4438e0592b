import ArgumentParser
import MediaVault
import VaultService

struct RotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Make a new generation of keys, which new titles use from now on.",
        discussion: """
            What is held already stays under the older generations: rewrap moves it, retire destroys them. The keyring's \
            file is written anew: back it up again, an older copy opens this vault no more.

            With --root a new root key and token key are made, too: for the slot that opens the keyring here, and for those \
            whose key or passphrase files are named. All playback addresses and the admin token are void. With --locator \
            the ids of all titles are computed anew instead, and what plays ends.
            """)

    @Flag(help: "Make a new root key and token key, too.")
    var root = false

    @Option(
        help: ArgumentHelp(
            "With --root: a key file that opens another slot, which stays. May be given often.", valueName: "file"))
    var slotKeyFile: [String] = []

    @Option(
        help: ArgumentHelp(
            "With --root: a passphrase file that opens another slot, which stays. May be given often.",
            valueName: "file"))
    var slotPassphraseFile: [String] = []

    @Flag(help: "With --root: drop the slots that nothing given here opens.")
    var dropSlots = false

    @Flag(help: "Compute the ids of all titles anew, under a new key.")
    var locator = false

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Print a JSON object.")
    var json = false

    func validate() throws {
        guard !root || !locator else {
            throw ValidationError("--root and --locator are two acts; run one after the other")
        }
        guard root || slotKeyFile.isEmpty && slotPassphraseFile.isEmpty && !dropSlots else {
            throw ValidationError("--slot-key-file, --slot-passphrase-file and --drop-slots belong to --root")
        }
    }

    func run() async throws {
        let finder = try await access.finder(waiting)
        let act: KeyAct = root ? .rotateRoot : locator ? .rotateLocator : .rotate
        let unlocks = root ? try await unlocks(finder.opener) : []
        let dropSlots = dropSlots
        let document = try await Interruption.cancelling("keys list tells whether it was done") {
            try await finder.act { vault in
                switch act {
                case .rotateRoot: try await vault.rotateRoot(unlockedBy: unlocks, droppingOtherSlots: dropSlots)
                case .rotateLocator: try await vault.changeLocator()
                default: try await vault.rotate()
                }
            }
        }
        await Terminal.shared.say(
            "\(locator ? "every title has another id" : "generation \(document.current) is made"); \(act.cutsOff)")
        await KeysSheet.tellRest(act, document)
        try await StandardOutput.shared.write(json ? try JSONText.of(document) + "\n" : KeysSheet.text(document))
    }

    /// What opens the slots that stay.
    private func unlocks(_ opener: VaultOpener?) async throws -> [Unlock] {
        let directory = Surroundings.current.workingDirectory
        let isLoose = access.unlocking.allowLooseKeyFile
        return [try await own(opener)]
            + slotKeyFile.map { .keyFile(path: AbsolutePath.of($0, from: directory), allowLoose: isLoose) }
            + slotPassphraseFile.map {
                .passphraseFile(path: AbsolutePath.of($0, from: directory), allowLoose: isLoose)
            }
    }

    private func own(_ opener: VaultOpener?) async throws -> Unlock {
        if let opener { return opener.unlock }
        // Beside a service nobody is asked: what is typed here cannot be handed over.
        guard try access.unlocking.way() != .prompt else {
            throw VaultError(
                .invalidArgument,
                "a running service takes what unlocks a slot from a file alone: name one with --key-file or "
                    + "--passphrase-file, or end the service and run this again")
        }
        return try await access.unlocking.unlock()
    }
}
