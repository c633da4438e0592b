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
