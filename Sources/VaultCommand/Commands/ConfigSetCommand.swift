import ArgumentParser

struct ConfigSetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Change a setting, for the running service too.",
        discussion: ConfigKey.manual)

    @Argument(help: ArgumentHelp("The setting.", valueName: "key"))
    var key: ConfigKey

    @Argument(help: ArgumentHelp("What it is to be.", valueName: "value"))
    var values: [String] = []

    @OptionGroup var edit: SettingEdit

    func run() async throws { try await edit.carryOut(key.change(values, host: edit.host)) }
}
