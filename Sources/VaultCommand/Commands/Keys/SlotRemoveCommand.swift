import ArgumentParser
import MediaVault

struct SlotRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a way to unlock the keyring.",
        discussion: """
            The last one cannot be removed. Whoever knew it and copied the keyring opens that copy still: they have the \
            root key.
            """)

    @Argument(help: ArgumentHelp("The slot's number, as keys slot list shows it.", valueName: "number"))
    var number: Int

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    func run() async throws {
        let changer = try await KeyringChanger(access, waiting)
        try await changer.carryOut(try await changer.orders.removing(number))
        await Terminal.shared.say("slot \(number) is gone; back the keyring up again")
        await KeyringChanger.warn(of: "what opened it")
    }
}
