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
            whose key or passphrase files or credentials are named. A running service reads those itself, credentials of \
            its own unit. All playback addresses and the admin token are void. With --locator \
            the ids of all titles are computed anew instead, and what plays ends.
            """)

    @Flag(help: "Make a new root key and token key, too.")
    var root = false

    @OptionGroup var kept: KeptSlots

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
        guard root || kept.isEmpty else {
            throw ValidationError("\(KeptSlots.names) belong to --root")
        }
    }

    func run() async throws {
        let finder = try await access.finder(waiting)
        let act: Receipt.Act = root ? .rotateRoot : locator ? .changeLocator : .rotate
        let keys = root ? try await keys(finder.opener) : []
        let dropSlots = kept.dropSlots
        let document = try await Interruption.cancelling("keys list tells whether it was done") {
            try await finder.act { vault in
                switch act {
                case .rotateRoot: try await vault.rotateRoot(unlockedBy: keys, droppingOtherSlots: dropSlots)
                case .changeLocator: try await vault.changeLocator()
                default: try await vault.rotate()
                }
            }
        }
        let done = locator ? "every title has another id" : "generation \(document.current) is made"
        await Terminal.shared.say([done, act.cutsOff].compactMap(\.self).joined(separator: "; "))
        await KeysSheet.tellRest(act, document)
        try await StandardOutput.shared.write(json ? try JSONText.of(document) + "\n" : KeysSheet.text(document))
    }

    /// What opens the slots that stay.
    private func keys(_ opener: VaultOpener?) async throws -> [SlotKey] {
        [try await own(opener)] + (try kept.keys(allowLoose: access.unlocking.allowLooseKeyFile))
    }

    private func own(_ opener: VaultOpener?) async throws -> SlotKey {
        if let opener { return .unlock(opener.unlock) }
        switch try access.unlocking.way() {
        // Beside a service nobody is asked: what is typed here cannot be handed over.
        case .prompt: throw SlotKey.unfound
        // The service's unit has it, and this process need not.
        case .credential(let name): return .credential(name)
        default: return .unlock(try await access.unlocking.unlock())
        }
    }
}
