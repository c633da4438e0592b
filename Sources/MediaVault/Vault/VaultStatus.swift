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
    /// How the keyring was unlocked: `key-file`, `passphrase`, `command` or `credential`.
    public let unlockMethod: String
    /// Whether what unlocks it lies on the vault's own disk: then a stolen disk opens.
    public let unlockRestsWithVault: Bool
}
