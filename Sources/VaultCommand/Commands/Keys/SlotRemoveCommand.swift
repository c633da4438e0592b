import ArgumentParser
import MediaVault

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

    private func order(_ changer: KeyringChanger, then root: NewRoot?) async throws -> KeyringOrder {
        do {
            return try await changer.orders.removing(number, then: root, isForced: force)
        } catch let error as VaultError where error.code == .inUse {
            throw VaultError(.inUse, "\(error.message), or remove it with --force")
        }
    }
}
