import GRDB
import VaultCrypto
package import VaultModel

// What is to be forgotten for good: keys first, by the index; what wrapped them after that, by the keyring.
extension VaultStore {
    /// Deletes a resource with its keys, and remembers in the same transaction that its receipt is due.
    ///
    /// Log and `catalog.backup` still hold what they held: ``eraseKeyCopies(_:after:)`` comes next.
    ///
    /// - Parameter log: where its receipt will stand.
    /// - Returns: the bytes of its files; nil where there is no such resource.
    package func shred(_ id: ResourceID, isQuick: Bool, noting log: AuditLog) throws -> Int64? {
        guard let subject = log.subject(of: id) else { throw IndexError.damaged }
        let pending = PendingShred(subject: subject, isQuick: isQuick, after: try log.lastSequence())
        if let held = try index.candidate(id)?.segments { room.track(held) }
        let removed = try withDiskRoom(orReserve: true) {
            try index.remove(id) { settings in settings.add(pending) }
        }
        guard let removed else { return nil }
        noteChange()
        changes.note(id)
        // Files that cannot be removed now stay on the list; nothing opens them any more.
        _ = try? removeFiles(of: removed.map(\.id))
        return removed.reduce(0) { $0 + $1.diskSize }
    }

    /// The act that ``finishShreds(noting:)`` would finish; nil where nothing is left of any.
    package func unfinishedAct() throws -> Receipt.Act? {
        if try !index.settings().pendingShreds.isEmpty { return .shred }
        return try isTurning() ? .retire : nil
    }

    /// Does what is left of shreds, those that an owner before this one broke off included: copies of keys go, the
    /// generation is turned, receipts are written. Nobody else works on the keys meanwhile.
    ///
    /// - Returns: generations that could not be destroyed, because a key that they wrap does not open.
    /// - Throws: ``VaultError`` where something cannot be written: it is due still.
    package func finishShreds(noting log: AuditLog) throws -> [Int] {
        let pending = try index.settings().pendingShreds
        var kept: [Int] = []
        if try isTurning() { kept = try finishTurn(noting: log) }
        guard !pending.isEmpty else { return kept }
        let receipts = try log.receipts(after: pending.compactMap(\.after).min())
        let due = pending.filter { !$0.isNoted(in: receipts) }
        if !due.isEmpty { try eraseKeyCopies() }
        if due.contains(where: { !$0.isQuick }) { kept = try turnGeneration(noting: log) }
        for shred in due {
            let isDestroyed = !shred.isQuick && kept.isEmpty
            try log.note(.shred, outcome: isDestroyed ? .destroyed : .removed, ofSubject: shred.subject)
        }
        noteChange()
        try withDiskRoom {
            try index.changeSettings { settings in settings.pendingShreds.removeAll { pending.contains($0) } }
        }
        return kept
    }

    // MARK: The whole vault

    /// Deletes every resource with its keys, from the index, its log and its backups. The files of segments are
    /// condemned; ``finishDestruction()`` removes them.
    ///
    /// - Returns: how many resources there were, before an attempt that failed too.
    package func destroyRows() throws -> Int64 {
        let count = try withDiskRoom(orReserve: true) { try index.removeAll() }
        try eraseAllKeyCopies()
        return count
    }

    /// Removes the files of all that was condemned.
    package func finishDestruction() throws { try finishDoomed() }
}

/// A resource whose keys are deleted, and whose receipt is not written yet: the vault's settings remember it until it is.
package struct PendingShred: Hashable, Sendable {
    /// What the receipt calls it: lower-case hex.
    package let subject: String
    /// Whether the generation is left as it is.
    package let isQuick: Bool
    /// The number of the last receipt before; nil where that was not noted.
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

    /// Whether its receipt is written all the same: who wrote it was killed before it was taken off the list.
    package func isNoted(in receipts: [Receipt]) -> Bool {
        guard let after else { return false }
        return receipts.contains { $0.act == .shred && $0.subject == subject && $0.sequence > after }
    }
}

extension VaultSettings {
    /// Shreds that have no receipt yet.
    package var pendingShreds: [PendingShred] {
        get { ((try? members.optionalObjects("shreds")) ?? []).compactMap { PendingShred($0) } }
        set { members["shreds"] = newValue.isEmpty ? nil : .array(newValue.map { .object($0.object.members) }) }
    }

    /// Adds a shred. One of the same resource that is on the list still is done by the same receipt, and as thoroughly.
    mutating func add(_ shred: PendingShred) {
        let same = pendingShreds.filter { $0.subject == shred.subject }
        pendingShreds.removeAll { $0.subject == shred.subject }
        pendingShreds.append(
            PendingShred(
                subject: shred.subject, isQuick: shred.isQuick && same.allSatisfy(\.isQuick), after: shred.after))
    }
}

extension VaultIndex {
    /// Deletes every resource with its keys and all that it holds.
    ///
    /// - Returns: how many there were, with those that were deleted when this was done before and the vault was not
    ///   destroyed after all.
    func removeAll() throws -> Int64 {
        try write { db in
            var count = try Int64.fetchOne(db, sql: "SELECT count(*) FROM resource") ?? 0
            // Settings that do not open keep nothing from being destroyed.
            if var settings = try? settings(db) {
                settings.destroyedResources += count
                count = settings.destroyedResources
                try write(settings, db)
            }
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO doomed SELECT id FROM segment;
                    DELETE FROM segment;
                    DELETE FROM representation;
                    DELETE FROM resourceKey;
                    DELETE FROM resource;
                    """)
            try Self.oweErasure(db)
            return count
        }
    }
}

extension VaultSettings {
    /// Resources that were deleted when the vault was to be destroyed; 0 where it never was.
    var destroyedResources: Int64 {
        get { (try? members.optionalInteger("destroyed")) ?? 0 }
        set { members["destroyed"] = .integer(newValue) }
    }
}
