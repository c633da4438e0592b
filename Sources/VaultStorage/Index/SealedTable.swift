import Foundation
import GRDB
import VaultCrypto
import VaultModel

/// A table of sealed records, each under the id that it is bound to, and under the key of the vault's locator.
struct SealedTable: Sendable {
    let name: String
    /// The statement that creates it, for a vault that lacks it.
    private let statement: String
    /// The bytes of an id.
    private let idByteCount: Int
    /// The largest sealed record, in bytes: no writer writes a larger one.
    private let maxBytes: Int
    /// The most rows that are opened.
    private let maxCount: Int

    /// The viewers.
    static let viewers = SealedTable(
        name: "viewer", statement: IndexSchema.viewer, idByteCount: ViewerKind.byteCount, maxBytes: 16 << 10,
        maxCount: 2 * Viewer.maxCount)
    /// With whom titles are shared: a row for each title that is, under its resource id, with which it goes.
    static let shares = SealedTable(
        name: "share", statement: IndexSchema.share, idByteCount: ResourceKind.byteCount, maxBytes: 16 << 10,
        maxCount: 1_000_000)
    /// How far titles were played: a row for each viewer, and for the owner under the id of the vault.
    static let positions = SealedTable(
        name: "position", statement: IndexSchema.position, idByteCount: ViewerKind.byteCount, maxBytes: 1 << 20,
        maxCount: 2 * Viewer.maxCount)

    /// All of them.
    static let all = [viewers, shares, positions]

    /// The SQL condition for a row that can be right.
    var isPossible: String {
        "(typeof(id) = 'blob' AND length(id) = \(idByteCount) AND typeof(record) = 'blob' "
            + "AND length(record) <= \(maxBytes))"
    }

    /// Returns whether a database has the table, which older vaults lack.
    func exists(in schema: String = "main", _ db: Database) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: "SELECT 1 FROM \(schema).sqlite_master WHERE type = 'table' AND name = '\(name)'")
        return try Bool.fetchOne(statement) ?? false
    }

    /// Opens the rows under a key.
    ///
    /// - Parameter body: receives the id and the members of each record that opens.
    /// - Returns: the number of rows that are not what a writer writes.
    func open(
        under key: borrowing SecretKey, _ db: Database, _ body: ([UInt8], JSONObject) throws -> Bool
    ) throws -> Int {
        guard try exists(db) else { return 0 }
        let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(name)") ?? 0
        var (opened, visited) = (0, 0)
        // A cursor holds one record at a time.
        let rows = try Row.fetchCursor(db, sql: "SELECT id, record FROM \(name) WHERE \(isPossible)")
        while visited < maxCount, let row = try rows.next() {
            visited += 1
            guard let id = try? row.column("id") as Data, let record = try? row.column("record") as Data,
                let members = SealedDocument.open(record.array, key: key, associatedData: recordData(id.array)),
                try body(id.array, members)
            else { continue }
            opened += 1
        }
        return count - opened
    }

    /// Seals a record, and writes it in place of the one that its row had.
    func write(_ members: JSONObject, of id: [UInt8], under key: borrowing SecretKey, _ db: Database) throws {
        // An owner that had no space for the table when it opened the vault may have space now.
        if try !exists(db) { try db.execute(sql: IndexSchema.ifAbsent(statement)) }
        let record = try SealedDocument.seal(members, key: key, associatedData: recordData(id))
        guard record.count <= maxBytes else {
            throw VaultError(.invalidArgument, "a record of a viewer is too large; shorten the name")
        }
        let statement = try db.cachedStatement(sql: "INSERT OR REPLACE INTO main.\(name) VALUES (?, ?)")
        try statement.execute(arguments: [id.data, record.data])
    }

    /// Deletes rows; copies of them are erased, too.
    func delete(_ ids: [[UInt8]], _ db: Database) throws {
        guard !ids.isEmpty, try exists(db) else { return }
        for id in ids { try db.execute(sql: "DELETE FROM \(name) WHERE id = ?", arguments: [id.data]) }
        try PendingErasure.record(db)
    }

    /// Deletes all rows.
    func deleteAll(_ db: Database) throws {
        if try exists(db) { try db.execute(sql: "DELETE FROM \(name)") }
    }

    /// Seals every row that opens under another key.
    ///
    /// - Parameter former: the ids under which rows were sealed, of those that have another id by now.
    func reseal(
        from old: borrowing SecretKey, to new: borrowing SecretKey, former: [[UInt8]: [UInt8]] = [:], _ db: Database
    ) throws {
        guard try exists(db) else { return }
        // One record at a time is in memory: all of them could be large.
        let ids = try Data.fetchAll(db, sql: "SELECT id FROM \(name) WHERE \(isPossible) LIMIT \(maxCount)")
        for id in ids {
            guard let row = try Row.fetchOne(db, sql: "SELECT id, record FROM \(name) WHERE id = ?", arguments: [id]),
                let id = try? row.column("id") as Data, let record = try? row.column("record") as Data,
                let members = SealedDocument.open(
                    record.array, key: old, associatedData: recordData(former[id.array] ?? id.array))
            else { continue }
            try write(members, of: id.array, under: new, db)
        }
    }

    private func recordData(_ id: [UInt8]) -> [UInt8] { SealedDocument.associatedData(name, "record", id) }
}
