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

    /// Returns an opener for the vault. This prompts for a passphrase if no key is named, unless there is nothing to
    /// open.
    ///
    /// - Parameter repairs: whether the command rebuilds a vault that has lost its index.
    func opener(repairs: Bool = false) async throws -> VaultOpener {
        // Contradictory options are an error even if there is no vault.
        let (place, source) = (try place.place(), try unlocking.source())
        if !repairs { try await place.requireVault() }
        try await place.requireKeyring()
        let unlock = try await source.unlock(allowLoose: unlocking.allowLooseKeyFile, asking: .old)
        return VaultOpener(place: place, unlock: unlock)
    }

    /// Returns the running service if no option names a key; nil if one does, or no service answers.
    ///
    /// If an option names a key, the command reads the vault itself, which is faster than reading through the service.
    /// A key in the environment is used only if there is no service, or if the service is locked.
    func keylessService() async throws -> RemoteVault? {
        // Contradictory variables are an error even if they are not needed.
        let source = try unlocking.source()
        guard try unlocking.option() == nil, let service = try await runningService() else { return nil }
        guard source != .prompt else { return service }
        do {
            _ = try await service.call(Operations.Upkeep.settings)
        } catch let error as VaultError where error.code == .locked {
            return nil
        } catch {
            // The command meets the same failure, and reports it.
        }
        return service
    }

    /// Returns the running service; nil if no service answers.
    func runningService() async throws -> RemoteVault? {
        guard let folder = try? place.vault() else { return nil }
        let client = ControlClient(folder: folder)
        return await client.isAnswered() ? RemoteVault(client) : nil
    }

    /// Returns an issuer of links and tokens, which needs only the keyring. This prompts for a passphrase if no key is
    /// named.
    func tokenIssuer() async throws -> TokenIssuer {
        let keyring = try place.keyringFile()
        // There may be a keyring even if the vault has no default path.
        if let place = try? place.place() { try await place.requireKeyring() }
        return try await TokenIssuer.open(keyring: keyring, unlock: try await unlocking.unlock())
    }

    /// Returns a connector to the service that owns the vault. A key is needed only if no service owns it.
    ///
    /// - Parameter limits: the limits for this run, which apply if this process becomes the owner. If a service is the
    ///   owner, they are refused, because a service keeps its own limits.
    func connector(_ wait: WaitOption = WaitOption(), limits: StorageLimits? = nil) async throws -> VaultConnector {
        let client = ControlClient(folder: try place.vault())
        return VaultConnector(
            client: client, opener: await client.isAnswered() ? nil : try await opener(),
            fallbackOpener: { [self] in
                guard try unlocking.source() != .prompt else {
                    throw VaultError(.closed, "the service ended before it answered; run the command again")
                }
                return try await opener()
            }, limits: limits, waitsForOwner: wait.waitsForOwner)
    }
}

/// The options of a command that acts on the vault through the service that owns it, or else as its owner.
struct OwnerAccess: ParsableArguments {
    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    /// Acts on the vault; see ``VaultConnector/acting(ifInterrupted:_:)``.
    ///
    /// - Parameter limits: as for ``VaultAccess/connector(_:limits:)``.
    func acting<Value: Sendable>(
        limits: StorageLimits? = nil, ifInterrupted outcome: String = Interrupted.usualOutcome,
        _ body: @escaping @Sendable (any VaultClient) async throws -> Value
    ) async throws -> Value {
        try await connector(limits: limits).acting(ifInterrupted: outcome, body)
    }

    /// Returns a connector; see ``VaultAccess/connector(_:limits:)``.
    func connector(limits: StorageLimits? = nil) async throws -> VaultConnector {
        try await access.connector(waiting, limits: limits)
    }
}

/// The option to print the result as JSON.
struct JSONOption: ParsableArguments {
    @Flag(name: .customLong("json"), help: "Print a JSON object.")
    var isJSON = false

    /// Writes a document as a line of JSON, or as a text for people.
    func write(_ document: some Encodable, orText text: @autoclosure () -> String) async throws {
        if isJSON {
            try await StandardOutput.shared.writeJSON(document)
        } else {
            try await StandardOutput.shared.write(text())
        }
    }

    /// Writes a document as a line of JSON; nothing if the option is not given.
    func writeIfJSON(_ document: @autoclosure () -> some Encodable) async throws {
        if isJSON { try await StandardOutput.shared.writeJSON(document()) }
    }
}

/// Opens a vault, given its paths and its key. It never prompts.
struct VaultOpener: Sendable {
    let place: VaultPlace
    let unlock: Unlock

    /// Opens the vault as its owner, runs `body`, and closes the vault whether or not `body` throws.
    ///
    /// - Parameters:
    ///   - mode: the mode for this run; nil to use the vault's setting.
    ///   - limits: the limits for this run, which override the vault's settings.
    ///   - whenOwned: called if another process owns the vault; returns whether to try again.
    func owning<Value>(
        _ mode: VaultMode? = nil, limits: StorageLimits? = nil,
        whenOwned: (@Sendable (VaultError, Int) async throws -> Bool)? = nil, _ body: (Vault) async throws -> Value
    ) async throws -> Value {
        var options = VaultOptions(access: .owner, mode: mode, limits: limits)
        options.whenOwned = whenOwned
        return try await open(options, body)
    }

    /// Opens the vault to read held media, alongside its owner and without the network.
    ///
    /// - Parameter tells: whether to report to the user if the vault's folder cannot be written to.
    func reading<Value>(tells: Bool = true, _ body: (Vault) async throws -> Value) async throws -> Value {
        try await open(VaultOptions(access: .reader, mode: .offline)) { vault in
            if tells, vault.isReadAsClosed {
                await Terminal.shared.say(
                    "the vault's folder cannot be written, as on a read-only file system: it is read as it was closed")
            }
            return try await body(vault)
        }
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

/// The paths of the vault and its keyring.
struct PlaceOptions: ParsableArguments {
    @Option(
        name: .customLong("vault"),
        help: ArgumentHelp(
            "Vault folder (MEDIAVAULT_DIR; default: $XDG_DATA_HOME/mediavault).", valueName: "dir"),
        completion: .directory)
    var folder: String?

    @Option(
        help: ArgumentHelp(
            "Keyring file (MEDIAVAULT_KEYRING; default: $XDG_CONFIG_HOME/mediavault/keyring.json).",
            valueName: "file"), completion: .file())
    var keyring: String?

    /// Returns both paths, each from its option, else from the environment, else the default.
    func place(in environment: ProcessEnvironment = .current) throws -> VaultPlace {
        VaultPlace(folder: try vault(in: environment), keyring: try keyringFile(in: environment))
    }

    /// Returns the path of the vault's folder.
    func vault(in environment: ProcessEnvironment = .current) throws -> String {
        try PathChoice(option: folder, name: "--vault", variable: "MEDIAVAULT_DIR").path(in: environment)
            ?? Self.home("XDG_DATA_HOME", ".local/share", "--vault", in: environment) + "/mediavault"
    }

    /// Returns the path of the keyring file.
    func keyringFile(in environment: ProcessEnvironment = .current) throws -> String {
        try PathChoice(option: keyring, name: "--keyring", variable: "MEDIAVAULT_KEYRING").path(in: environment)
            ?? Self.home("XDG_CONFIG_HOME", ".config", "--keyring", in: environment) + "/mediavault/keyring.json"
    }

    /// Returns a base folder as defined by the XDG specification, which requires that relative values are ignored.
    private static func home(
        _ variable: String, _ fallback: String, _ option: String, in environment: ProcessEnvironment
    ) throws -> String {
        if let folder = environment[variable], folder.hasPrefix("/") { return AbsolutePath.of(folder, from: "/") }
        if let home = environment["HOME"], home.hasPrefix("/") {
            return AbsolutePath.of(fallback, from: home)
        }
        throw UsageError("HOME is not set to an absolute path, so there is no default path; use \(option)")
    }
}

/// A path from an option or an environment variable.
struct PathChoice: Hashable, Sendable {
    /// The option's value; nil if the option is not given.
    let option: String?
    /// The option's name, for messages.
    let name: String
    let variable: String

    /// Returns the absolute path; nil if neither the option nor the variable is given.
    func path(in environment: ProcessEnvironment) throws -> String? {
        guard option?.isEmpty != true else { throw UsageError("\(name) is empty; give it a path") }
        return try (option ?? environment[variable]).map { try environment.absolute($0) }
    }
}

/// The option to wait while another command owns the vault.
struct WaitOption: ParsableArguments {
    @Flag(name: .customLong("wait"), help: "Wait while another command owns the vault.")
    var waitsForOwner = false
}
