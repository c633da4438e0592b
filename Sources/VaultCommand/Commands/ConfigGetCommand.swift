import ArgumentParser
import MediaVault
import VaultService

struct ConfigGetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "get", abstract: "Print a setting, or all of them.")

    @Argument(help: ArgumentHelp("The setting.", valueName: "key"))
    var key: ConfigKey?

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON object of all settings.")
    var json = false

    func run() async throws {
        let settings = try await settings()
        let text =
            if json {
                try JSONText.of(settings) + "\n"
            } else if let key {
                key.lines(settings).map { Terminal.printable($0) + "\n" }.joined()
            } else {
                FactSheet.text(ConfigKey.allCases.flatMap { key in key.lines(settings).map { (key.rawValue, $0) } })
            }
        try await StandardOutput.shared.write(text)
    }

    /// The service needs no key; without one the index is read.
    private func settings() async throws -> SettingsDocument {
        do {
            return try await ServedVault(ControlClient(folder: try access.place.vault())).settings()
        } catch is ServiceGone {
            return try await access.opener().reading { try await LocalVault($0).settings() }
        }
    }
}
