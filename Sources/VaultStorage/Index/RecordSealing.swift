import Foundation
import GRDB
import VaultCrypto
import VaultModel

extension SealedTable {
    /// The SQL condition that a record has the form that names a generation.
    private var namesGeneration: String {
        let step = SealedDocument.step
        return "(typeof(\(column)) = 'blob' "
            + "AND length(\(column)) % \(step) = \((SealedValue.overhead + RecordForm.prefixBytes) % step))"
    }

    /// The SQL expression for the bytes of a record that name its generation.
    private var prefix: String { "substr(\(column), 1, \(RecordForm.prefixBytes))" }

    /// Returns the SQL condition that a record is sealed under a generation.
    func isUnder(_ generation: Int) -> String {
        "(\(namesGeneration) AND \(prefix) = x'\(Hex.encode(RecordKeys.prefix(of: generation)))')"
    }

    /// Returns the number of records sealed under each generation. It includes records that do not open, and
    /// generations that no keyring has.
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

    /// Returns the number of records sealed under each generation that is retired, or that the index knows but the
    /// keyring lacks.
    ///
    /// Those records are not damaged, because another keyring opens them.
    func lackedRecordCounts(_ keyring: Keyring, _ db: Database) throws -> [Int: Int] {
        let lacked = try Self.lackedGenerations(keyring, db)
        return try recordCounts(db).filter { keyring.isRetired($0.key) || lacked.contains($0.key) }
    }

    /// Returns the generations that the index knows but the keyring lacks.
    private static func lackedGenerations(_ keyring: Keyring, _ db: Database) throws -> Set<Int> {
        Set(try GenerationRow.fetchAll(db).map(\.number)).subtracting(keyring.activeGenerations)
    }

    /// Returns whether a row's record names a generation that the index knows and that the keyring merely lacks.
    func isOfLackedGeneration(_ id: [UInt8], _ keyring: Keyring, _ db: Database) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: "SELECT \(prefix) AS prefix FROM \(name) WHERE id = ? AND \(isPossible) AND \(namesGeneration)")
        guard let row = try Row.fetchOne(statement, arguments: [id.data]) else { return false }
        let number = RecordForm.number(in: (try row.column("prefix") as Data).array)
        // No current keyring opens a record sealed under a retired generation, so the backup's copy is better.
        return try !keyring.isRetired(number) && Self.lackedGenerations(keyring, db).contains(number)
    }

    /// Returns the number of records of all kinds sealed under each generation.
    static func allRecordCounts(_ db: Database) throws -> [Int: Int] {
        try all.reduce(into: [:]) { counts, table in counts.merge(try table.recordCounts(db), uniquingKeysWith: +) }
    }

    /// Takes the next records that are not yet sealed under a given generation, and seals them under it.
    ///
    /// - Returns: the id to continue after, which is nil if fewer rows than the limit were left; the number of records
    ///   sealed; and the number of records that do not open but name another of the keyring's generations, which they
    ///   therefore still need.
    func seal(
        under generation: Int, after last: Data, limit: Int, _ keyring: Keyring, _ keys: RecordKeys, _ db: Database
    ) throws -> (last: Data?, sealed: Int, unopened: Int) {
        guard try exists(db) else { return (nil, 0, 0) }
        // The ids are read first, because the loop replaces rows. The records are read one at a time, because each of
        // them could be large.
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
