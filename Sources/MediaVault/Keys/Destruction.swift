import VaultCache
import VaultCrypto
import VaultModel
import VaultStorage

/// Destroys a vault, as ``Vault/destroy(vaultID:)`` describes.
struct DestroyOperation: Sendable {
    let environment: KeyOperationEnvironment

    /// Destroys the vault's rows, keyring and files. The caller then closes the vault.
    ///
    /// - Throws: the errors of ``Vault/destroy(vaultID:)``.
    func run(vaultID: String) async throws -> DestructionReport {
        try environment.store.requireOwner(to: "destroys it")
        guard vaultID == environment.store.keyring.vaultID.hex else {
            throw VaultError(.invalidArgument, "wrong vault id; the vault's status shows it")
        }
        return try await environment.lock.exclusively(.destroy) {
            await environment.loaders.end(with: .vaultDestroyed, refusing: .vaultDestroyed)
            let (store, log) = (environment.store, environment.log)
            do {
                return try await environment.downloads.rereading {
                    try await environment.pool.run { try Self.destroy(store, noting: log) }
                }
            } catch {
                // The vault stays usable, so that the caller can try again.
                environment.loaders.resume()
                throw error
            }
        }
    }

    /// Destroys the vault's rows, keyring and files. Blocks.
    private static func destroy(_ store: VaultStore, noting log: AuditLog) throws -> DestructionReport {
        let titles = (try? store.index.resources.totals().resources) ?? 0
        let backups = backupCount(of: store.keyring, log)
        let resources = try Shreds(store).destroyRows()
        try log.place.destroyCopies(of: store.keyring.vaultID)
        // Once the keyring is destroyed, nothing in the vault can be read.
        try log.destroyKeyring(resources: resources)
        // Without the keyring, files that cannot be removed are indistinguishable from noise.
        try? Shreds(store).finishDestruction()
        return DestructionReport(
            vaultID: store.keyring.vaultID.hex, resources: Int(resources), titles: titles, backups: backups)
    }

    /// Returns the number of backups that are known. The log has a receipt for each; a generation counts only those
    /// that contain its key, but is counted even if the log was cut or removed. Blocks.
    private static func backupCount(of keyring: Keyring, _ log: AuditLog) -> Int {
        let noted = (try? log.receipts(after: 0)) ?? []
        return max(noted.count { $0.act == .backup }, keyring.generationRecords.map(\.backups).max() ?? 0)
    }
}

/// The result of destroying a vault.
public struct DestructionReport: Hashable, Codable, Sendable {
    /// The vault's id in hex.
    public let vaultID: String
    /// The number of resources destroyed, including those that an earlier attempt deleted.
    public let resources: Int
    /// The number of titles among these resources; 0 if an earlier attempt deleted them.
    public let titles: Int
    /// The least number of keyring backups: those that the audit log or a generation has counted. Each of them still
    /// opens a copy of the folder.
    public let backups: Int

    private enum CodingKeys: String, CodingKey {
        case resources, titles, backups
        case vaultID = "vault"
    }
}
