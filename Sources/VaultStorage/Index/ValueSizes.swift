import Foundation
import GRDB
import GRDBSQLite
import VaultModel

/// Looks for values that are larger than any that this program writes.
///
/// SQLite reads a whole row to compare its key, so that each search that passes a value of some hundred megabytes would
/// read it into memory. Only a search row by row, which asks for lengths alone, does not.
enum ValueSizes {
    /// The largest value, in bytes; one of settings may have ``VaultRow/maxBytes``.
    static let bound = 8 << 20
    /// The size of a database that is not searched, in bytes: no value in it takes more memory than a process can spare.
    private static let harmless = 10 << 20

    /// Requires that no row and no entry of an index is larger than this program writes them.
    ///
    /// - Throws: ``VaultError`` with code `integrity`.
    static func require(_ contents: IndexSchema.Contents, _ db: Database) throws {
        guard try hasLarger(contents, db) else { return }
        throw VaultError(
            .integrity, "the index has a value that is larger than this program writes; rebuild the index",
            hint: .rebuildIndex)
    }

    private static func hasLarger(_ contents: IndexSchema.Contents, _ db: Database) throws -> Bool {
        let size = try Int64.fetchOne(db, sql: "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        guard size ?? 0 > harmless else { return false }
        do {
            return try limited(db) {
                try contents.statements.contains { statement in
                    guard try IndexSchema.has(statement, db) else { return false }
                    let place = try Place(statement, db)
                    return try Bool.fetchOne(
                        db, sql: "SELECT 1 FROM \(place.source) WHERE \(place.isLarger) LIMIT 1") ?? false
                }
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_TOOBIG {
            return true
        }
    }

    /// Runs work during which a larger text is an error: its length cannot be told without reading it.
    private static func limited<Result>(_ db: Database, _ body: () throws -> Result) throws -> Result {
        let limit = unsafe sqlite3_limit(db.sqliteConnection, SQLITE_LIMIT_LENGTH, Int32(bound))
        defer { _ = unsafe sqlite3_limit(db.sqliteConnection, SQLITE_LIMIT_LENGTH, limit) }
        return try body()
    }

    /// Copies the rows of an index that are not larger than this program writes them into an empty file.
    ///
    /// - Throws: ``VaultError`` if the index cannot be read row by row.
    static func copySmaller(from path: String, to copy: String) throws {
        let contents = IndexSchema.Contents.ofIndex
        try IndexDatabase.creating(at: copy) { db in
            try db.execute(
                sql: """
                    PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF;
                    ATTACH DATABASE ? AS larger
                    """, arguments: [path])
            try db.inTransaction {
                try SchemaCheck.require(contents.required, optional: contents.optional, of: "larger", db)
                try IndexDatabase.createSchema(db) {
                    for table in IndexSchema.tableNames where try IndexSchema.hasTable(table, of: "larger", db) {
                        try copySmallerRows(of: table, db)
                    }
                }
                return .commit
            }
            try db.execute(sql: "DETACH DATABASE larger")
        }
    }

    private static func copySmallerRows(of table: String, _ db: Database) throws {
        let columns = try db.columns(in: table)
        // No key opens a text, and its length cannot be told.
        let texts = columns.filter { $0.type == "BLOB" }.map { "typeof(\($0.name)) = 'text'" }
        let isLeftOut = (texts + [Place.isLarger(table, columns.map(\.name))]).joined(separator: " OR ")
        do {
            try limited(db) {
                try db.execute(
                    sql: "INSERT OR IGNORE INTO main.\(table) SELECT * FROM larger.\(table) WHERE NOT (\(isLeftOut))")
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_TOOBIG {
            // A text that is too large in a column of texts: the table's rows can come from a catalog only.
        }
    }

    /// A table, or an index, whose entries are read one after another.
    private struct Place {
        let source: String
        let isLarger: String

        init(_ statement: String, _ db: Database) throws {
            let entry = SchemaCheck.Entry(statement)
            guard entry.type == "index" else {
                source = entry.name
                isLarger = Self.isLarger(entry.name, try db.columns(in: entry.name).map(\.name))
                return
            }
            let columns = try String.fetchAll(
                db, sql: "SELECT name FROM pragma_index_info(?) WHERE name IS NOT NULL", arguments: [entry.name])
            source = "\(entry.table) INDEXED BY \(entry.name)"
            isLarger = Self.isLarger(entry.table, columns)
        }

        static func isLarger(_ table: String, _ columns: [String]) -> String {
            columns.map { column in
                let isSettings = table == "vault" && column == "settings"
                // Settings of another type are not read at all.
                let types = isSettings ? "'blob'" : "'blob', 'text'"
                return
                    "(typeof(\(column)) IN (\(types)) AND length(\(column)) > \(isSettings ? VaultRow.maxBytes : bound))"
            }.joined(separator: " OR ")
        }
    }
}
