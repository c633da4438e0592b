import ArgumentParser
import MediaVault

/// The command `mediavault`: a list of its subcommands.
struct MediaVaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mediavault",
        abstract: "Keeps remote audio and video for offline use, sealed, and plays it.",
        discussion: """
            A first film:
              export MEDIAVAULT_KEY_FILE=~/keys/mediavault.key
              mediavault init
              mediavault serve &
              mpv "$(mediavault url https://host/film.mp4)"

            Exit codes:
              0  done                             4  integrity failure
              1  failed                           5  origin unreachable, refused or lied
              2  usage                            6  not held
              3  wrong key or keyring             130  interrupted
            """,
        version: "mediavault \(Vault.version)",
        subcommands: [
            InitCommand.self, FetchCommand.self, CatCommand.self, ListCommand.self, InfoCommand.self,
            ExplainCommand.self,
            StatusCommand.self, ServeCommand.self, URLCommand.self, TokenCommand.self, RemoveCommand.self,
            ShredCommand.self, PinCommand.self,
            UnpinCommand.self, ModeCommand.self, PruneCommand.self, ExportCommand.self, VerifyCommand.self,
            IndexCommand.self, ConfigCommand.self, KeysCommand.self,
        ])
}
