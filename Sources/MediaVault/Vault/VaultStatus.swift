/// Counts and state of a vault. It says nothing that its owner could not see, and no secret.
public struct VaultStatus: Hashable, Sendable {
    /// The vault's name, 32 hex digits.
    public let vaultID: String
    /// How many resources it knows.
    public let resources: Int
    /// Plaintext bytes that lie sealed in it.
    public let bytes: Int64
    /// Segment files.
    public let segments: Int
    /// Bytes of media that origins have sent since the vault was made.
    public let bytesFetched: Int64
    /// The key generation that new resources use.
    public let generation: Int
    /// Whether all keys lie in locked memory; where not, they may reach the swap device.
    public let keysLocked: Bool
    /// Whether what the process has in memory may be written to a swap device: media always, keys where they are not locked.
    public let swapInReach: Bool
    /// How the keyring was unlocked: `key-file`, `passphrase`, `command` or `credential`.
    public let unlockMethod: String
    /// Bytes of segment files on disk: what ``RoomLimits/maxSize`` limits.
    public let used: Int64
    /// The limits in force.
    public let limits: RoomLimits
    /// Bytes that were handed on without being stored since the vault was opened.
    public let passedThrough: Int64
    /// Bytes of segment files that made room since the vault was opened.
    public let evicted: Int64
    /// What the store refuses with, while bytes are handed on unstored; nil while it takes them.
    public let storeFailure: String?
    /// Whether what unlocks it lies on the vault's own disk: then a stolen disk opens.
    public let unlockRestsWithVault: Bool
}
