import MediaVault

/// A vault as `status --json` prints it.
struct StatusRecord: Encodable, Sendable {
    struct Unlock: Encodable, Sendable {
        let method: String
        /// Whether what opens the keyring is on the vault's own disk.
        let restsWithVault: Bool
    }

    let vault: String
    let bytesFetched: Int64
    let bytes: Int64
    let resources: Int
    let segments: Int
    let generation: Int
    let unlock: Unlock
    let keysLocked: Bool
    /// Bytes of segment files on disk.
    let used: Int64
    let service: OrNull<ServiceRecord>

    init(_ status: VaultStatus, service: ServiceRecord?) {
        vault = status.vaultID
        bytesFetched = status.bytesFetched
        bytes = status.bytes
        resources = status.resources
        segments = status.segments
        generation = status.generation
        unlock = Unlock(method: status.unlockMethod, restsWithVault: status.unlockRestsWithVault)
        keysLocked = status.keysLocked
        used = status.used
        self.service = OrNull(service)
    }
}
