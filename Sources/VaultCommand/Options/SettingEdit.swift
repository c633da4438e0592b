import ArgumentParser
import VaultService

/// What every change of a setting is given beside the setting, and how it is carried out.
struct SettingEdit: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The host that ignore-query is for (default: every host), or one for a list of hosts.", valueName: "host"))
    var host: String?

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    /// Changes the settings, through a running service where there is one.
    func carryOut(_ change: SettingsChange) async throws {
        let finder = try await access.finder(waiting)
        _ = try await Interruption.cancelling("the setting may be as it was") {
            try await finder.act { try await $0.change(change) }
        }
    }
}
