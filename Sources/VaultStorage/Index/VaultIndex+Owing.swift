import GRDB
import VaultModel

// What is still to be done after something was deleted: written down by the transaction that deletes it.
extension VaultIndex {
    /// That something is to be erased, as it stood when it was read: what is deleted after that is not paid with it.
    struct Debt: Hashable, Sendable { fileprivate let number: Int64 }

    /// Adds the tables that the first vaults were made without.
    ///
    /// - Parameter wasKilled: whether the owner before was killed. One that wrote down no debts may have had some.
    func addLaterTables(afterKill wasKilled: Bool) throws {
        guard try read({ db in try !Self.hasOwed(db) }) else { return }
        try write { db in
            for statement in IndexSchema.later { try db.execute(sql: IndexSchema.ifAbsent(statement)) }
            if wasKilled { try Self.oweErasure(db) }
        }
    }

    private static func hasOwed(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'owed'") ?? false
    }

    /// Writes down that what this transaction deletes is to be erased.
    static func oweErasure(_ db: Database) throws {
        // An owner that found no room for the table when it opened the vault may have some now.
        try db.execute(sql: IndexSchema.ifAbsent(IndexSchema.owed))
        // Whatever stands there, what comes of it is a small number, and another one.
        try db.execute(
            sql: """
                INSERT INTO owed VALUES ('erasure', 1)
                ON CONFLICT (what) DO UPDATE SET number = abs(coalesce(CAST(number AS INTEGER), 0) % 1000000007) + 1
                """)
    }

    /// Writes down that something may still stand where it should not.
    func oweErasure() throws { try write { db in try Self.oweErasure(db) } }

    /// What is to be erased; nil where nothing is.
    func debt() throws -> Debt? {
        try read { db in
            guard try Self.hasOwed(db) else { return nil }
            return try Int64.fetchOne(
                db, sql: "SELECT coalesce(CAST(number AS INTEGER), 0) FROM owed WHERE what = 'erasure'"
            ).map { Debt(number: $0) }
        }
    }

    /// What was owed is done. A debt that has grown since stays.
    func pay(_ debt: Debt) throws {
        try write { db in
            try db.execute(
                sql: "DELETE FROM owed WHERE what = 'erasure' AND coalesce(CAST(number AS INTEGER), 0) = ?",
                arguments: [debt.number])
        }
    }
}
