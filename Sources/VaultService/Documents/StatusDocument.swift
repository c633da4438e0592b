package import MediaVault

/// The state of a vault as `/api/v1/status` and `status --json` tell it.
package struct StatusDocument: Codable, Sendable {
    package struct Unlock: Codable, Sendable {
        package let method: String
        /// Whether what opens the keyring is on the vault's own disk.
        package let restsWithVault: Bool
    }

    package let vault: String
    package let resources: Int
    package let segments: Int
    package let bytes: Int64
    package let bytesFetched: Int64
    package let generation: Int
    package let keysLocked: Bool
    package let unlock: Unlock

    package init(_ status: VaultStatus) {
        vault = status.vaultID
        resources = status.resources
        segments = status.segments
        bytes = status.bytes
        bytesFetched = status.bytesFetched
        generation = status.generation
        keysLocked = status.keysLocked
        unlock = Unlock(method: status.unlockMethod, restsWithVault: status.unlockRestsWithVault)
    }
}
