import ArgumentParser
import Foundation
import MediaVault
import VaultService

/// The options of a command that opens the vault.
struct VaultAccess: ParsableArguments {
    @OptionGroup(title: "Vault")
    var place: PlaceOptions

    @OptionGroup(title: "Unlock")
    var unlocking: UnlockOptions

    /// Settles what the options leave open, at the terminal where nothing is named.
    func opener() async throws -> VaultOpener {
        let place = try place.place()
        return VaultOpener(place: place, unlock: try await unlocking.unlock())
    }

    /// Looks for a service that owns the vault; only where there is none is settled what opens the vault here.
    ///
    /// - Parameter limits: for this run, where this process becomes the owner; a service keeps to its own.
    func finder(_ wait: WaitOption = WaitOption(), limits: StorageLimits? = nil) async throws -> VaultConnector {
        let client = ControlClient(folder: try place.vault())
        return VaultConnector(
            client: client, opener: await client.isAnswered() ? nil : try await opener(),
            laterOpener: { [self] in
                guard try unlocking.way() != .prompt else {
                    throw VaultError(.closed, "the service has ended before it answered; run the command again")
                }
                return try await opener()
            }, limits: limits, isPatient: wait.isPatient)
    }
}

/// A vault's place and what opens it, at hand: nothing is asked for any more.
struct VaultOpener: Sendable {
    let place: VaultPlace
    let unlock: Unlock

    /// Opens the vault to change it, for `body`, and closes it whatever `body` does.
    ///
    /// - Parameters:
    ///   - mode: for this run; nil leaves it to the vault's settings.
    ///   - limits: for this run, over those of the vault's settings.
    ///   - whenOwned: asked where another process owns it: whether to try again.
    func owning<Value>(
        _ mode: VaultMode? = nil, limits: StorageLimits? = nil,
        whenOwned: (@Sendable (VaultError, Int) async throws -> Bool)? = nil, _ body: (Vault) async throws -> Value
    ) async throws -> Value {
        var options = VaultOptions(access: .owner, mode: mode, limits: limits)
        options.whenOwned = whenOwned
        return try await open(options, body)
    }

    /// Opens the vault to read what it holds: beside its owner, and without the network.
    func reading<Value>(_ body: (Vault) async throws -> Value) async throws -> Value {
        try await open(VaultOptions(access: .reader, mode: .offline), body)
    }

    private func open<Value>(_ options: VaultOptions, _ body: (Vault) async throws -> Value) async throws -> Value {
        let vault = try await Vault.open(place, unlock: unlock, options: options)
        do {
            let value = try await body(vault)
            await vault.close()
            return value
        } catch {
            await vault.close()
            throw error
        }
    }
}

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
    func place(in surroundings: ProcessEnvironment = .current) throws -> VaultPlace {
        VaultPlace(folder: try vault(in: surroundings), keyring: try keyringFile(in: surroundings))
    }

    /// The vault's folder alone.
    func vault(in surroundings: ProcessEnvironment = .current) throws -> String {
        try PathChoice(option: folder, name: "--vault", variable: "MEDIAVAULT_DIR").path(in: surroundings)
            ?? Self.home("XDG_DATA_HOME", ".local/share", "--vault", in: surroundings) + "/mediavault"
    }

    /// The keyring's file alone.
    func keyringFile(in surroundings: ProcessEnvironment = .current) throws -> String {
        try PathChoice(option: keyring, name: "--keyring", variable: "MEDIAVAULT_KEYRING").path(in: surroundings)
            ?? Self.home("XDG_CONFIG_HOME", ".config", "--keyring", in: surroundings) + "/mediavault/keyring.json"
    }

    /// A base folder of the XDG specification, which has relative values ignored.
    private static func home(
        _ variable: String, _ fallback: String, _ option: String, in surroundings: ProcessEnvironment
    ) throws -> String {
        if let folder = surroundings[variable], folder.hasPrefix("/") { return AbsolutePath.of(folder, from: "/") }
        if let home = surroundings["HOME"], home.hasPrefix("/") {
            return AbsolutePath.of(fallback, from: home)
        }
        throw UsageError("there is no home folder to put the default in; name \(option)")
    }
}

/// A path that an option or an environment variable may name.
struct PathChoice: Hashable, Sendable {
    /// What the option says, where it is there.
    let option: String?
    /// The option, as messages name it.
    let name: String
    let variable: String

    /// The path named, absolute; nil where neither names one.
    func path(in surroundings: ProcessEnvironment) throws -> String? {
        guard option?.isEmpty != true else { throw UsageError("\(name) is empty; name a path") }
        return (option ?? surroundings[variable]).map { AbsolutePath.of($0, from: surroundings.workingDirectory) }
    }
}

/// Paths as the library wants them: from the root.
enum AbsolutePath {
    /// The absolute form of `path`, which starts in `folder` where it is relative.
    ///
    /// Empty and `.` components go. `..` stays: what it leads to is the file system's to say, where links are.
    static func of(_ path: String, from folder: String) -> String {
        let whole = path.hasPrefix("/") ? path : folder + "/" + path
        return "/" + whole.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }
}

/// What a run finds around it: environment variables and the folder it was started in.
struct ProcessEnvironment: Sendable {
    private let variables: [String: String]
    /// The folder that relative paths start from.
    let workingDirectory: String

    init(variables: [String: String], workingDirectory: String) {
        self.variables = variables
        self.workingDirectory = workingDirectory
    }

    /// Those of this process.
    static var current: ProcessEnvironment {
        ProcessEnvironment(
            variables: ProcessInfo.processInfo.environment,
            workingDirectory: FileManager.default.currentDirectoryPath)
    }

    /// The variable's value; nil where it is not set, or empty.
    subscript(name: String) -> String? {
        variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// Whether a command waits for another that owns the vault.
struct WaitOption: ParsableArguments {
    @Flag(name: .customLong("wait"), help: "Wait until another command that owns the vault is done.")
    var isPatient = false
}
