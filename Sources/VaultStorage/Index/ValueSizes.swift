import Foundation
import GRDB
import GRDBSQLite
import VaultModel

/// Checks for values that are larger than any that this program writes.
///
/// SQLite reads a whole row to compare its key, so a search that passes a value of several hundred megabytes would read
/// the value into memory. Only a row-by-row search that selects nothing but lengths avoids this.
enum ValueSizes {
    /// The maximum size of a value, in bytes. Only settings may be larger, up to ``VaultRow/maxBytes``.
    static let bound = 8 << 20
    /// The size, in bytes, up to which a database is not searched, because no value in it can take more memory than a
    /// process can spare.
    private static let harmless = 10 << 20

    /// Requires that no value in a row, or in an entry of an SQL index, is larger than any that this program writes.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if there is a larger value.
    static func require(_ contents: IndexSchema.Contents, _ db: Database) throws {
        guard try hasLarger(contents, db) else { return }
        throw VaultError(
            .integrity, "the index has a value that is larger than this program writes; rebuild the index",
            hint: .rebuildIndex)
    }

    private static func hasLarger(_ contents: IndexSchema.Contents, _ db: Database) throws -> Bool {
        let size = try Int64.fetchOne(db, sql: "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        guard size ?? 0 > harmless else { return false }
        return try limited(db) {
            try contents.statements.contains { statement in
                guard try IndexSchema.has(statement, db) else { return false }
                do {
                    let place = try Place(statement, db)
                    return try Bool.fetchOne(
                        db, sql: "SELECT 1 FROM \(place.source) WHERE \(place.isLarger) LIMIT 1") ?? false
                } catch let error as DatabaseError where error.resultCode == .SQLITE_TOOBIG {
                    return true
                } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
                    // The search goes on, because another table may still be readable, and this one may stay
                    // unreadable.
                    return false
                }
            }
        }
    }

    /// Runs work during which SQLite refuses to read a larger text, because it can determine the length of a text only
    /// by reading it.
    static func limited<Result>(_ db: Database, _ body: () throws -> Result) throws -> Result {
        let limit = unsafe sqlite3_limit(db.sqliteConnection, SQLITE_LIMIT_LENGTH, Int32(bound))
        defer { _ = unsafe sqlite3_limit(db.sqliteConnection, SQLITE_LIMIT_LENGTH, limit) }
        return try body()
    }

    /// Returns the SQL condition that a row of a table has a larger value.
    static func isLarger(_ table: String, _ columns: [String]) -> String {
        columns.map { column in
            let isSettings = table == "vault" && column == "settings"
            // Settings are checked only as a blob, because settings of another type are never read.
            let types = isSettings ? "'blob'" : "'blob', 'text'"
            return "(typeof(\(column)) IN (\(types)) AND length(\(column)) > \(isSettings ? VaultRow.maxBytes : bound))"
        }.joined(separator: " OR ")
    }

    /// A table or an SQL index whose entries are read one after another.
    private struct Place {
        let source: String
        let isLarger: String

        /// The tables that may have a million rows. A vault must open as fast with a million rows as with ten.
        private static let long = ["segment", "badBlock", "doomed"]
        /// The maximum number of these tables' rows that are searched: as many as a database just above the harmless
        /// size has.
        private static let mostRows = 20_000

        init(_ statement: String, _ db: Database) throws {
            let entry = SchemaCheck.Entry(statement)
            var columns: [String]
            var place = entry.table
            if entry.type == "index" {
                columns = try String.fetchAll(
                    db, sql: "SELECT name FROM pragma_index_info(?) WHERE name IS NOT NULL", arguments: [entry.name])
                place += " INDEXED BY \(entry.name)"
            } else {
                columns = try db.columns(in: entry.name).map(\.name)
            }
            let names = columns.joined(separator: ", ")
            source = Self.long.contains(entry.table) ? "(SELECT \(names) FROM \(place) LIMIT \(Self.mostRows))" : place
            isLarger = ValueSizes.isLarger(entry.table, columns)
        }
    }
}
