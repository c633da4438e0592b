import Foundation
import GRDB
import Synchronization
package import VaultCrypto
import VaultModel

// The keyring and the index are changed in such an order that a crash leaves one key too many, never one too few. Only
// the owner changes them, one key operation at a time.
extension VaultStore {
    /// Creates a generation and makes it the current one, which new resources use.
    ///
    /// - Returns: the number of the generation.
    package func addGeneration(noting log: AuditLog) throws -> Int {
        let taken = try takenGenerations()
        noteChange()
        return try log.change(.rotate) { try $0.addGeneration(now: now(), avoiding: taken) }
    }

    /// Returns the generation numbers in the index. A restored keyring may not know every number that was used.
    func takenGenerations() throws -> Set<Int> { Set(try GenerationRows(index).generations().all) }

    /// Begins to rewrap every resource key under the current generation. The caller calls ``finishRewrap()`` once all
    /// keys are rewrapped.
    ///
    /// It first restores the rows that only the backup still opens, because older generations wrap their keys.
    package func rewrap() throws -> Rewrap {
        _ = try restoreFromBackup()
        return try Rewrap(self)
    }

    /// Erases old wrapped keys from the index, its log and `catalog.backup`.
    ///
    /// - Throws: ``VaultError`` if an old wrapped key may remain; erasing is retried every minute.
    package func finishRewrap() throws {
        try erasure.erase(after: "every key was rewrapped, but old ones")
    }

    /// Destroys a generation: seals its records under the current one, removes its row from the index, and then removes
    /// its key from the keyring.
    ///
    /// Does nothing if the generation is already gone. Finishes a retirement that was interrupted.
    ///
    /// - Throws: ``VaultError`` with code `inUse` if a resource key needs the generation, `invalidArgument` if no
    ///   generation has this number, or `storage` or `owned` if an old key may remain in the index or its log. The
    ///   generation's key then still exists.
    package func retire(_ number: Int, noting log: AuditLog) throws {
        guard number != keyring.currentGeneration else { throw KeyringEdit.currentGeneration(number) }
        guard !keyring.foldedGenerations.contains(where: { $0.contains(number) }) else { return }
        guard let record = keyring.generationRecords.first(where: { $0.number == number }) else {
            throw KeyringEdit.unknownGeneration(number)
        }
        guard !record.isRetired else { return }
        _ = try restoreFromBackup()
        try destroy(number, noting: log)
    }

    /// Destroys a generation. The caller has already restored the rows that only the backup still opens.
    private func destroy(_ number: Int, noting log: AuditLog) throws {
        noteChange()
        // Records are few and small, so unlike the keys of titles they need no separate step.
        try withDiskSpace { try index.records.sealAll() }
        try withDiskSpace { try GenerationRows(index).removeGeneration(number) }
        try erasure.erase(after: "nothing needs generation \(number) any more, but keys that it wrapped")
        try log.place.destroyCopies(of: keyring.vaultID)
        try log.change(.retire, generation: number) { try $0.retireGeneration(number) }
    }

    // MARK: Replacing all generations

    /// Creates a generation, makes it the current one, rewraps every key under it, and destroys all other generations.
    ///
    /// Keys that the other generations wrapped no longer open. If the replacement is interrupted, even by a crash,
    /// ``finishReplacingGenerations(noting:)`` finishes it.
    ///
    /// - Returns: the generations that had to be kept because a key that they wrap does not open.
    package func replaceGenerations(noting log: AuditLog) throws -> [Int] {
        let current = try addGeneration(noting: log)
        let former = keyring.activeGenerations.filter { $0 != current }
        try withDiskSpace { try GenerationRows(index).beginRetiring(former) }
        return try finishReplacingGenerations(noting: log)
    }

    /// Returns whether the retirement of a generation has begun and is not finished.
    package func isRetiringGenerations() throws -> Bool { try !retiringGenerations().isEmpty }

    /// Returns the generations that are being retired: those that the index marks as such, and those that it has
    /// already removed.
    package func retiringGenerations() throws -> [Int] {
        let known = try GenerationRows(index).generations()
        let (all, retiring) = (Set(known.all), Set(known.retiring))
        return keyring.activeGenerations.filter { number in
            number != keyring.currentGeneration && (retiring.contains(number) || !all.contains(number))
        }
    }

    /// Finishes an interrupted replacement of all generations, or the retirement of one.
    ///
    /// - Returns: the same as ``replaceGenerations(noting:)``.
    package func finishReplacingGenerations(noting log: AuditLog) throws -> [Int] {
        var rewrap = try rewrap()
        while try rewrap.step() {}
        try finishRewrap()
        if rewrap.done > 0 { try log.note(.rewrap, outcome: rewrap.outcome, resources: Int64(rewrap.resources)) }
        return try retiringGenerations().filter { number in
            do {
                try destroy(number, noting: log)
                return false
            } catch let error as VaultError where error.code == .inUse {
                return true
            }
        }
    }
}

extension VaultStore {
    /// Creates a root key, a token key and a generation with a single write of the keyring.
    ///
    /// - Parameters:
    ///   - secrets: the secrets that open the slots to keep.
    ///   - dropsOthers: whether to remove slots that none of the secrets opens.
    /// - Returns: the number of the generation.
    /// - Throws: the same errors as ``KeyringEdit/renewRoot(openedBy:droppingOthers:now:avoiding:)`` and
    ///   ``AuditLog/change(_:generation:_:)``.
    package func renewRoot(
        openedBy secrets: [SharedSecret], droppingOthers dropsOthers: Bool, noting log: AuditLog
    ) throws -> Int {
        let taken = try takenGenerations()
        noteChange()
        return try log.change(.rotateRoot) {
            try $0.renewRoot(openedBy: secrets, droppingOthers: dropsOthers, now: now(), avoiding: taken)
        }
    }
}
