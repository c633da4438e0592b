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
    /// Whether the memory of the process that has the vault open may be written to a swap device.
    package let swapInReach: Bool
    /// Bytes of segment files on disk: what `maxSize` limits.
    package let used: Int64
    /// Bytes that were handed on without being stored since the vault was opened.
    package let passedThrough: Int64
    /// Bytes of segment files that made room since then.
    package let evicted: Int64
    /// What the store refuses with, while bytes are handed on unstored.
    package let storeFailure: OrNull<String>
    package let unlock: Unlock

    package init(_ status: VaultStatus) {
        vault = status.vaultID
        resources = status.resources
        segments = status.segments
        bytes = status.bytes
        bytesFetched = status.bytesFetched
        generation = status.generation
        keysLocked = status.keysLocked
        swapInReach = status.swapInReach
        used = status.used
        passedThrough = status.passedThrough
        evicted = status.evicted
        storeFailure = OrNull(status.storeFailure)
        unlock = Unlock(method: status.unlockMethod, restsWithVault: status.unlockRestsWithVault)
    }
}
