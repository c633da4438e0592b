import ArgumentParser

struct ConfigUnsetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unset", abstract: "Take a setting back: then it is as in a new vault.")

    @Argument(help: ArgumentHelp("The setting.", valueName: "key"))
    var key: ConfigKey

    @Argument(help: ArgumentHelp("Of settings that are hosts: the hosts meant.", valueName: "value"))
    var values: [String] = []

    @OptionGroup var edit: SettingEdit

    func run() async throws { try await edit.carryOut(key.absence(values, host: edit.host)) }
}
