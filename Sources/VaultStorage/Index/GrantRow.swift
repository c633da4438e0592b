import Foundation
import GRDB
import VaultCrypto
package import VaultModel

/// A row of `accessGrant`: a token or named links that the vault has issued. What has no row is not accepted.
struct GrantRow: Sendable {
    private let id: GrantID
    private let record: [UInt8]

    /// The largest sealed record, in bytes: no writer writes a larger one.
    private static let maxBytes = 64 << 10

    /// Creates the row; nil if one of its values is impossible.
    private init?(_ row: Row) {
        guard let id = (try? row.column("id")).flatMap({ GrantID($0) }), let record: Data = try? row.column("record")
        else { return nil }
        (self.id, self.record) = (id, record.array)
    }

    /// Seals the row of a grant.
    private init(_ id: GrantID, _ object: JSONObject, under key: borrowing SecretKey) throws {
        self.id = id
        record = try SealedDocument.seal(object, key: key, associatedData: Self.recordData(id))
        guard record.count <= Self.maxBytes else {
            throw VaultError(.invalidArgument, "the record of a token or of named links is too long; shorten the URL")
        }
    }

    /// Opens the record; nil if it does not open, or belongs to another row.
    private func open(under key: borrowing SecretKey) -> JSONObject? {
        SealedDocument.open(record, key: key, associatedData: Self.recordData(id))
    }

    private static func recordData(_ id: GrantID) -> [UInt8] {
        SealedDocument.associatedData("accessGrant", "record", id.bytes)
    }

    // MARK: Rows

    /// Returns whether a database has the table, which older vaults lack.
    static func hasTable(of schema: String = "main", _ db: Database) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: "SELECT 1 FROM \(schema).sqlite_master WHERE type = 'table' AND name = 'accessGrant'")
        return try Bool.fetchOne(statement) ?? false
    }

    /// Returns the ids of the rows as they are, which may be impossible.
    private static func ids(_ db: Database) throws -> [DatabaseValue] {
        guard try hasTable(db) else { return [] }
        return try DatabaseValue.fetchAll(db, sql: "SELECT id FROM accessGrant ORDER BY id LIMIT \(maxCount)")
    }

    /// Returns what can be right of a row; nil if there is none, or it is impossible.
    private static func fetch(_ id: DatabaseValue, _ db: Database) throws -> GrantRow? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT id, CASE WHEN length(record) <= \(maxBytes) THEN record END AS record FROM accessGrant
                WHERE id = ?
                """)
        return try Row.fetchOne(statement, arguments: [id]).flatMap { GrantRow($0) }
    }

    /// The most rows that are read.
    private static let maxCount = 2 * StoredGrants.maxCount

    /// Returns the grant; nil if the record does not open, or is not what this version knows.
    private func grant(under key: borrowing SecretKey) -> AccessGrant? {
        open(under: key).flatMap { AccessGrant(id: id, $0) }
    }

    /// Returns the grants, and the number of rows that do not open.
    static func grants(under key: borrowing SecretKey, _ db: Database) throws -> StoredGrants {
        var stored = StoredGrants()
        // One record at a time is in memory: all of them could be large.
        for id in try ids(db) {
            if let grant = try fetch(id, db)?.grant(under: key) {
                stored.grants.append(grant)
            } else {
                stored.unreadable += 1
            }
        }
        return stored
    }

    /// Deletes the rows that do not open.
    static func deleteUnreadable(under key: borrowing SecretKey, _ db: Database) throws {
        for id in try ids(db) where try fetch(id, db)?.grant(under: key) == nil {
            try db.execute(sql: "DELETE FROM accessGrant WHERE id = ?", arguments: [id])
        }
    }

    /// Adds the row of a grant.
    static func insert(_ grant: AccessGrant, under key: borrowing SecretKey, _ db: Database) throws {
        // An owner that had no space for the table when it opened the vault may have space now.
        try db.execute(sql: IndexSchema.ifAbsent(IndexSchema.accessGrant))
        let row = try GrantRow(grant.id, grant.record, under: key)
        try db.execute(
            sql: "INSERT INTO accessGrant VALUES (?, ?)", arguments: [row.id.data, row.record.data])
    }

    /// Records the last use of grants that still have a row.
    static func note(_ uses: [GrantID: Int64], under key: borrowing SecretKey, _ db: Database) throws {
        guard try hasTable(db) else { return }
        for (id, used) in uses {
            guard let row = try fetch(id.data.databaseValue, db), var object = row.open(under: key) else { continue }
            object["used"] = .integer(used)
            try GrantRow(row.id, object, under: key).update(db)
        }
    }

    /// Seals every row that opens under another key.
    static func reseal(from old: borrowing SecretKey, to new: borrowing SecretKey, _ db: Database) throws {
        for id in try ids(db) {
            guard let row = try fetch(id, db), let object = row.open(under: old) else { continue }
            try GrantRow(row.id, object, under: new).update(db)
        }
    }

    private func update(_ db: Database) throws {
        try db.execute(
            sql: "UPDATE accessGrant SET record = ? WHERE id = ?", arguments: [record.data, id.data])
    }

    /// Deletes rows.
    static func delete(_ ids: [GrantID], _ db: Database) throws {
        guard !ids.isEmpty, try hasTable(db) else { return }
        for id in ids { try db.execute(sql: "DELETE FROM accessGrant WHERE id = ?", arguments: [id.data]) }
        try PendingErasure.record(db)
    }
}

/// The grants of a vault, as its index has them.
package struct StoredGrants: Sendable {
    package var grants: [AccessGrant] = []
    /// The number of rows that do not open: they admit nothing.
    package var unreadable = 0

    /// The most grants of a vault.
    package static let maxCount = 10_000

    /// Nothing.
    package init() {}
}

extension VaultIndex {
    /// Returns the grants; none that open if the keyring lacks the key of the vault's locator.
    func grants() throws -> StoredGrants {
        try read { db in
            guard let key = try grantKey(db) else { return StoredGrants() }
            return try GrantRow.grants(under: key.secret, db)
        }
    }

    /// Returns the key under which the records are sealed, which is that of the settings; nil without its locator.
    private func grantKey(_ db: Database) throws -> SharedKey? {
        try VaultRow.fetch(db)?.locator.flatMap { try keyring.indexKey(locator: $0) }
    }

    private func changeGrants(_ body: (SharedKey, Database) throws -> Void) throws {
        try write { db in
            guard let key = try grantKey(db) else {
                throw VaultError(
                    .foreignKeyring, "the keyring lacks the key of this vault's settings; use the newer keyring")
            }
            try body(key, db)
        }
    }

    func add(_ grant: AccessGrant, removing others: [GrantID]) throws {
        try changeGrants { key, db in
            try GrantRow.delete(others, db)
            try GrantRow.insert(grant, under: key.secret, db)
        }
    }

    func removeGrants(_ ids: [GrantID], withUnreadable: Bool) throws {
        try write { db in
            try GrantRow.delete(ids, db)
            guard withUnreadable, let key = try grantKey(db) else { return }
            try GrantRow.deleteUnreadable(under: key.secret, db)
        }
    }

    func note(_ uses: [GrantID: Int64]) throws {
        try changeGrants { key, db in try GrantRow.note(uses, under: key.secret, db) }
    }

    /// Seals the records under the key of another locator, in the transaction that makes it the vault's.
    func resealGrants(from old: Int, to new: Int, _ db: Database) throws {
        guard let old = try keyring.indexKey(locator: old), let new = try keyring.indexKey(locator: new) else { return }
        try GrantRow.reseal(from: old.secret, to: new.secret, db)
    }
}
