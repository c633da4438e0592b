import ArgumentParser
import MediaVault

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
