import ArgumentParser
import MediaVault
import VaultService

struct ConfigUnsetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unset", abstract: "Take a setting back: then it is as in a new vault.")

    @Argument(help: ArgumentHelp("The setting: \(ConfigKey.names).", valueName: "key"))
    var key: ConfigKey

    @Argument(help: ArgumentHelp("Of map-host and allow-host: the hosts meant.", valueName: "value"))
    var values: [String] = []

    @Option(help: ArgumentHelp("The host that ignore-query is for (default: every host).", valueName: "host"))
    var host: String?

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    func run() async throws {
        let change = try key.absence(values, host: host)
        let finder = try await access.finder(waiting)
        _ = try await Interruption.cancelling("the setting may be as it was") {
            try await finder.act { try await $0.change(change) }
        }
    }
}
