import VaultStorage

extension Vault {
    /// Where the keyring is changed.
    var keyringPlace: KeyringPlace { KeyringPlace(keyringFile) }
}
