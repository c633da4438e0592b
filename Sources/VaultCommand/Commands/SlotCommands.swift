import ArgumentParser
import MediaVault
import VaultService

struct SlotCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "slot", abstract: "Manage the keyring's slots: each is one unlock method.",
        subcommands: [SlotListCommand.self, SlotAddCommand.self, SlotRemoveCommand.self])
}

struct SlotAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add an unlock method to the keyring.",
        discussion: """
            Give the current key as usual, and the new unlock method by an option that starts with --new; without one, \
            the command prompts for a new passphrase, twice. A keyring has at most 16 slots. Back up the keyring again \
            afterwards.
            """)

    @Option(help: ArgumentHelp("Label of the slot, such as its owner or place.", valueName: "text"))
    var label: String?

    @OptionGroup(title: "New unlock method") var new: NewSlotOptions

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let changer = try await SlotChanger(owner)
        let newSlot = try await new.slot(label: label, allowLoose: owner.access.unlocking.allowLooseKeyFile)
        let isKeyFileNew = newSlot.needsKeyFile
        let order = try await changer.orders.adding(newSlot)
        if isKeyFileNew, let path = newSlot.unlock.path { await Terminal.shared.say("created the key file \(path)") }
        let slot = order.slotNumber.map { "slot \($0)" } ?? "slot"
        try await changer.carryOut(order, saying: "\(slot) added; back up the keyring again")
        let rests = newSlot.unlock.rests(with: try owner.access.place.vault())
        if rests { await Terminal.shared.say(UnlockText.sameDisk) }
        guard output.isJSON else { return }
        let record = AddedSlotRecord(
            slot: order.slotNumber, keyFile: isKeyFileNew ? newSlot.unlock.path : nil, restsWithVault: rests)
        try await StandardOutput.shared.writeJSON(record)
    }
}

struct SlotListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the keyring's unlock methods.",
        discussion: """
            Reads the keyring file without unlocking it. Tampering by someone without the keys is therefore detected \
            only when the keyring is unlocked.
            """,
        aliases: ["ls"])

    @OptionGroup(title: "Vault") var place: PlaceOptions

    // These options are accepted but unused, because scripts pass the same options to every command.
    @OptionGroup(visibility: .hidden) var unlocking: UnlockOptions

    @OptionGroup var output: JSONOption

    func run() async throws {
        let keyring = try place.keyringFile()
        if let place = try? place.place() { try await place.requireKeyring() }
        let listing = try await KeyringSummary.read(keyring)
        try await output.write(listing, orText: SlotTable.text(listing.slots))
    }
}

struct SlotRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove an unlock method from the keyring.",
        discussion: """
            The last slot cannot be removed, and the one that opens the keyring here only with --force: unlock the \
            keyring with a slot that stays, which proves that it works. Anyone who knew the removed key or passphrase \
            and copied the keyring can still open that copy, and has the root key; --revoke prevents that.
            """,
        aliases: ["rm"])
    @Argument(help: ArgumentHelp("Number of the slot, such as 2: see keys slot list.", valueName: "number"))
    var number: Int

    @Flag(help: "Remove the slot even if no remaining slot is known to open.")
    var force = false

    @OptionGroup(title: "Old unlock method") var revoking: RevokeOptions

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let changer = try await SlotChanger(owner)
        let revocation = try revoking.revocation(
            unlocks: [changer.unlock], allowLoose: owner.access.unlocking.allowLooseKeyFile)
        guard revocation == nil || number != changer.orders.unlockedSlot else {
            throw UsageError(
                "slot \(number) opens the keyring here, and a new root key has to be sealed for a slot that stays; "
                    + "unlock the keyring with that one")
        }
        let order = try await order(changer, then: changer.newRoot(of: revocation))
        let unretired = try await changer.carryOut(
            order, saying: "slot \(number) removed; back up the keyring again", then: revocation)
        try await output.writeIfJSON(ChangedSlotRecord(number, unretired))
        try await RootRevocation.tell(of: "the removed key or passphrase", unretired)
    }

    private func order(_ changer: SlotChanger, then root: RootRotation?) async throws -> KeyringOrder {
        try await changer.orders.removing(number, then: root, isForced: force)
    }
}

struct ChangePassphraseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "change-passphrase", abstract: "Replace a passphrase or other unlock method.",
        discussion: """
            Give the current key as usual; this replaces the slot that it opens, or the one that --slot names. The new \
            unlock method is a passphrase that is typed twice, or the one named by an option that starts with --new. \
            After any interruption, either the old or the new unlock method opens the keyring.
            """)

    @Option(help: ArgumentHelp("Slot to change (default: the one that opens).", valueName: "number"))
    var slot: Int?

    @Option(help: ArgumentHelp("New label of the slot.", valueName: "text"))
    var label: String?

    @OptionGroup(title: "New unlock method") var new: NewSlotOptions

    @OptionGroup(title: "Old unlock method") var revoking: RevokeOptions

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let changer = try await SlotChanger(owner)
        let allowsLooseFiles = owner.access.unlocking.allowLooseKeyFile
        let newSlot = try await new.slot(label: label, allowLoose: allowsLooseFiles)
        let isOwn = slot == nil || slot == changer.orders.unlockedSlot
        let revocation = try revoking.revocation(
            new: newSlot.unlock, unlocks: isOwn ? [] : [changer.unlock], allowLoose: allowsLooseFiles)
        let order = try await changer.orders.replacing(slot, with: newSlot, then: changer.newRoot(of: revocation))
        let unretired = try await changer.carryOut(
            order,
            saying: "slot \(slot ?? changer.orders.unlockedSlot) changed: only the new unlock method opens it; "
                + "back up the keyring again",
            then: revocation)
        if output.isJSON {
            let record = ChangedSlotRecord(slot ?? changer.orders.unlockedSlot, unretired)
            try await StandardOutput.shared.writeJSON(record)
        }
        try await RootRevocation.tell(of: "the old key or passphrase", unretired)
    }
}
