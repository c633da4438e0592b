import Foundation
import GRDB
import Synchronization
package import VaultCrypto
package import VaultModel

// The keyring and the index change one after the other, so that a crash in between leaves one key too many, never one
// too few. Only the owner does this, one key operation at a time.
extension VaultStore {
    /// Creates a generation and makes it the current one: new resources use it from now on.
    ///
    /// - Returns: the number of the generation.
    package func addGeneration(noting log: AuditLog) throws -> Int {
        let taken = try takenGenerations()
        noteChange()
        return try log.change(.rotate) { try $0.addGeneration(now: now(), avoiding: taken) }
    }

    /// Returns the generation numbers in the index: a restored keyring may not know every number that was used.
    func takenGenerations() throws -> Set<Int> { Set(try index.generations().all) }

    /// Begins to rewrap every resource key under the current generation; call ``finishRewrap()`` at its end.
    ///
    /// What the backup alone still opens comes back first: its keys are wrapped by older generations.
    package func rewrap() throws -> Rewrap {
        _ = try restoreFromBackup()
        return try Rewrap(self)
    }

    /// Erases old wrapped keys from the index, its log and `catalog.backup`.
    ///
    /// - Throws: ``VaultError`` if one may remain; erasing is retried every minute.
    package func finishRewrap() throws {
        try erasure.erase(after: "every key was rewrapped, but old ones")
    }

    /// Destroys a generation: its records are sealed again, the index removes it, then its key leaves the keyring.
    ///
    /// A generation that is already gone stays gone, and an interrupted retirement is finished.
    ///
    /// - Throws: ``VaultError`` with code `inUse` if a resource key needs it, `invalidArgument` if there is none of
    ///   this number, `storage` or `owned` if an old key may remain in the index or its log. The generation's key then
    ///   still exists.
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

    /// Destroys a generation, once what the backup alone still opens has come back.
    private func destroy(_ number: Int, noting log: AuditLog) throws {
        noteChange()
        // Records are few and small: unlike the keys of titles, they need no step of their own.
        try withDiskSpace { try index.sealRecords() }
        try withDiskSpace { try index.removeGeneration(number) }
        try erasure.erase(after: "nothing needs generation \(number) any more, but keys that it wrapped")
        try log.place.destroyCopies(of: keyring.vaultID)
        try log.change(.retire, generation: number) { try $0.retireGeneration(number) }
    }

    // MARK: Replacing all generations

    /// Creates a current generation, rewraps every key under it, and destroys all other generations.
    ///
    /// Keys that they wrapped no longer open. If this is interrupted, also by a crash, ``finishReplacingGenerations(noting:)``
    /// finishes it.
    ///
    /// - Returns: the generations that had to stay, because a key that they wrap does not open.
    package func replaceGenerations(noting log: AuditLog) throws -> [Int] {
        let current = try addGeneration(noting: log)
        try withDiskSpace { try index.beginRetiring(keyring.activeGenerations.filter { $0 != current }) }
        return try finishReplacingGenerations(noting: log)
    }

    /// Returns whether the retirement of a generation has begun and is not finished.
    package func isRetiringGenerations() throws -> Bool { try !retiringGenerations().isEmpty }

    /// Returns the generations that are being retired: the index marks them, or has removed them already.
    package func retiringGenerations() throws -> [Int] {
        let known = try index.generations()
        let (all, retiring) = (Set(known.all), Set(known.retiring))
        return keyring.activeGenerations.filter { number in
            number != keyring.currentGeneration && (retiring.contains(number) || !all.contains(number))
        }
    }

    /// Finishes an interrupted replacement of all generations, or the retirement of one.
    ///
    /// - Returns: as ``replaceGenerations(noting:)``.
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
    /// Creates a root key, a token key and a generation, in one write of the keyring.
    ///
    /// - Parameters:
    ///   - secrets: the secrets that open the slots to keep.
    ///   - dropsOthers: whether slots that none of the secrets opens are removed.
    /// - Returns: the number of the generation.
    /// - Throws: as ``KeyringEdit/renewRoot(openedBy:droppingOthers:now:avoiding:)`` and
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

// The index's side: additions are made in the keyring first, removals in the index first.
extension VaultIndex {
    /// Ensures that the index can record a change of the keyring, before anything depends on it.
    ///
    /// It writes the same pages, and lets the next write reuse their place in the log.
    ///
    /// - Throws: ``VaultError`` if they cannot be written.
    func prepareForKeyring() throws {
        try write { db in
            // A trigger could keep a copy of what is to be destroyed.
            try SchemaCheck.require(IndexSchema.first, optional: IndexSchema.later, db)
            // There and back, because SQLite does not write a page that does not change.
            try db.execute(
                sql: """
                    UPDATE vault SET keyringRevision = keyringRevision + 1;
                    UPDATE vault SET keyringRevision = keyringRevision - 1;
                    INSERT OR IGNORE INTO generation VALUES (0, 'active');
                    DELETE FROM generation WHERE number = 0 \
                    AND NOT EXISTS (SELECT 1 FROM resourceKey WHERE generation = 0);
                    """)
        }
        try database.reuseLog()
    }

    /// Adds a generation that the keyring already has durably.
    func addGeneration(_ number: Int) throws {
        try write { db in try GenerationRow.insert(number, db) }
    }

    /// Marks generations as being retired, so that the next owner of the vault continues with it.
    func beginRetiring(_ numbers: [Int]) throws {
        try write { db in
            for number in numbers {
                try db.execute(sql: "UPDATE generation SET state = 'retiring' WHERE number = ?", arguments: [number])
            }
        }
    }

    /// Adds the generations that have no row, as ones that are being retired.
    ///
    /// Either their retirement was interrupted, or their rows were lost: then keys that only the backup has come back
    /// under them, and are rewrapped before they are destroyed.
    func restoreRetiring(_ numbers: [Int]) throws {
        guard !numbers.isEmpty else { return }
        try write { db in for number in numbers { try GenerationRow.insert(number, isRetiring: true, db) } }
    }

    /// Removes a generation: from now on no resource key can name it.
    ///
    /// - Throws: ``VaultError`` with code `inUse` if a resource key or a record names it.
    func removeGeneration(_ number: Int) throws {
        try write { db in
            let keys = try Int.fetchOne(
                db, sql: "SELECT count(*) FROM resourceKey WHERE generation = ?", arguments: [number])
            let records = try SealedTable.allRecordCounts(db)[number] ?? 0
            guard keys == 0, records == 0 else {
                let needs = [
                    keys == 0 ? nil : "wraps \(keys ?? 0) resource \(keys == 1 ? "key" : "keys")",
                    records == 0 ? nil : "seals \(records) \(records == 1 ? "record" : "records")",
                ]
                throw VaultError(
                    .inUse,
                    keys == 0
                        ? "generation \(number) still \(needs.compactMap(\.self).joined()) that cannot be opened; repair "
                            + "the vault, then retire it again"
                        : "generation \(number) still \(needs.compactMap(\.self).joined(separator: " and ")); rewrap, "
                            + "then retire it again",
                    hint: keys == 0 ? .repair : .rewrap)
            }
            try db.execute(sql: "DELETE FROM generation WHERE number = ?", arguments: [number])
            // Receipts raise the revision too: a generation that the index has removed must not look new to it.
            try VaultRow.record(revision: keyring.revision, db)
        }
    }

    /// Returns the generations that wrap a resource key, in ascending order.
    func wrappingGenerations() throws -> [Int] {
        try read { db in
            // Each step finds the next number in the index, past all keys of the one before.
            let next = try db.cachedStatement(
                sql: """
                    SELECT min(generation) FROM resourceKey
                    WHERE generation > ? AND generation <= \(PlainColumn.numbers.upperBound)
                    """)
            var numbers: [Int] = []
            while let number = try Int.fetchOne(next, arguments: [numbers.last ?? 0]) { numbers.append(number) }
            return numbers
        }
    }

    /// Returns some of the resources that have a key wrapped by a generation.
    package func resources(wrappedBy generation: Int, limit: Int) throws -> [ResourceID] {
        try read { db in
            try Data.fetchAll(
                db, sql: "SELECT DISTINCT resource FROM resourceKey WHERE generation = ? ORDER BY resource LIMIT ?",
                arguments: [generation, limit]
            ).compactMap { ResourceID($0) }
        }
    }

    /// Returns the generations that a resource key may name, in ascending order, and those that are being retired.
    package func generations() throws -> (all: [Int], retiring: [Int]) {
        // An impossible number is no generation's.
        let rows = try read { db in try GenerationRow.fetchAll(db) }
        return (rows.map(\.number), rows.filter(\.isRetiring).map(\.number))
    }

    /// Counts the use of each generation, a page of resources at a time; unused generations are left out.
    package func generationUse() throws -> [Int: GenerationUsage] {
        var counts: [Int: GenerationUsage] = [:]
        try forEachPage { db, before, last in
            // As the status counts titles: a part of one is none, unless it is a title with parts of its own, too.
            let isTitle =
                try PartRow.hasTable(db)
                ? """
                (NOT EXISTS (SELECT 1 FROM part WHERE part.resource = resourceKey.resource)
                    OR EXISTS (SELECT 1 FROM part WHERE part.title = resourceKey.resource))
                """ : "TRUE"
            let rows = try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT generation, count(DISTINCT resource) AS resources,
                            count(DISTINCT CASE WHEN \(isTitle) THEN resource END) AS titles, total(
                            (SELECT total(segment.length) FROM representation
                                JOIN segment ON segment.representation = representation.id
                                WHERE representation.resource = resourceKey.resource AND \(PlainColumn.isSegment)
                                    AND segment.key = resourceKey.number)) AS bytes
                        FROM resourceKey WHERE resource > ? AND resource <= ? AND \(PlainColumn.isResourceKey)
                        GROUP BY generation
                        """), arguments: [before, last])
            for row in rows {
                let generation: Int = try row.column("generation")
                counts[generation, default: GenerationUsage()].resources += try row.column("resources") as Int
                counts[generation, default: GenerationUsage()].titles += try row.column("titles") as Int
                // Exact up to 2^53; a damaged row counts as nothing.
                let bytes: Double = try row.column("bytes")
                counts[generation, default: GenerationUsage()].bytes += Int64(exactly: bytes) ?? 0
            }
        }
        return counts
    }
}

/// The use of a generation: the keys that it wraps.
package struct GenerationUsage: Hashable, Sendable {
    /// The number of resources that have a key wrapped by it.
    package var resources = 0
    /// The number of these that are titles, and no parts of one.
    package var titles = 0
    /// Plaintext bytes that are sealed under those keys.
    package var bytes: Int64 = 0

    package init() {}
}
