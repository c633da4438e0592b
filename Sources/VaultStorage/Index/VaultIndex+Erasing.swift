import GRDB
import VaultModel

// What was deleted must stand nowhere. `secure_delete` wipes deleted rows, and not the copies of them that SQLite leaves in the
// unused part of a page when it moves rows from one page to another.
extension VaultIndex {
    /// Makes tables anew, so that nothing stands in their pages but their rows: in one transaction, which needs room for them
    /// once more in the log.
    ///
    /// - Throws: ``VaultError`` with code `diskFull` where there is no such room: nothing has changed then.
    func renew(_ tables: [String]) throws {
        try checkOpen()
        try IndexError.translating {
            try database.writeWithoutTransaction { db in
                // A table that is dropped would take with it what refers to its rows.
                // A row that says what cannot be stays what it is, and keeps no other from being erased.
                try db.execute(sql: "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
                let result = Result {
                    try db.inTransaction(.immediate) {
                        for table in tables { try Self.renew(table, db) }
                        return .commit
                    }
                }
                try db.execute(sql: "PRAGMA foreign_keys = ON; PRAGMA ignore_check_constraints = OFF")
                try result.get()
            }
        }
    }

    /// The rows wait in memory: a second table in the file would make it larger.
    private static func renew(_ table: String, _ db: Database) throws {
        try db.execute(
            sql: "CREATE TEMP TABLE former AS SELECT * FROM main.\(table); DROP TABLE main.\(table)")
        let statements = IndexSchema.statements(making: table)
        for statement in statements.prefix(1) { try db.execute(sql: statement) }
        try db.execute(sql: "INSERT INTO main.\(table) SELECT * FROM temp.former; DROP TABLE temp.former")
        // An index is made faster of rows that are there.
        for statement in statements.dropFirst() { try db.execute(sql: statement) }
    }

    /// Empties the log into the file, so that what was deleted stands in neither.
    ///
    /// - Throws: ``VaultError`` with code `owned` where somebody reads just then.
    func truncateLog() throws {
        try checkOpen()
        try IndexError.translating {
            let isBusy = try database.writeWithoutTransaction { db in
                try Bool.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)") ?? true
            }
            guard !isBusy else {
                throw VaultError(.owned, "the index's log cannot be emptied while another program reads it")
            }
        }
    }
}
