import ArgumentParser

struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "The life of the vault's keys.",
        subcommands: [
            KeysListCommand.self, RotateCommand.self, RewrapCommand.self, RetireCommand.self, SlotCommand.self,
            ChangePassphraseCommand.self, KeysBackupCommand.self, KeysRestoreCommand.self, RevokeLinksCommand.self,
        ])
}
