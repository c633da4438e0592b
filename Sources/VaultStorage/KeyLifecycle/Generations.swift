import Foundation
import GRDB
import Synchronization
package import VaultCrypto
import VaultModel

/// The generations, and the keys that they wrap.
///
/// The keyring and the index are changed in such an order that a crash leaves one key too many, never one too few. Only
/// the owner changes them, one key operation at a time.
package struct Generations {
    private let store: VaultStore

    package init(_ store: VaultStore) { self.store = store }

    /// Creates a generation and makes it the current one, which new resources use.
    ///
    /// - Returns: the number of the generation.
    package func add(noting log: AuditLog) throws -> Int {
        let taken = try taken()
        store.noteChange()
        return try log.change(.rotate) { try $0.addGeneration(now: store.index.now(), avoiding: taken) }
    }

    /// Returns the generation numbers in the index. A restored keyring may not know every number that was used.
    private func taken() throws -> Set<Int> { Set(try GenerationRows(store.index).generations().all) }

    /// Begins to rewrap every resource key under the current generation. The caller calls ``finishRewrap()`` once all
    /// keys are rewrapped.
    ///
    /// It first restores the rows that only the backup still opens, because older generations wrap their keys.
    package func rewrap() throws -> Rewrap {
        _ = try CatalogRestore(store).run()
        return try Rewrap(store)
    }

    /// Erases old wrapped keys from the index, its log and `catalog.backup`.
    ///
    /// - Throws: ``VaultError`` if an old wrapped key may remain; erasing is retried every minute.
    package func finishRewrap() throws {
        try store.erasure.erase(after: "every key was rewrapped, but old ones")
    }

    /// Destroys a generation: seals its records under the current one, removes its row from the index, and then removes
    /// its key from the keyring.
    ///
    /// Does nothing if the generation is already gone. Finishes a retirement that was interrupted.
    ///
    /// - Throws: ``VaultError`` with code `inUse` if a resource key needs the generation, `notHeld` if no
    ///   generation has this number, or `storage` or `owned` if an old key may remain in the index or its log. The
    ///   generation's key then still exists.
    package func retire(_ number: Int, noting log: AuditLog) throws {
        guard number != store.keyring.currentGeneration else { throw KeyringEdit.currentGeneration(number) }
        guard !store.keyring.foldedGenerations.contains(where: { $0.contains(number) }) else { return }
        guard let record = store.keyring.generationRecords.first(where: { $0.number == number }) else {
            throw KeyringEdit.unknownGeneration(number)
        }
        guard !record.isRetired else { return }
        _ = try CatalogRestore(store).run()
        try destroy(number, noting: log)
    }

    /// Destroys a generation. The caller has already restored the rows that only the backup still opens.
    private func destroy(_ number: Int, noting log: AuditLog) throws {
        store.noteChange()
        // Records are few and small, so unlike the keys of titles they need no separate step.
        try store.withDiskSpace { try store.index.records.sealAll() }
        try store.withDiskSpace { try GenerationRows(store.index).removeGeneration(number) }
        try store.erasure.erase(after: "nothing needs generation \(number) any more, but keys that it wrapped")
        try log.place.destroyCopies(of: store.keyring.vaultID)
        try log.change(.retire, generation: number) { try $0.retireGeneration(number) }
    }

    // MARK: Replacing all generations

    /// Creates a generation, makes it the current one, rewraps every key under it, and destroys all other generations.
    ///
    /// Keys that the other generations wrapped no longer open. If the replacement is interrupted, even by a crash,
    /// ``finishReplacing(noting:)`` finishes it.
    ///
    /// - Returns: the generations that had to be kept because a key that they wrap does not open.
    package func replaceAll(noting log: AuditLog) throws -> [Int] {
        let current = try add(noting: log)
        let former = store.keyring.activeGenerations.filter { $0 != current }
        try store.withDiskSpace { try GenerationRows(store.index).beginRetiring(former) }
        return try finishReplacing(noting: log)
    }

    /// Returns whether the retirement of a generation has begun and is not finished.
    package func isRetiring() throws -> Bool { try !GenerationRows(store.index).retiring().isEmpty }

    /// Finishes an interrupted replacement of all generations, or the retirement of one.
    ///
    /// - Returns: the same as ``replaceAll(noting:)``.
    package func finishReplacing(noting log: AuditLog) throws -> [Int] {
        var rewrap = try rewrap()
        while try rewrap.step() {}
        try finishRewrap()
        if rewrap.done > 0 { try log.note(.rewrap, outcome: rewrap.outcome, resources: Int64(rewrap.resources)) }
        return try GenerationRows(store.index).retiring().filter { number in
            do {
                try destroy(number, noting: log)
                return false
            } catch let error as VaultError where error.code == .inUse {
                return true
            }
        }
    }

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
        let taken = try taken()
        store.noteChange()
        return try log.change(.rotateRoot) {
            try $0.renewRoot(openedBy: secrets, droppingOthers: dropsOthers, now: store.index.now(), avoiding: taken)
        }
    }
}
