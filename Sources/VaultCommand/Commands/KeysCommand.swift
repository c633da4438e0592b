import ArgumentParser

struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "The life of the vault's keys.",
        subcommands: [
            SlotCommand.self, ChangePassphraseCommand.self, KeysBackupCommand.self, KeysRestoreCommand.self,
            ResealCommand.self, LockCommand.self, RevokeLinksCommand.self, AuditCommand.self, DestroyCommand.self,
        ])
}
