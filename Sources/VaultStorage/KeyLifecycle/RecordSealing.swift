import Foundation
import GRDB
import VaultCrypto
import VaultModel

extension SealedTable {
    /// The SQL condition for a record that a generation seals.
    func isUnder(_ generation: Int) -> String {
        let step = SealedDocument.step
        return "(length(\(column)) % \(step) = \((SealedValue.overhead + RecordForm.prefixBytes) % step) "
            + "AND substr(\(column), 1, \(RecordForm.prefixBytes)) = x'\(Hex.encode(RecordKeys.prefix(of: generation)))')"
    }

    /// Returns the number of records that a generation seals, also of those that do not open.
    func count(under generation: Int, _ db: Database) throws -> Int {
        guard try exists(db) else { return 0 }
        return try Int.fetchOne(db, sql: "SELECT count(*) FROM \(name) WHERE \(isUnder(generation))") ?? 0
    }

    /// Returns the generations that records name, also those that no keyring has.
    func generations(_ db: Database) throws -> [Int] {
        guard try exists(db) else { return [] }
        let step = SealedDocument.step
        let prefixes = try Data.fetchAll(
            db,
            sql: """
                SELECT DISTINCT CAST(substr(\(column), 1, \(RecordForm.prefixBytes)) AS BLOB) FROM \(name)
                WHERE \(isPossible)
                    AND length(\(column)) % \(step) = \((SealedValue.overhead + RecordForm.prefixBytes) % step)
                LIMIT 10000
                """)
        return prefixes.map { RecordForm.number(in: $0.array) }
    }

    /// Seals the next records that are not sealed under a generation anew, under that generation.
    ///
    /// - Returns: the last id; nil if fewer rows than the limit were left. `unopened` are records of other generations
    ///   of the keyring that do not open: they still need theirs.
    fileprivate func seal(
        under generation: Int, after last: Data, limit: Int, _ keyring: Keyring, _ keys: RecordKeys, _ db: Database
    ) throws -> (last: Data?, sealed: Int, unopened: Int) {
        guard try exists(db) else { return (nil, 0, 0) }
        // The ids first, because rows are replaced meanwhile; one record at a time, because all of them could be large.
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
    /// Seals the next records of a table that the current generation does not seal under it.
    ///
    /// A power loss may undo this: both forms open, and no generation is removed before the log was emptied.
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

    /// Seals the records that an earlier format version wrote under the current generation, if there may be any.
    ///
    /// If this is interrupted, the next owner continues.
    func sealFormerRecords() throws {
        guard keyring.hasRecordKeys, try read({ db in try PendingMigration.isDue(db) }) else { return }
        do {
            try sealRecords()
        } catch let error as VaultError where error.code == .integrity {
            // A damaged page is no reason to refuse the vault; what it holds stays owed.
            return
        }
        try write { db in try PendingMigration.remove(db) }
    }

    /// Seals every record that opens, and that the current generation does not seal, under it.
    func sealRecords() throws {
        for table in SealedTable.all {
            var last: Data? = Data()
            while let after = last { last = try sealRecords(of: table, after: after, limit: 500).last }
        }
    }

    /// Returns the number of records that each generation seals.
    package func recordUse(of generations: [Int]) throws -> [Int: Int] {
        try generations.reduce(into: [:]) { counts, number in
            counts[number] = try read { db in try SealedTable.all.reduce(0) { try $0 + $1.count(under: number, db) } }
        }
    }
}
