import Foundation
import GRDB

/// The row of `owed` for an erasure. The transaction that deletes something also records here that the deleted data is
/// still to be erased.
///
/// Carrying out an erasure does not cover deletions made after this row was read.
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

    /// Returns whether the index has the table, which the oldest vaults lack.
    static func hasTable(_ db: Database) throws -> Bool {
        try IndexSchema.has(IndexSchema.owed, db)
    }

    /// Records that the data that this transaction deletes is still to be erased.
    static func record(_ db: Database) throws {
        // The table may be missing, because the disk may have had no space for it when the owner opened the vault.
        try db.execute(sql: IndexSchema.ifAbsent(IndexSchema.owed))
        // The new number is small, and differs from the row's present one.
        try db.execute(
            sql: """
                INSERT INTO owed VALUES ('erasure', 1)
                ON CONFLICT (what) DO UPDATE SET number = abs(coalesce(CAST(number AS INTEGER), 0) % 1000000007) + 1
                """)
    }

    /// Records that this erasure was carried out. If its row was renumbered since, an erasure stays pending.
    func remove(_ db: Database) throws {
        try db.execute(
            sql: "DELETE FROM owed WHERE what = 'erasure' AND coalesce(CAST(number AS INTEGER), 0) = ?",
            arguments: [number])
    }
}

/// The row of `owed` for records of format versions up to 5, which must still be sealed under a generation.
enum PendingMigration {
    /// Records that the index has records of those versions, or may have some.
    static func record(_ db: Database) throws {
        try db.execute(sql: "INSERT OR REPLACE INTO owed VALUES ('records', 1)")
    }

    /// Returns whether the index may have records of those versions.
    static func isDue(_ db: Database) throws -> Bool {
        guard try PendingErasure.hasTable(db) else { return false }
        return try Bool.fetchOne(db, sql: "SELECT 1 FROM owed WHERE what = 'records'") ?? false
    }

    /// Records that the index has no records of those versions.
    static func remove(_ db: Database) throws { try db.execute(sql: "DELETE FROM owed WHERE what = 'records'") }
}

/// A row of `erased`, which records something that was deleted on purpose since `catalog.backup` was last written.
///
/// Anything that a backup has and the index lacks was lost, unless a row of `erased` names it.
enum ErasedRow {
    /// The kind under which a resource is recorded, along with everything that depends on it.
    static let resource = "resource"
    /// The kind under which a packed file is recorded, by its own id followed by the pack's id.
    static let packedPart = "packedPart"

    /// The id that stands for everything of one kind, including what only the backup has.
    static let all = Data()

    static func insert(_ record: String, _ id: Data, _ db: Database) throws {
        let statement = try db.cachedStatement(sql: "INSERT INTO main.erased VALUES (?, ?)")
        try statement.execute(arguments: [record, id])
    }

    /// Returns the number of the last row; 0 if there is none.
    static func last(of schema: String, _ db: Database) throws -> Int64 {
        try Int64.fetchOne(db, sql: "SELECT max(rowid) FROM \(schema).erased") ?? 0
    }

    /// Removes the rows that a backup has taken into account: all up to and including the row numbered `last`.
    static func remove(upTo last: Int64, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM main.erased WHERE rowid <= ?", arguments: [last])
    }
}
