import Foundation
import GRDB
import Synchronization
package import VaultCrypto
package import VaultModel

// Generations come and go by *Two files, one law*: a crash between leaves a key too many, never one too few. Only the
// owner does this, one act at a time.
extension VaultStore {
    /// Makes a new generation the current one: new resources use it from now on.
    ///
    /// - Returns: its number.
    package func addGeneration(noting log: AuditLog) throws -> Int {
        let taken = try takenGenerations()
        noteChange()
        return try log.change(.rotate) { try $0.addGeneration(now: now(), avoiding: taken) }
    }

    /// The numbers that the index has: a restored keyring may not know every one that was given.
    func takenGenerations() throws -> Set<Int> { Set(try index.generations().all) }

    /// Begins to wrap every resource key anew under the current generation; ``finishRewrap()`` belongs to its end.
    package func rewrap() throws -> Rewrap { try Rewrap(self) }

    /// Lets no old wrapped key stand in the index, its log and `catalog.backup`.
    ///
    /// - Throws: ``VaultError`` where one may: it is tried again every minute.
    package func finishRewrap() throws {
        try eraseKeyCopies(after: "every key is wrapped anew, but old ones")
    }

    /// Destroys a generation: the index lets go of it, then its key leaves the keyring. One that is gone stays gone; one
    /// that was broken off is finished.
    ///
    /// - Throws: ``VaultError`` with code `inUse` where something needs it, `invalidArgument` where there is none of this
    ///   number, `storage` or `owned` where an old key may still stand in the index or its log: then the key is still there.
    package func retire(_ number: Int, noting log: AuditLog) throws {
        guard number != keyring.currentGeneration else { throw KeyringEdit.currentGeneration(number) }
        guard !keyring.foldedGenerations.contains(where: { $0.contains(number) }) else { return }
        guard let record = keyring.generationRecords.first(where: { $0.number == number }) else {
            throw KeyringEdit.unknownGeneration(number)
        }
        guard !record.isRetired else { return }
        noteChange()
        try withDiskRoom { try index.removeGeneration(number) }
        try eraseKeyCopies(after: "nothing needs generation \(number) any more, but keys that it wrapped")
        try log.place.destroyCopies(of: keyring.vaultID)
        try log.change(.retire, generation: number) { try $0.retireGeneration(number) }
    }

    // MARK: Turning the generation

    /// Makes a new generation current, wraps every key anew under it, and destroys all others, so that nothing that they
    /// wrapped opens any more. What is begun is finished by ``finishTurn(noting:)``, after a crash too.
    ///
    /// - Returns: the generations that had to stay, because a key that they wrap does not open.
    package func turnGeneration(noting log: AuditLog) throws -> [Int] {
        let current = try addGeneration(noting: log)
        try withDiskRoom { try index.beginRetiring(keyring.activeGenerations.filter { $0 != current }) }
        return try finishTurn(noting: log)
    }

    /// Whether the end of a generation is decided, and not finished.
    package func isTurning() throws -> Bool { try !retiringGenerations().isEmpty }

    /// The generations whose end is decided: the index says so, or has let go of them already.
    package func retiringGenerations() throws -> [Int] {
        let known = try index.generations()
        return keyring.activeGenerations.filter { number in
            number != keyring.currentGeneration && (known.retiring.contains(number) || !known.all.contains(number))
        }
    }

    /// Finishes what ends generations and was begun: a turn, or the retirement of one.
    ///
    /// - Returns: as ``turnGeneration(noting:)``.
    package func finishTurn(noting log: AuditLog) throws -> [Int] {
        var rewrap = try rewrap()
        while try rewrap.step() {}
        try finishRewrap()
        if rewrap.done > 0 { try log.note(.rewrap, outcome: rewrap.outcome, resources: Int64(rewrap.resources)) }
        return try retiringGenerations().filter { number in
            do {
                try retire(number, noting: log)
                return false
            } catch let error as VaultError where error.code == .inUse {
                return true
            }
        }
    }
}

extension VaultStore {
    /// Makes a new root key, a new token key and a new generation, in one write of the keyring.
    ///
    /// - Parameters:
    ///   - secrets: what opens the slots that stay.
    ///   - dropsOthers: whether slots that none of them opens go.
    /// - Returns: the number of the new generation.
    /// - Throws: as ``KeyringEdit/renewRoot(openedBy:droppingOthers:now:avoiding:)`` and ``AuditLog/change(_:generation:_:)``.
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

// The index's side of *Two files, one law*: the keyring leads when something is added, the index when something goes.
extension VaultIndex {
    /// Takes over what the keyring got after this index was last written: its generations, and how new it is.
    ///
    /// A generation that this index has seen and has no row of was let go here; its key is still to leave the keyring.
    func catchUpWithKeyring() throws {
        try write { db in
            let row = try Row.fetchOne(db, sql: "SELECT keyringRevision FROM vault")
            guard let seen: Int64 = try row?.column("keyringRevision"), seen < keyring.revision else { return }
            // An older one that has no row was let go, whatever the keyring has counted since. A row of which the keyring
            // knows nothing says nothing of that: anybody who can write the file may have put it there.
            let active = keyring.activeGenerations
            let rows = Set(try Int.fetchAll(db, sql: "SELECT number FROM generation"))
            let newest = keyring.generationRecords.map(\.number).last { rows.contains($0) } ?? 0
            for number in active where number > newest || number == keyring.currentGeneration {
                try db.execute(sql: "INSERT OR IGNORE INTO generation VALUES (?, 'active')", arguments: [number])
            }
            try db.execute(sql: "UPDATE vault SET keyringRevision = ?", arguments: [keyring.revision])
        }
    }

    /// Sees to it that what is noted of a change of the keyring can be written, before anything depends on it: writes the
    /// same pages, and lets what comes next have that place in the log.
    ///
    /// - Throws: ``VaultError`` where they cannot be written.
    func prepareForKeyring() throws {
        try write { db in
            // A trigger could keep what is to be destroyed.
            try SchemaCheck.require(IndexSchema.first, optional: IndexSchema.later, db)
            // There and back: SQLite writes no page that nothing changes in.
            try db.execute(
                sql: """
                    UPDATE vault SET keyringRevision = keyringRevision + 1;
                    UPDATE vault SET keyringRevision = keyringRevision - 1;
                    INSERT OR IGNORE INTO generation VALUES (0, 'active');
                    DELETE FROM generation WHERE number = 0 AND NOT EXISTS (SELECT 1 FROM resourceKey WHERE generation = 0);
                    """)
        }
        try checkOpen()
        try IndexError.translating {
            _ = try database.writeWithoutTransaction { db in try db.checkpoint(.passive) }
        }
    }

    /// Adds a generation that the keyring has durably.
    func addGeneration(_ number: Int) throws {
        try write { db in
            try db.execute(sql: "INSERT OR IGNORE INTO generation VALUES (?, 'active')", arguments: [number])
        }
    }

    /// Notes that generations are on their way out, so that whoever owns the vault next goes on with it.
    func beginRetiring(_ numbers: [Int]) throws {
        try write { db in
            for number in numbers {
                try db.execute(sql: "UPDATE generation SET state = 'retiring' WHERE number = ?", arguments: [number])
            }
        }
    }

    /// Lets go of a generation: from now on no resource key can name it.
    ///
    /// - Throws: ``VaultError`` with code `inUse` where one does.
    func removeGeneration(_ number: Int) throws {
        try write { db in
            let needs = try Int.fetchOne(
                db, sql: "SELECT count(*) FROM resourceKey WHERE generation = ?", arguments: [number])
            guard needs == 0 else {
                throw VaultError(
                    .inUse,
                    "generation \(number) still wraps \(needs ?? 0) resource keys; run keys rewrap, then retire it again"
                )
            }
            try db.execute(sql: "DELETE FROM generation WHERE number = ?", arguments: [number])
            // Receipts raise the revision, too: what the index has let go of must not look new to it.
            try db.execute(
                sql: "UPDATE vault SET keyringRevision = max(keyringRevision, ?)", arguments: [keyring.revision])
        }
    }

    /// Some resources that a generation wraps a key of.
    package func resources(wrappedBy generation: Int, limit: Int) throws -> [ResourceID] {
        try read { db in
            try Data.fetchAll(
                db, sql: "SELECT DISTINCT resource FROM resourceKey WHERE generation = ? ORDER BY resource LIMIT ?",
                arguments: [generation, limit]
            ).compactMap { ResourceID($0) }
        }
    }

    /// The generations that a resource key may name, in ascending order, and those of them that are on their way out.
    package func generations() throws -> (all: [Int], retiring: [Int]) {
        try read { db in
            let rows = try Row.fetchAll(db, sql: "SELECT number, state FROM generation ORDER BY number")
            // A number that none can have is no generation's; a state that is none ends none.
            let known: [(Int, String)] = rows.compactMap { row in
                (try? row.column("number", in: PlainColumn.numbers)).map { ($0, (try? row.column("state")) ?? "") }
            }
            return (known.map(\.0), known.filter { $0.1 == "retiring" }.map(\.0))
        }
    }
}

extension VaultIndex {
    /// Counts what needs each generation, a page of resources at a time; generations that nothing needs are left out.
    package func generationUse() throws -> [Int: GenerationUsage] {
        var counts: [Int: GenerationUsage] = [:]
        try forEachPage { db, before, last in
            let rows = try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT generation, count(DISTINCT resource) AS resources, total(
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
                // Exact up to 2^53; a damaged row counts as nothing.
                let bytes: Double = try row.column("bytes")
                counts[generation, default: GenerationUsage()].bytes += Int64(exactly: bytes) ?? 0
            }
        }
        return counts
    }
}

/// What needs a generation: the keys that it wraps.
package struct GenerationUsage: Hashable, Sendable {
    /// Resources that have a key wrapped by it.
    package var resources = 0
    /// Plaintext bytes that lie sealed under those keys.
    package var bytes: Int64 = 0

    package init() {}
}
