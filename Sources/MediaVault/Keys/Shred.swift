import VaultCrypto
import VaultModel
import VaultStorage

extension Vault {
    /// Forgets resources for good: their keys are deleted, their segments removed, their readers end with code
    /// `removed`. Then the generation is turned: a new one is made, every other key is wrapped anew under it, and those
    /// that wrapped the deleted keys are destroyed. What is left of a wrapped key in freed blocks of the drive, or in a
    /// copy of the index, opens with no key of the keyring any more.
    ///
    /// A copy of the keyring made before, together with what unlocks it, still opens a copy of the folder made before:
    /// nothing that is done here changes what others have. A receipt for each stands in the audit log.
    ///
    /// Broken off at any moment it is finished when the vault is opened again.
    ///
    /// - Parameters:
    ///   - references: what is forgotten; each is tried, and what fails is told in the report.
    ///   - quick: leaves the generation as it is until it is rotated and retired; receipts then say *removed*.
    /// - Throws: ``VaultError``: `owned` where this is not the owner, `busy` where another act works on the keys,
    ///   `storage` or `diskFull` where what was deleted may still stand somewhere: it is finished by the next shred, and
    ///   when the vault is opened again.
    public func shred(_ references: [MediaReference], quick: Bool = false) async throws -> ShredReport {
        try requireOwner(to: "shreds")
        return try await keyWork.exclusively(.shred) {
            var titles: [ShreddedTitle] = []
            for reference in references { titles.append(try await shredOne(reference, quick: quick)) }
            let kept = try await finishShreds()
            // Where nothing was there to be forgotten nothing was turned either.
            let isDestroyed = !quick && kept.isEmpty && titles.contains { $0.error == nil }
            return ShredReport(
                titles: titles, outcome: isDestroyed ? .destroyed : .removed,
                generation: store.keyring.currentGeneration)
        }
    }

    private func shredOne(_ reference: MediaReference, quick: Bool) async throws -> ShreddedTitle {
        do {
            let log = auditLog
            let subject = log.subject(of: try await name(reference).id)
            let bytes = try await takeAway(reference) { store, id in
                try store.shred(id, isQuick: quick, noting: log)
            }
            return ShreddedTitle(url: "\(reference.url)", bytes: bytes, subject: subject, error: nil)
        } catch let error as VaultError where [.notHeld, .removed, .invalidURL, .invalidArgument].contains(error.code) {
            return ShreddedTitle(url: "\(reference.url)", bytes: nil, subject: nil, error: error)
        }
    }

    /// Does what is left of shreds. The caller has the keys to itself.
    ///
    /// - Returns: generations that could not be destroyed, because a key that they wrap does not open.
    func finishShreds() async throws -> [Int] {
        let (store, log) = (store, auditLog)
        return try await pool.run { try store.finishShreds(noting: log) }
    }

    /// - Throws: ``VaultError`` with code `owned` where this process may not change the vault.
    package func requireOwner(to act: String) throws {
        guard store.isOwner else {
            throw VaultError(.owned, "only the owner of a vault \(act), and here it is only read; open it as the owner")
        }
    }
}

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

/// What became of one resource that was to be shredded.
public struct ShreddedTitle: Hashable, Sendable {
    /// Its URL, without credentials.
    public let url: String
    /// The bytes of its files, which are gone; nil where it was not shredded.
    public let bytes: Int64?
    /// What its receipt calls it: ``Receipt/subject``; nil where it was not shredded.
    public let subject: String?
    /// Why it was not; nil where it was.
    public let error: VaultError?
}

/// What a shred came to.
public struct ShredReport: Hashable, Sendable {
    /// Each resource that was asked for, in that order.
    public let titles: [ShreddedTitle]
    /// What the receipts say: ``Receipt/Outcome/destroyed`` where nothing that the keyring has opens what is left of a
    /// wrapped key; ``Receipt/Outcome/removed`` where the generation that wrapped it is still there.
    public let outcome: Receipt.Outcome
    /// The current generation.
    public let generation: Int
}

/// What destroying a vault came to.
public struct DestructionReport: Hashable, Codable, Sendable {
    /// The vault's id in hex.
    public let vaultID: String
    /// Resources that there were, those that an attempt before deleted included.
    public let resources: Int
    /// Backup files of the keyring that were counted when they were made: each still opens a copy of the folder.
    public let backups: Int
}
