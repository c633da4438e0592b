import ArgumentParser
import MediaVault
import VaultService

struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "Manage the vault's keys.",
        subcommands: [
            KeysListCommand.self, RotateCommand.self, RewrapCommand.self, RetireCommand.self, ResealCommand.self,
            SlotCommand.self, ChangePassphraseCommand.self, KeysBackupCommand.self, KeysRestoreCommand.self,
            RevokeLinksCommand.self, RevokeRootCommand.self, RespondToLeakCommand.self, RenewCommand.self,
            LockCommand.self, AuditCommand.self, DestroyCommand.self,
        ])
}

struct KeysListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show each generation of keys, what needs it, and what is left to do.",
        discussion: "Works beside a running service, and changes nothing.", aliases: ["ls"])

    @OptionGroup var access: VaultAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let document = try await document()
        try await output.write(document, orText: KeysText.text(document))
    }

    /// Returns the state of the keys from the service, for which no key is needed, and which knows the running
    /// operation. If there is no service, the keyring and index are read.
    private func document() async throws -> KeysDocument {
        do {
            return try await RemoteVault(ControlClient(folder: try access.place.vault())).call(Operations.Keys.list)
        } catch is ServiceGone {
            return try await access.opener().reading { try await LocalVault($0).call(Operations.Keys.list) }
        }
    }
}

struct RotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Create a new generation of keys for titles stored from now on.",
        discussion: """
            Titles that are already held stay under the older generations: rewrap moves them, retire destroys those \
            generations. The keyring file changes: back it up again, because the vault refuses an older copy.

            With --root it also creates a new root key and token key, sealed for the slot that opens the keyring here \
            and for those whose key files, passphrase files or credentials are given. A running service reads these \
            itself, credentials from its own unit. All playback links and tokens become invalid. With \
            --locator it recomputes the ids of all titles instead, and playback ends.
            """)

    @Flag(help: "Create a new root key and token key, too.")
    var root = false

    @OptionGroup var kept: KeptSlots

    @Flag(help: "Recompute the ids of all titles under a new key.")
    var locator = false

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func validate() throws {
        guard !root || !locator else {
            throw ValidationError("--root and --locator cannot be combined; run one after the other")
        }
        guard root || kept.isEmpty else {
            throw ValidationError("\(KeptSlots.names) require --root")
        }
    }

    func run() async throws {
        let connector = try await owner.connector()
        let act: Receipt.Act = root ? .rotateRoot : locator ? .changeLocator : .rotate
        let keys = root ? try await kept.keys(besides: owner.access, connector.opener) : []
        let dropSlots = kept.dropSlots
        let document = try await connector.acting(ifInterrupted: "keys list shows whether it was done") { vault in
            switch act {
            case .rotateRoot: try await vault.rotateRoot(unlockedBy: keys, droppingOtherSlots: dropSlots)
            case .changeLocator: try await vault.call(Operations.Keys.rotate, RotationRequest(locator: true))
            default: try await vault.call(Operations.Keys.rotate, RotationRequest())
            }
        }
        let done =
            locator
            ? "every resource id is a new one, and the ids that list prints stay"
            : "created generation \(document.current)"
        await Terminal.shared.say([done, act.cutsOff].compactMap(\.self).joined(separator: "; "))
        await KeysText.printRemainingWork(act, document, besideTable: !output.isJSON)
        await Terminal.shared.say(KeysText.backUp)
        try await output.write(document, orText: KeysText.text(document))
    }
}

struct RewrapCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rewrap",
        abstract: "Move the key of every title to the current generation.",
        discussion: """
            Reads and writes no media, and playback continues. After an interruption, run it again to continue. The \
            exit code is 4 if a key does not open, which therefore keeps its generation.
            """)

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let document = try await owner.acting(ifInterrupted: "keys moved so far stay moved") { vault in
            let document = try await vault.follow(Operations.Keys.rewrap, EmptyDocument()) { step in
                guard Terminal.shared.canRedraw else { return }
                await Terminal.shared.redraw("rewrap  \(step.keys) of \(step.total) keys")
            }
            await Terminal.shared.keepLine()
            return document
        }
        let verdict = RewrapText(document)
        for remark in verdict.remarks { await Terminal.shared.say(remark) }
        try await output.writeIfJSON(document)
        guard verdict.status == .done else { throw AlreadyReported(status: verdict.status) }
    }
}

struct RetireCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retire",
        abstract: "Destroy a generation of keys that nothing needs any more.",
        discussion: """
            Refuses while anything needs the generation, and reports what does. The output shows what needs each \
            generation, as proof. Run it again to finish an interrupted retire.
            """)

    @Argument(
        help: ArgumentHelp("Number of the generation, such as 1: see keys list.", valueName: "n"),
        completion: ServiceCompletion.generations)
    var generation: Int

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let generation = generation
        let (wasRetired, document) = try await owner.acting(
            ifInterrupted: "keys list shows whether the generation still exists"
        ) { vault in
            let before = try await vault.call(Operations.Keys.list).generations.first { $0.number == generation }
            return (
                before?.state == .retired,
                try await vault.call(Operations.Keys.retire, RetirementRequest(generation: generation))
            )
        }
        let done = wasRetired ? "generation \(generation) was already destroyed" : "destroyed generation \(generation)"
        let end = wasRetired ? nil : KeysText.cutOff(by: document)
        await Terminal.shared.say([done, end].compactMap(\.self).joined(separator: "; "))
        if let backups = document.generations.first(where: { $0.number == generation })?.backups, backups > 0 {
            await Terminal.shared.say(
                backups == 1
                    ? "1 backup of the keyring still contains it: destroy it, too"
                    : "\(backups) backups of the keyring still contain it: destroy them, too")
        }
        if !wasRetired { await Terminal.shared.say(CopiesText.afterRetirement) }
        await KeysText.printRemainingWork(.retire, document, besideTable: !output.isJSON)
        try await output.write(document, orText: KeysText.text(document))
    }
}

struct LockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Wipe all keys from the memory of the running service.",
        discussion: """
            All playback ends, received data is kept, and the service opens nothing until it is restarted: a running \
            service cannot be given a key. Needs no key.
            """)

    @OptionGroup(title: "Vault")
    var place: PlaceOptions

    // These options are accepted but unused, because scripts pass the same options to every command.
    @OptionGroup(visibility: .hidden) var unlocking: UnlockOptions

    @OptionGroup var output: JSONOption

    func run() async throws {
        do {
            try await RemoteVault(ControlClient(folder: try place.vault())).lock()
            await Terminal.shared.say("locked: the service has no key any more; restart it to play")
            try await output.writeIfJSON(LockRecord(locked: true))
        } catch is ServiceGone {
            await Terminal.shared.say("no service has the vault open: there is nothing to lock")
            try await output.writeIfJSON(LockRecord(locked: false))
        }
    }
}
