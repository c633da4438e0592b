import ArgumentParser

struct SlotCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "slot", abstract: "The ways to unlock the keyring: each slot is one.",
        subcommands: [SlotListCommand.self, SlotAddCommand.self, SlotRemoveCommand.self])
}
