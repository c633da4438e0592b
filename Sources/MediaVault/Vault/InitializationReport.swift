/// What ``Vault/initialize(_:unlock:)`` made; what it did not make was there already.
public struct InitializationReport: Hashable, Sendable {
    /// The vault's folder and index.
    public let vaultMade: Bool
    /// The keyring.
    public let keyringMade: Bool
    /// The key file.
    public let keyFileMade: Bool
    /// Whether what unlocks it lies on the vault's own disk: then a stolen disk opens.
    public let unlockRestsWithVault: Bool
}
