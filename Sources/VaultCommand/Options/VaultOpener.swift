import MediaVault

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
        _ mode: VaultMode? = nil, limits: RoomLimits? = nil,
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
