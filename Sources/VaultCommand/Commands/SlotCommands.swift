import ArgumentParser
import MediaVault
import VaultService

struct SlotCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "slot", abstract: "The ways to unlock the keyring: each slot is one.",
        subcommands: [SlotListCommand.self, SlotAddCommand.self, SlotRemoveCommand.self])
}

struct SlotAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a way to unlock the keyring, beside those it has.",
        discussion: """
            What opens the keyring now is named as always, the new way by an option that begins with --new; with none \
            it asks for a new passphrase, twice. A keyring has 16 slots at most. Back it up again afterwards.
            """)

    @Option(help: ArgumentHelp("What people call it: whose it is, or where it lies.", valueName: "text"))
    var label: String?

    @OptionGroup(title: "New way") var new: NewWayOptions

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    func run() async throws {
        let changer = try await KeyringChanger(access, waiting)
        let way = try await new.way(label: label, allowLoose: access.unlocking.allowLooseKeyFile)
        let order = try await changer.orders.adding(way)
        try await changer.carryOut(order, saying: "the keyring has another slot; back it up again")
    }
}

struct SlotListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the ways to unlock the keyring.",
        discussion: """
            Reads the keyring's file as it stands, and needs nothing to unlock it: whether somebody changed it who has \
            not its keys shows when it is unlocked.
            """)

    @OptionGroup(title: "Vault") var place: PlaceOptions

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let listing = KeyringListing(try await KeyringSummary.read(try place.keyringFile()))
        try await StandardOutput.shared.write(json ? try JSONText.of(listing) + "\n" : SlotTable.text(listing.slots))
    }
}

struct SlotRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a way to unlock the keyring.",
        discussion: """
            The last one cannot be removed, and the one that opens the keyring here only with --force: unlock it with \
            what opens a slot that stays, which proves that it does. Whoever knew the one that goes and copied the keyring \
            opens that copy still: they have the root key.
            """)

    @Argument(help: ArgumentHelp("The slot's number, as keys slot list shows it.", valueName: "number"))
    var number: Int

    @Flag(help: "Remove it though nothing shows that a slot which stays opens.")
    var force = false

    @OptionGroup(title: "Old way") var revoking: RevokeOptions

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    func run() async throws {
        let changer = try await KeyringChanger(access, waiting)
        let revocation = try revoking.revocation(
            unlocks: [changer.unlock], allowLoose: access.unlocking.allowLooseKeyFile)
        guard revocation == nil || number != changer.orders.unlockedSlot else {
            throw UsageError(
                "slot \(number) is what opens the keyring here, and a new root key is sealed for one that stays; "
                    + "unlock it with that one")
        }
        let order = try await order(changer, then: changer.newRoot(of: revocation))
        let stayed = try await changer.carryOut(
            order, saying: "slot \(number) is gone; back the keyring up again", then: revocation)
        try await KeyringChanger.tell(of: "what opened it", stayed)
    }

    private func order(_ changer: KeyringChanger, then root: RootRotation?) async throws -> KeyringOrder {
        do {
            return try await changer.orders.removing(number, then: root, isForced: force)
        } catch let error as VaultError where error.code == .inUse {
            throw VaultError(.inUse, "\(error.message), or remove it with --force")
        }
    }
}

struct ChangePassphraseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "change-passphrase", abstract: "Put a new passphrase, or another way, in the place of one.",
        discussion: """
            What opens the keyring now is named as always; the slot that it opens is the one that changes, or another by \
            --slot. The new way is a passphrase that is typed twice, or what an option names that begins with --new. \
            Whatever interrupts this, either the old way opens the keyring or the new one does.
            """)

    @Option(help: ArgumentHelp("The slot that changes (default: the one that opens).", valueName: "number"))
    var slot: Int?

    @Option(help: ArgumentHelp("What people call it from now on.", valueName: "text"))
    var label: String?

    @OptionGroup(title: "New way") var new: NewWayOptions

    @OptionGroup(title: "Old way") var revoking: RevokeOptions

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    func run() async throws {
        let changer = try await KeyringChanger(access, waiting)
        let isLoose = access.unlocking.allowLooseKeyFile
        let way = try await new.way(label: label, allowLoose: isLoose)
        let isOwn = slot == nil || slot == changer.orders.unlockedSlot
        let revocation = try revoking.revocation(
            new: way.unlock, unlocks: isOwn ? [] : [changer.unlock], allowLoose: isLoose)
        let order = try await changer.orders.replacing(slot, with: way, then: changer.newRoot(of: revocation))
        let stayed = try await changer.carryOut(
            order,
            saying: "slot \(slot ?? changer.orders.unlockedSlot) opens with what is new, and with nothing else; "
                + "back the keyring up again",
            then: revocation)
        try await KeyringChanger.tell(of: "what opened it before", stayed)
    }
}
