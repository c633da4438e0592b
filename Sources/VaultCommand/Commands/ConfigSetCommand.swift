import ArgumentParser
import MediaVault
import VaultService

struct ConfigSetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Change a setting, for the running service too.",
        discussion: ConfigKey.manual)

    @Argument(help: ArgumentHelp("The setting: \(ConfigKey.names).", valueName: "key"))
    var key: ConfigKey

    @Argument(help: ArgumentHelp("What it is to be.", valueName: "value"))
    var values: [String]

    @Option(help: ArgumentHelp("The host that ignore-query is for (default: every host).", valueName: "host"))
    var host: String?

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    func run() async throws {
        let change = try key.change(values, host: host)
        let finder = try await access.finder(waiting)
        _ = try await Interruption.cancelling("the setting may be as it was") {
            try await finder.act { try await $0.change(change) }
        }
    }
}
