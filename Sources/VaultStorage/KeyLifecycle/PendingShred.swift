import VaultCrypto
package import VaultModel

// Permanent removal: first the index deletes the resource keys, then the keyring destroys the generations that wrapped
// them.
extension VaultStore {
    /// Deletes a resource and its keys. If it is a title, also deletes the parts that belong only to it.
    ///
    /// The same transaction records that the receipt for the shred is pending.
    ///
    /// Copies of the keys remain in the index's log and in `catalog.backup` until ``finishShreds(noting:)``.
    ///
    /// - Parameter log: the audit log that will get the receipt.
    /// - Returns: the disk space of the resource's files in bytes; nil if there is no such resource.
    package func shred(_ id: ResourceID, isQuick: Bool, noting log: AuditLog) throws -> Int64? {
        guard let subject = log.subject(of: id) else { throw IndexError.damaged }
        let pending = PendingShred(subject: subject, isQuick: isQuick, after: try log.lastSequence())
        let removed = try withDiskSpace(orReserve: true) {
            try index.resources.remove(id) { settings in settings.add(pending) }
        }
        guard let removed else { return nil }
        noteChange()
        changes.note(id)
        quota.account.track(removed)
        // Files that cannot be removed now remain listed as pending deletions; no key opens them any more.
        _ = try? removal.removeFiles(of: removed.map(\.id))
        return removed.reduce(0) { $0 + $1.diskSize }
    }

    /// Returns the key operation that ``finishShreds(noting:)`` would finish; nil if none is unfinished.
    package func unfinishedOperation() throws -> Receipt.Act? {
        if try !index.settings().pendingShreds.isEmpty { return .shred }
        return try isRetiringGenerations() ? .retire : nil
    }

    /// Finishes shreds, including those that an earlier owner left unfinished.
    ///
    /// It erases copies of keys, replaces the generations unless every shred is quick, and writes receipts. No other
    /// key operation may run at the same time.
    ///
    /// - Returns: the generations that could not be destroyed because a key that they wrap does not open.
    /// - Throws: ``VaultError`` if something cannot be written; the shreds then stay pending.
    package func finishShreds(noting log: AuditLog) throws -> [Int] {
        let pending = try index.settings().pendingShreds
        var kept: [Int] = []
        if try isRetiringGenerations() { kept = try finishReplacingGenerations(noting: log) }
        guard !pending.isEmpty else { return kept }
        let receipts = try log.receipts(after: pending.compactMap(\.after).min())
        let due = pending.filter { !$0.isNoted(in: receipts) }
        if !due.isEmpty { try erasure.erase() }
        if due.contains(where: { !$0.isQuick }) { kept = try replaceGenerations(noting: log) }
        for shred in due {
            let isDestroyed = !shred.isQuick && kept.isEmpty
            try log.note(.shred, outcome: isDestroyed ? .destroyed : .removed, ofSubject: shred.subject)
        }
        noteChange()
        try withDiskSpace {
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
        let count = try withDiskSpace(orReserve: true) { try index.resources.removeAll() }
        try erasure.eraseAll()
        return count
    }

    /// Removes the files of all segments that are pending deletion.
    package func finishDestruction() throws { try removal.finish() }
}

/// A resource whose keys have been deleted, but whose receipt has not been written yet.
///
/// The vault's settings keep it until the receipt is written.
package struct PendingShred: Hashable, Sendable {
    /// The resource's name in the receipt, in lower-case hex.
    package let subject: String
    /// Whether the shred keeps the generations.
    package let isQuick: Bool
    /// The number of the last receipt before the shred; nil if that was not recorded.
    package let after: Int64?

    package init(subject: String, isQuick: Bool, after: Int64?) {
        self.subject = subject
        self.isQuick = isQuick
        self.after = after
    }

    init?(_ object: JSONObject) {
        guard let subject = try? object.string("subject"), let isQuick = try? object.bool("quick") else { return nil }
        self.init(subject: subject, isQuick: isQuick, after: try? object.optionalInteger("after"))
    }

    var object: JSONObject {
        var object = JSONObject(["subject": .string(subject), "quick": .bool(isQuick)])
        object["after"] = after.map { .integer($0) }
        return object
    }

    /// Returns whether the receipt for this shred has already been written.
    ///
    /// That is the case if the owner was killed after it wrote the receipt and before it removed the shred from the
    /// list.
    package func isNoted(in receipts: [Receipt]) -> Bool {
        guard let after else { return false }
        return receipts.contains { $0.act == .shred && $0.subject == subject && $0.sequence > after }
    }
}

extension VaultSettings {
    /// The shreds that have no receipt yet.
    package var pendingShreds: [PendingShred] {
        get { ((try? members.optionalObjects("shreds")) ?? []).compactMap { PendingShred($0) } }
        set { members["shreds"] = newValue.isEmpty ? nil : .array(newValue.map { .object($0.object.members) }) }
    }

    /// Adds a shred.
    ///
    /// The new shred replaces pending shreds of the same resource, because one receipt covers them all. It counts as
    /// quick only if all of them are quick.
    mutating func add(_ shred: PendingShred) {
        let same = pendingShreds.filter { $0.subject == shred.subject }
        pendingShreds.removeAll { $0.subject == shred.subject }
        pendingShreds.append(
            PendingShred(
                subject: shred.subject, isQuick: shred.isQuick && same.allSatisfy(\.isQuick), after: shred.after))
    }
}
