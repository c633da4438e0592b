import ArgumentParser
import MediaVault
import VaultService

struct ModeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mode",
        abstract: "Say of titles what is asked of their origins, and what is kept.",
        discussion: """
            online: what is missing is fetched; what is held is confirmed with its origin once it is no longer fresh.
            prefer-vault: what is held plays as it is; what is missing is fetched.
            offline: nothing is fetched.
            no-store: what is missing is fetched and handed on; nothing is written.
            default: as the vault (config set mode, serve --mode).
            A vault that is offline or no-store is so for every title. info shows the mode of a title.
            """)

    @Argument(help: ArgumentHelp("One of \(NamedMode.names).", valueName: "mode"))
    var mode: ModeArgument

    @OptionGroup var titles: TitleArguments

    func run() async throws {
        let mode = mode
        try await titles.act { vault, reference in
            try await vault.setMode(mode.mode, of: reference)
            return TitleRecord.Outcome(sentence: "mode \(mode.name)")
        }
    }
}
