import VaultCrypto
import VaultModel
import VaultStorage

extension Vault {
    /// Makes the whole vault unreadable, for ever: every resource key is deleted from index, log and backup, a receipt is
    /// written, the keyring's file is overwritten and removed, and the files of segments go. The vault is closed then.
    ///
    /// The audit log stays: ``audit(_:unlock:)`` checks it without a key. A copy of the keyring, a backup file of it, or
    /// a copy of the folder that was made before opens what it opened.
    ///
    /// - Parameter vaultID: the id of the vault that is meant, in hex: ``VaultStatus/vaultID``.
    /// - Throws: ``VaultError``: `invalidArgument` where it is another vault's, `owned` where this is not the owner,
    ///   `busy` where another act works on the keys, `storage` where something cannot be written: do it again.
    public func destroy(vaultID: String) async throws -> DestructionReport {
        try requireOwner(to: "destroys it")
        guard vaultID == store.keyring.vaultID.hex else {
            throw VaultError(.invalidArgument, "this vault has another id; status names it, and destroying wants it")
        }
        let report = try await keyWork.exclusively(.destroy) {
            let destroyed = VaultError(.closed, "the vault was destroyed")
            await endLoaders(with: destroyed, refusing: destroyed)
            let (store, log) = (store, auditLog)
            do {
                return try await pool.run { try Self.destroy(store, noting: log) }
            } catch {
                // Done again by whoever can still use the vault.
                refusal.withLock { $0 = nil }
                throw error
            }
        }
        await close()
        return report
    }

    /// Blocks.
    private static func destroy(_ store: VaultStore, noting log: AuditLog) throws -> DestructionReport {
        let resources = try store.destroyRows()
        let backups = store.keyring.generationRecords.map(\.backups).max() ?? 0
        try log.place.destroyCopies(of: store.keyring.vaultID)
        // From here on nothing can be read any more.
        try log.destroyKeyring(resources: resources)
        // What cannot be removed is noise.
        try? store.finishDestruction()
        return DestructionReport(vaultID: store.keyring.vaultID.hex, resources: Int(resources), backups: backups)
    }
}
