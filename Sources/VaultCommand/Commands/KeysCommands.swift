import ArgumentParser
import MediaVault
import VaultService

struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "The life of the vault's keys.",
        subcommands: [
            KeysListCommand.self, RotateCommand.self, RewrapCommand.self, RetireCommand.self, ResealCommand.self,
            SlotCommand.self, ChangePassphraseCommand.self, KeysBackupCommand.self, KeysRestoreCommand.self,
            RevokeLinksCommand.self, LockCommand.self, AuditCommand.self, DestroyCommand.self,
        ])
}

struct KeysListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Tell how the keys stand: each generation, what needs it, and what is left to do.",
        discussion: "Works beside a running service, and changes nothing.")

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let document = try await document()
        try await StandardOutput.shared.write(json ? try JSONText.of(document) + "\n" : KeysText.text(document))
    }

    /// The service knows which act works, and needs no key; without one keyring and index are read.
    private func document() async throws -> KeysDocument {
        do {
            return try await RemoteVault(ControlClient(folder: try access.place.vault())).keys()
        } catch is ServiceGone {
            return try await access.opener().reading { try await LocalVault($0).keys() }
        }
    }
}

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
        await KeysText.tellRest(act, document)
        try await StandardOutput.shared.write(json ? try JSONText.of(document) + "\n" : KeysText.text(document))
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

struct RewrapCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rewrap",
        abstract: "Wrap the key of every title anew under the current generation.",
        discussion: """
            No media is read or written, and films play on. What is done stays done: run it again to go on. Exit code 4 \
            where a key does not open, and so keeps its generation.
            """)

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let finder = try await access.finder(waiting)
        let document = try await Interruption.cancelling("what is wrapped anew stays so") {
            try await finder.act { vault in
                let document = try await vault.rewrap { step in
                    guard Terminal.shared.canRedraw else { return }
                    await Terminal.shared.redraw("rewrap  \(step.keys) of \(step.total) keys")
                }
                await Terminal.shared.keepLine()
                return document
            }
        }
        let verdict = RewrapText(document)
        for remark in verdict.remarks { await Terminal.shared.say(remark) }
        if json { try await StandardOutput.shared.write(try JSONText.of(document) + "\n") }
        guard verdict.status == .done else { throw Reported(status: verdict.status) }
    }
}

struct RetireCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retire",
        abstract: "Destroy a generation of keys that nothing needs any more.",
        discussion: """
            Refuses while anything needs it, and says what. What it prints is the proof: what needs each generation. Run \
            again, it finishes what was broken off.
            """)

    @Argument(help: ArgumentHelp("The generation, as keys list numbers it.", valueName: "n"))
    var generation: Int

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let (finder, generation) = (try await access.finder(waiting), generation)
        let document = try await Interruption.cancelling("keys list tells whether the generation is there still") {
            try await finder.act { try await $0.retire(generation) }
        }
        let done = "generation \(generation) is destroyed"
        await Terminal.shared.say([done, KeysText.cutOff(by: document)].compactMap(\.self).joined(separator: "; "))
        if let backups = document.generations.first(where: { $0.number == generation })?.backups, backups > 0 {
            await Terminal.shared.say("\(backups) backup files of the keyring hold it still: destroy them, too")
        }
        await KeysText.tellRest(.retire, document)
        try await StandardOutput.shared.write(json ? try JSONText.of(document) + "\n" : KeysText.text(document))
    }
}

struct LockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Have the running service wipe every key from its memory.",
        discussion: """
            All playback ends, what was received is kept, and from then on the service opens nothing, until it is started \
            anew: no key can be given to one that runs. Needs no key.
            """)

    @OptionGroup(title: "Vault")
    var place: PlaceOptions

    func run() async throws {
        do {
            try await RemoteVault(ControlClient(folder: try place.vault())).lock()
            await Terminal.shared.say("locked: the service has no key any more; start it anew to play")
        } catch is ServiceGone {
            await Terminal.shared.say("no service has the vault open: there is nothing to lock")
        }
    }
}
