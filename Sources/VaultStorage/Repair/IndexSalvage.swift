import Foundation
import GRDB
import VaultCrypto
import VaultModel

/// Copies the rows of a damaged index that can still be read.
///
/// A page that cannot be read, or a value larger than any that this program writes, costs only its own rows, because
/// each table is read from both ends. Deleted rows stay deleted, because the table `erased` is copied, too.
struct IndexSalvage {
    let path: String
    let catalogs: CatalogFiles
    let keyring: Keyring

    /// The tables that a catalog also has, and `erased`.
    private static let tables = (IndexSchema.catalog + IndexSchema.laterCatalog + [IndexSchema.erased])
        .map(SchemaCheck.Entry.init).filter { $0.type == "table" }.map(\.name)

    /// Copies the rows into an empty file.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if the file is not an index, or if neither it nor a catalog has
    ///   the vault's row; `diskFull` if the disk is full.
    func copy(to copy: String) throws {
        try IndexDatabase.creating(at: copy) { db in
            try db.execute(
                sql: """
                    PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF
                    """)
            try db.inTransaction {
                try IndexDatabase.createSchema(db) {
                    try IndexDatabase.reading(path, .ofIndex, boundsValues: false) { index in
                        try ValueSizes.limited(index) {
                            for table in Self.tables where try IndexSchema.hasTable(table, index) {
                                let isWhole = try copyRows(of: table, from: index, to: db)
                                if !isWhole, table == "erased" { try closeRights(db) }
                            }
                        }
                    }
                    try settleVault(db)
                }
                return .commit
            }
        }
    }

    /// Keeps catalogs from restoring records that grant access, because it is unknown which of these records were
    /// revoked since.
    private func closeRights(_ db: Database) throws {
        for record in CatalogMerge.rights { try ErasedRow.insert(record, ErasedRow.all, db) }
    }

    /// Copies the rows of a table that can be read from either end.
    ///
    /// - Returns: whether all rows were read.
    private func copyRows(of table: String, from index: Database, to db: Database) throws -> Bool {
        let columns = try db.columns(in: table)
        let key = try db.primaryKey(table).columns
        // The rowid shows that a row that is read from the other end was copied before.
        let names = columns.map(\.name) + (key == ["rowid"] ? key : [])
        // Texts in these columns are left out: no key opens them, and SQLite can determine their length only by reading
        // them.
        let texts = columns.filter { $0.type == "BLOB" }.map { "typeof(\($0.name)) = 'text'" }
        let isLeftOut = (texts + [ValueSizes.isLarger(table, columns.map(\.name))]).joined(separator: " OR ")
        let places = names.map { _ in "?" }.joined(separator: ", ")
        let insert = try db.makeStatement(
            sql: "INSERT OR IGNORE INTO main.\(table) (\(names.joined(separator: ", "))) VALUES (\(places))")
        for order in ["ASC", "DESC"] {
            let isWhole = try read(
                "SELECT \(names.joined(separator: ", ")) FROM \(table) WHERE NOT (\(isLeftOut)) ORDER BY "
                    + key.map { "\($0) \(order)" }.joined(separator: ", "), from: index
            ) { row in try insert.execute(arguments: StatementArguments(row.databaseValues)) }
            if isWhole { return true }
        }
        return false
    }

    /// Reads rows up to the first one that cannot be read.
    ///
    /// - Returns: whether all of them were read.
    private func read(_ sql: String, from index: Database, _ take: (Row) throws -> Void) throws -> Bool {
        let rows: RowCursor
        do { rows = try Row.fetchCursor(index, sql: sql) } catch let error as DatabaseError where Self.isDamage(error) {
            return false
        }
        while true {
            let row: Row?
            do { row = try rows.next() } catch let error as DatabaseError where Self.isDamage(error) { return false }
            guard let row else { return true }
            try take(row)
        }
    }

    private static func isDamage(_ error: DatabaseError) -> Bool {
        [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_TOOBIG, .SQLITE_IOERR].contains(error.resultCode)
    }

    /// Leaves exactly one row in the `vault` table of the copy: this vault's own row, even if only its settings
    /// identify it, or else a catalog's row.
    private func settleVault(_ db: Database) throws {
        let rows = try Row.fetchAll(db, sql: "SELECT \(VaultRow.columns) FROM main.vault LIMIT 8").map(VaultRow.init)
        let own = try rows.first { $0.id == keyring.vaultID } ?? rows.first { try $0.openSettings(keyring) != nil }
        let row = try own ?? catalogs.reading { _, catalog in try VaultRow.require(keyring, catalog) }
        try db.execute(sql: "DELETE FROM main.vault")
        try VaultRow.insert(
            keyring.vaultID, revision: row.keyringRevision ?? keyring.revision,
            locator: row.locator ?? keyring.newestLocator,
            settings: row.settings ?? [], db)
    }
}
