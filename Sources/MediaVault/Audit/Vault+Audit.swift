import VaultCrypto
import VaultModel
import VaultStorage

extension Vault {
    /// Reads and checks the vault's audit log: a signed receipt for each act on its keys.
    ///
    /// A changed, exchanged or missing line is seen, and a log that is shorter than the keyring knows.
    ///
    /// - Throws: ``VaultError`` with code `storage` where the log cannot be read.
    public func audit() async throws -> AuditReport {
        let store = store
        return try await pool.run { try AuditLog.report(on: store.folder, keyring: store.keyring) }
    }

    /// Whether a vault still has a keyring.
    public static func hasKeyring(_ place: VaultPlace) -> Bool { PosixFileSystem().exists(place.keyring) }

    /// Reads and checks the audit log of a vault that is not open, or cannot be opened any more.
    ///
    /// - Parameter unlock: opens the keyring; nil checks without it: each signature, and that each line follows the one
    ///   before. A log that was cut at its end looks sound then.
    /// - Throws: as ``open(_:unlock:options:)`` where the keyring does not open; ``VaultError`` with code `storage`
    ///   where the log cannot be read.
    public static func audit(_ place: VaultPlace, unlock: Unlock?) async throws -> AuditReport {
        try await BlockingPool.shared.run {
            let keyring = try unlock.map { unlock in
                let secret = try unlock.secret()
                return try KeyringReader.unlock(KeyringFile.read(place.keyring), with: secret)
            }
            return try AuditLog.report(on: place.folder, keyring: keyring)
        }
    }
}
