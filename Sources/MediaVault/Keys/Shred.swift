import VaultCache
import VaultCrypto
import VaultModel
import VaultStorage

extension KeyAdministration {
    /// Removes resources, and titles with all their parts, so that no key in the keyring opens what remains of them.
    ///
    /// The resources are removed from the download queue, their keys are deleted, their segments are removed, and their
    /// readers end with code `removed`. The generation is then replaced: a new one is created, all other keys are
    /// rewrapped under it, and the generations that wrapped the deleted keys are destroyed. After that, the keyring
    /// cannot open a wrapped key that remains in freed blocks of the drive or in a copy of the index.
    ///
    /// An earlier copy of the keyring, together with its key or passphrase, still opens an earlier copy of the folder,
    /// because a shred does not affect copies. The audit log gets a receipt for each resource.
    ///
    /// An interrupted shred is finished after the vault is opened again.
    ///
    /// - Parameters:
    ///   - references: the resources to remove. Each is tried, and failures are listed in the report.
    ///   - quick: whether to keep the generation until it is rotated and retired; receipts then say *removed*.
    /// - Throws: ``VaultError``: `owned` if this process is not the owner, `busy` if another key operation is running,
    ///   `storage` or `diskFull` if traces of deleted data may remain, in which case the next shred, or the next
    ///   opening of the vault, finishes the work.
    public func shred(_ references: [MediaReference], quick: Bool = false) async throws -> ShredReport {
        try store.requireOwner(to: "shreds titles")
        return try await lock.exclusively(.shred) {
            var titles: [ShreddedTitle] = []
            let store = store
            // Someone who can change the files could have unlinked a part from its title to save the part from the
            // shred.
            try await pool.run { try store.index.titles.linkParts() }
            for reference in references { titles.append(try await shredOne(reference, quick: quick)) }
            let kept = try await finishShreds()
            // If no title was removed, the generation was not replaced either.
            let isDestroyed = !quick && kept.isEmpty && titles.contains { $0.error == nil }
            return ShredReport(
                titles: titles, outcome: isDestroyed ? .destroyed : .removed,
                generation: store.keyring.currentGeneration)
        }
    }

    private func shredOne(_ reference: MediaReference, quick: Bool) async throws -> ShreddedTitle {
        do {
            let (log, resource) = (log, try await loaders.name(reference))
            let subject = log.subject(of: resource.id)
            // The resource leaves the queue first, so that the queue does not fetch it again.
            try await downloads.forget(resource)
            let bytes = try await loaders.remove(resource, byOwner: true) { store, id in
                try Shreds(store).shred(id, isQuick: quick, noting: log)
            }
            return ShreddedTitle(url: "\(reference.url)", bytes: bytes, subject: subject, error: nil)
        } catch let error as VaultError where [.notHeld, .removed, .invalidURL, .invalidArgument].contains(error.code) {
            return ShreddedTitle(url: "\(reference.url)", bytes: nil, subject: nil, error: error)
        }
    }

    /// Finishes pending shreds. The caller must hold the key operation lock.
    ///
    /// - Returns: the generations that could not be destroyed, because a key that they wrap does not open.
    func finishShreds() async throws -> [Int] {
        let (store, log) = (store, log)
        return try await pool.run { try Shreds(store).finish(noting: log) }
    }
}

extension KeyAdministration {
    /// Destroys the vault's rows, keyring and files. The caller then closes the vault.
    ///
    /// - Throws: the errors of ``Vault/destroy(vaultID:)``.
    func destroy(vaultID: String) async throws -> DestructionReport {
        try store.requireOwner(to: "destroys it")
        guard vaultID == store.keyring.vaultID.hex else {
            throw VaultError(.invalidArgument, "wrong vault id; the vault's status shows it")
        }
        return try await lock.exclusively(.destroy) {
            await loaders.end(with: .vaultDestroyed, refusing: .vaultDestroyed)
            let (store, log) = (store, log)
            do {
                return try await downloads.rereading {
                    try await pool.run { try Self.destroy(store, noting: log) }
                }
            } catch {
                // The vault stays usable, so that the caller can try again.
                loaders.resume()
                throw error
            }
        }
    }

    /// Destroys the vault's rows, keyring and files. Blocks.
    private static func destroy(_ store: VaultStore, noting log: AuditLog) throws -> DestructionReport {
        let resources = try Shreds(store).destroyRows()
        let backups = store.keyring.generationRecords.map(\.backups).max() ?? 0
        try log.place.destroyCopies(of: store.keyring.vaultID)
        // Once the keyring is destroyed, nothing in the vault can be read.
        try log.destroyKeyring(resources: resources)
        // Without the keyring, files that cannot be removed are indistinguishable from noise.
        try? Shreds(store).finishDestruction()
        return DestructionReport(vaultID: store.keyring.vaultID.hex, resources: Int(resources), backups: backups)
    }
}

/// The outcome of a shred for one resource.
public struct ShreddedTitle: Hashable, Sendable {
    /// The resource's URL, without credentials.
    public let url: String
    /// The size of the resource's removed files in bytes; nil if the resource was not shredded.
    public let bytes: Int64?
    /// The resource's name in the receipt, ``Receipt/subject``; nil if the resource was not shredded.
    public let subject: String?
    /// Why the resource was not shredded; nil if it was.
    public let error: VaultError?
}

/// The result of a shred.
public struct ShredReport: Hashable, Sendable {
    /// The outcomes for the requested resources, in the order of the request.
    public let titles: [ShreddedTitle]
    /// The outcome stated in the receipts: ``Receipt/Outcome/destroyed`` if the keyring can no longer open any
    /// remaining wrapped key, or ``Receipt/Outcome/removed`` if the generation that wrapped the keys still exists.
    public let outcome: Receipt.Outcome
    /// The current generation.
    public let generation: Int
}

/// The result of destroying a vault.
public struct DestructionReport: Hashable, Codable, Sendable {
    /// The vault's id in hex.
    public let vaultID: String
    /// The number of resources destroyed, including those that an earlier attempt deleted.
    public let resources: Int
    /// The number of keyring backups, as counted when they were created. Each of them still opens a copy of the folder.
    public let backups: Int

    private enum CodingKeys: String, CodingKey {
        case resources, backups
        case vaultID = "vault"
    }
}
