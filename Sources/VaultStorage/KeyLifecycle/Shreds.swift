package import VaultModel

/// Permanent removals: first the index deletes the resource keys, then the keyring destroys the generations that wrapped
/// them.
package struct Shreds {
    private let store: VaultStore

    package init(_ store: VaultStore) { self.store = store }

    /// Deletes a resource and its keys. If it is a title, also deletes the parts that belong only to it.
    ///
    /// The same transaction records that the receipt for the shred is pending.
    ///
    /// Copies of the keys remain in the index's log and in `catalog.backup` until ``finish(noting:)``.
    ///
    /// - Parameter log: the audit log that will get the receipt.
    /// - Returns: the disk space of the resource's files in bytes; nil if there is no such resource.
    package func shred(_ id: ResourceID, isQuick: Bool, noting log: AuditLog) throws -> Int64? {
        guard let subject = log.subject(of: id) else { throw IndexError.damaged }
        let pending = PendingShred(subject: subject, isQuick: isQuick, after: try log.lastSequence())
        let removed = try store.withDiskSpace(orReserve: true) {
            try store.index.resources.remove(id) { settings in settings.add(pending) }
        }
        guard let removed else { return nil }
        store.noteChange()
        store.changes.note(id)
        store.quota.account.track(removed)
        // Files that cannot be removed now remain listed as pending deletions; no key opens them any more.
        _ = try? store.removal.removeFiles(of: removed.map(\.id))
        return removed.reduce(0) { $0 + $1.diskSize }
    }

    /// Returns the key operation that ``finish(noting:)`` would finish; nil if none is unfinished.
    package func unfinishedOperation() throws -> Receipt.Act? {
        if try !store.index.settings().pendingShreds.isEmpty { return .shred }
        return try Generations(store).isRetiring() ? .retire : nil
    }

    /// Finishes shreds, including those that an earlier owner left unfinished.
    ///
    /// It erases copies of keys, replaces the generations unless every shred is quick, and writes receipts. No other
    /// key operation may run at the same time.
    ///
    /// - Returns: the generations that could not be destroyed because a key that they wrap does not open.
    /// - Throws: ``VaultError`` if something cannot be written; the shreds then stay pending.
    package func finish(noting log: AuditLog) throws -> [Int] {
        let pending = try store.index.settings().pendingShreds
        var kept: [Int] = []
        if try Generations(store).isRetiring() { kept = try Generations(store).finishReplacing(noting: log) }
        guard !pending.isEmpty else { return kept }
        let receipts = try log.receipts(after: pending.compactMap(\.after).min())
        let due = pending.filter { !$0.isNoted(in: receipts) }
        if !due.isEmpty { try store.erasure.erase() }
        if due.contains(where: { !$0.isQuick }) { kept = try Generations(store).replaceAll(noting: log) }
        for shred in due {
            let isDestroyed = !shred.isQuick && kept.isEmpty
            try log.note(.shred, outcome: isDestroyed ? .destroyed : .removed, ofSubject: shred.subject)
        }
        try store.mutate { index in
            try index.changeSettings { settings in settings.pendingShreds.removeAll { pending.contains($0) } }
        }
        return kept
    }

    // MARK: The whole vault

    /// Deletes every resource and its keys from the index, its log and its backups.
    ///
    /// Segment files become pending deletions; ``finishDestruction()`` removes them.
    ///
    /// - Returns: the number of deleted resources, including those deleted by an earlier attempt that failed.
    package func destroyRows() throws -> Int64 {
        let count = try store.withDiskSpace(orReserve: true) { try store.index.resources.removeAll() }
        try store.erasure.eraseAll()
        return count
    }

    /// Removes the files of all segments that are pending deletion.
    package func finishDestruction() throws { try store.removal.finish() }
}
