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
    ///   `olderKeyring` where the file cannot be read or written, or is not the one that was opened; with code `busy` where an
    ///   act works on the keys.
    public func revokeLinks() async throws {
        try await changingKeys(.revokeLinks) { _, log in
            try log.change(.revokeLinks) { $0.revokeTokens() }
        }
    }
}
