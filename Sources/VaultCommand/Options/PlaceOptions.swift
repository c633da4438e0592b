import ArgumentParser
import MediaVault

/// Where the vault and its keyring are.
struct PlaceOptions: ParsableArguments {
    @Option(
        name: .customLong("vault"),
        help: ArgumentHelp(
            "The vault's folder (MEDIAVAULT_DIR; default: $XDG_DATA_HOME/mediavault).", valueName: "dir"))
    var folder: String?

    @Option(
        help: ArgumentHelp(
            "The keyring's file (MEDIAVAULT_KEYRING; default: $XDG_CONFIG_HOME/mediavault/keyring.json).",
            valueName: "file"))
    var keyring: String?

    /// The places meant: option, else environment, else default.
    func place(in surroundings: Surroundings = .current) throws -> VaultPlace {
        VaultPlace(folder: try vault(in: surroundings), keyring: try keyringFile(in: surroundings))
    }

    /// The vault's folder alone.
    func vault(in surroundings: Surroundings = .current) throws -> String {
        try PathChoice(option: folder, name: "--vault", variable: "MEDIAVAULT_DIR").path(in: surroundings)
            ?? Self.home("XDG_DATA_HOME", ".local/share", "--vault", in: surroundings) + "/mediavault"
    }

    /// The keyring's file alone.
    func keyringFile(in surroundings: Surroundings = .current) throws -> String {
        try PathChoice(option: keyring, name: "--keyring", variable: "MEDIAVAULT_KEYRING").path(in: surroundings)
            ?? Self.home("XDG_CONFIG_HOME", ".config", "--keyring", in: surroundings) + "/mediavault/keyring.json"
    }

    /// A base folder of the XDG specification, which has relative values ignored.
    private static func home(
        _ variable: String, _ fallback: String, _ option: String, in surroundings: Surroundings
    ) throws -> String {
        if let folder = surroundings[variable], folder.hasPrefix("/") { return AbsolutePath.of(folder, from: "/") }
        if let home = surroundings["HOME"], home.hasPrefix("/") {
            return AbsolutePath.of(fallback, from: home)
        }
        throw UsageError("there is no home folder to put the default in; name \(option)")
    }
}
