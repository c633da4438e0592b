import VaultCrypto
import VaultModel
import VaultStorage

extension Vault {
    /// Revokes every playback address made so far, and the admin token: from now on they open nothing, here and after a
    /// restart. Answers that have begun go on. New ones are made as before.
    ///
    /// The keyring's file is written anew; a copy of the older one opens the vault no more.
    ///
    /// - Throws: ``VaultError`` with code `owned` where this is not the owner; with code `storage`, `tamperedKeyring` or
    ///   `olderKeyring` where the file cannot be read or written, or is not the one that was opened.
    public func revokeLinks() async throws {
        guard store.isOwner else {
            throw VaultError(.owned, "only the owner of a vault revokes its playback addresses; open it as the owner")
        }
        let (store, file) = (store, keyringFile)
        try await pool.run {
            try store.keyring.revokeTokens(
                reading: { try KeyringFile.read(file) }, writing: { try KeyringFile.write($0, to: file) })
            try store.index.rememberKeyring()
        }
    }
}
