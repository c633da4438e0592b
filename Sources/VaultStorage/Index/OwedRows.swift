import Foundation
import GRDB

/// The row of `owed` for an erasure: the transaction that deletes something also records that it is still to be erased.
///
/// Carrying out an erasure does not cover deletions made after the row was read.
struct PendingErasure: Hashable, Sendable {
    private let number: Int64

    /// Reads the pending erasure; nil if there is none.
    init?(_ db: Database) throws {
        guard try Self.hasTable(db),
            let number = try Int64.fetchOne(
                db, sql: "SELECT coalesce(CAST(number AS INTEGER), 0) FROM owed WHERE what = 'erasure'")
        else { return nil }
        self.number = number
    }

    /// Returns whether the index has the table, which the first vaults lack.
    static func hasTable(_ db: Database) throws -> Bool {
        try IndexSchema.has(IndexSchema.owed, db)
    }

    /// Records that what this transaction deletes is to be erased.
    static func record(_ db: Database) throws {
        // An owner that had no space for the table when it opened the vault may have space now.
        try db.execute(sql: IndexSchema.ifAbsent(IndexSchema.owed))
        // Whatever value the row has, the new one is a small number that differs from it.
        try db.execute(
            sql: """
                INSERT INTO owed VALUES ('erasure', 1)
                ON CONFLICT (what) DO UPDATE SET number = abs(coalesce(CAST(number AS INTEGER), 0) % 1000000007) + 1
                """)
    }

    /// Records that the erasure was carried out. If it was renumbered since, it stays pending.
    func remove(_ db: Database) throws {
        try db.execute(
            sql: "DELETE FROM owed WHERE what = 'erasure' AND coalesce(CAST(number AS INTEGER), 0) = ?",
            arguments: [number])
    }
}

/// The row of `owed` for records of format versions up to 5, which must be sealed under a generation.
enum PendingMigration {
    /// Records that the index has such records, or may have.
    static func record(_ db: Database) throws {
        try db.execute(sql: "INSERT OR REPLACE INTO owed VALUES ('records', 1)")
    }

    /// Returns whether the index may have such records.
    static func isDue(_ db: Database) throws -> Bool {
        guard try PendingErasure.hasTable(db) else { return false }
        return try Bool.fetchOne(db, sql: "SELECT 1 FROM owed WHERE what = 'records'") ?? false
    }

    /// Records that the index has no such records.
    static func remove(_ db: Database) throws { try db.execute(sql: "DELETE FROM owed WHERE what = 'records'") }
}

/// A row of `erased`: something that was deleted on purpose since `catalog.backup` was last written.
///
/// Anything that a backup has and the index lacks was lost, unless it has such a row.
enum ErasedRow {
    /// The kind under which a resource is recorded, along with everything that depends on it.
    static let resource = "resource"
    /// The kind under which a file of a pack is recorded, by its own id followed by the pack's.
    static let packedPart = "packedPart"

    /// The id that stands for all of a kind, including those that only the backup has.
    static let all = Data()

    static func insert(_ record: String, _ id: Data, _ db: Database) throws {
        let statement = try db.cachedStatement(sql: "INSERT INTO main.erased VALUES (?, ?)")
        try statement.execute(arguments: [record, id])
    }

    /// Returns the number of the last row; 0 if there is none.
    static func last(of schema: String, _ db: Database) throws -> Int64 {
        try Int64.fetchOne(db, sql: "SELECT max(rowid) FROM \(schema).erased") ?? 0
    }

    /// Removes the rows that a backup has taken into account, up to the last that it has seen.
    static func remove(upTo last: Int64, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM main.erased WHERE rowid <= ?", arguments: [last])
    }
}
