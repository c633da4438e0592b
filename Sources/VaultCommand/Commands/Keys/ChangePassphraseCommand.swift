import ArgumentParser
import MediaVault

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
