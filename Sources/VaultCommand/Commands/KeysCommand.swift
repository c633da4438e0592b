import ArgumentParser

struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "The life of the vault's keys.",
        subcommands: [
            KeysListCommand.self, RotateCommand.self, RewrapCommand.self, ResealCommand.self, RetireCommand.self,
            RevokeLinksCommand.self, AuditCommand.self, DestroyCommand.self,
        ])
}
