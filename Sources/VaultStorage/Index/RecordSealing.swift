import Foundation
import GRDB
import VaultCrypto
import VaultModel

extension SealedTable {
    /// The SQL condition for a record in the form that names a generation.
    private var namesGeneration: String {
        let step = SealedDocument.step
        return "(typeof(\(column)) = 'blob' "
            + "AND length(\(column)) % \(step) = \((SealedValue.overhead + RecordForm.prefixBytes) % step))"
    }

    /// The SQL expression for the bytes that name the generation.
    private var prefix: String { "substr(\(column), 1, \(RecordForm.prefixBytes))" }

    /// The SQL condition for a record that a generation seals.
    func isUnder(_ generation: Int) -> String {
        "(\(namesGeneration) AND \(prefix) = x'\(Hex.encode(RecordKeys.prefix(of: generation)))')"
    }

    /// Returns the number of records that each generation seals, including records that do not open and generations
    /// that no keyring has.
    func recordCounts(_ db: Database) throws -> [Int: Int] {
        guard try exists(db) else { return [:] }
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT \(prefix) AS prefix, count(*) AS count FROM \(name) WHERE \(namesGeneration) GROUP BY prefix
                """)
        var counts: [Int: Int] = [:]
        while let row = try rows.next() {
            counts[RecordForm.number(in: (try row.column("prefix") as Data).array)] = try row.column("count")
        }
        return counts
    }

    /// Returns the number of records of each generation that is retired, or that the index knows but the keyring lacks.
    ///
    /// Such records are not damaged: another keyring opens them.
    func lackedRecordCounts(_ keyring: Keyring, _ db: Database) throws -> [Int: Int] {
        let lacked = try Self.lackedGenerations(keyring, db)
        return try recordCounts(db).filter { keyring.isRetired($0.key) || lacked.contains($0.key) }
    }

    /// Returns the generations that the index knows but the keyring lacks.
    private static func lackedGenerations(_ keyring: Keyring, _ db: Database) throws -> Set<Int> {
        Set(try GenerationRow.fetchAll(db).map(\.number)).subtracting(keyring.activeGenerations)
    }

    /// Returns whether the record of a row names a generation that the index knows but the keyring merely lacks.
    func isOfLackedGeneration(_ id: [UInt8], _ keyring: Keyring, _ db: Database) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: "SELECT \(prefix) AS prefix FROM \(name) WHERE id = ? AND \(isPossible) AND \(namesGeneration)")
        guard let row = try Row.fetchOne(statement, arguments: [id.data]) else { return false }
        let number = RecordForm.number(in: (try row.column("prefix") as Data).array)
        // No current keyring opens a record of a retired generation, so the backup's copy is better.
        return try !keyring.isRetired(number) && Self.lackedGenerations(keyring, db).contains(number)
    }

    /// Returns the number of records of all kinds that each generation seals.
    static func allRecordCounts(_ db: Database) throws -> [Int: Int] {
        try all.reduce(into: [:]) { counts, table in counts.merge(try table.recordCounts(db), uniquingKeysWith: +) }
    }

    /// Seals again, under a given generation, the next records that are not under it yet.
    ///
    /// - Returns: the last id; nil if fewer rows than the limit were left. `unopened` counts records of the keyring's
    ///   other generations that do not open and so still need their generation.
    fileprivate func seal(
        under generation: Int, after last: Data, limit: Int, _ keyring: Keyring, _ keys: RecordKeys, _ db: Database
    ) throws -> (last: Data?, sealed: Int, unopened: Int) {
        guard try exists(db) else { return (nil, 0, 0) }
        // The ids come first, because the loop replaces rows; records are read one at a time, because all could be
        // large.
        let ids = try Data.fetchAll(
            db,
            sql: """
                SELECT id FROM \(name) WHERE id > ? AND \(isPossible) AND NOT \(isUnder(generation)) ORDER BY id LIMIT ?
                """, arguments: [last, limit])
        let record = try db.cachedStatement(sql: "SELECT \(column) AS record FROM \(name) WHERE id = ?")
        var (sealed, unopened) = (0, 0)
        for id in ids {
            guard
                let bytes = try Row.fetchOne(record, arguments: [id]).flatMap({ try? $0.column("record") as Data })?
                    .array
            else { continue }
            if let members = try open(bytes, of: id.array, keys) {
                try replace(seal(members, of: id.array, keys), of: id.array, db)
                sealed += 1
            } else if case .generation(let other)? = RecordForm(bytes), keyring.activeGenerations.contains(other) {
                unopened += 1
            }
        }
        return (ids.count < limit ? nil : ids.last, sealed, unopened)
    }
}

extension VaultIndex {
    /// Seals under the current generation the next records of a table that are not under it yet.
    ///
    /// A power loss may undo this: both forms open, and no generation is removed before the log is emptied.
    func sealRecords(
        of table: SealedTable, after last: Data, limit: Int
    ) throws -> (last: Data?, sealed: Int, unopened: Int) {
        try writeWithoutSync { db in
            let page = try table.seal(
                under: keyring.currentGeneration, after: last, limit: limit, keyring, recordKeys(db), db)
            if page.sealed > 0 { try PendingErasure.record(db) }
            return page
        }
    }

    /// Seals under the current generation the records that an earlier format version wrote, if there may be any.
    ///
    /// If this is interrupted, the next owner continues.
    func sealFormerRecords() throws {
        guard keyring.hasRecordKeys, try read({ db in try PendingMigration.isDue(db) }) else { return }
        do {
            try sealRecords()
        } catch let error as VaultError where error.code == .integrity {
            // A damaged page is not a reason to refuse the vault; its records stay owed.
            return
        }
        try write { db in try PendingMigration.remove(db) }
    }

    /// Seals under the current generation every record that opens and is not yet under it.
    func sealRecords() throws {
        for table in SealedTable.all {
            var last: Data? = Data()
            while let after = last { last = try sealRecords(of: table, after: after, limit: 500).last }
        }
    }

    /// Returns the number of records that each generation seals.
    package func recordUse() throws -> [Int: Int] { try read { db in try SealedTable.allRecordCounts(db) } }
}
