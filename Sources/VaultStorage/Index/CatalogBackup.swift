import Foundation
import GRDB
import VaultModel

/// `catalog.backup`: the rows of the index without which no segment could be opened again.
package enum CatalogBackup {
    /// Writes the backup anew beside the index: temporary name, synced, renamed, folder synced.
    package static func write(_ index: VaultIndex, vault folder: String, fileSystem: any FileSystem) throws {
        let path = folder + "/catalog.backup"
        let temporary = path + ".new"
        do {
            try fileSystem.remove(temporary)
            // Made here so that its mode is ours: SQLite would leave it to the umask.
            _ = try fileSystem.create(temporary)
            try copyRows(index, to: temporary)
            try fileSystem.open(temporary, writable: true).synchronize()
            try fileSystem.rename(temporary, to: path)
            try fileSystem.synchronizeDirectory(folder)
        } catch {
            // Half a backup would only take room.
            try? fileSystem.remove(temporary)
            guard let failure = error as? FileFailure else { throw error }
            throw failure.vaultError("the catalog backup cannot be written")
        }
    }

    private static func copyRows(_ index: VaultIndex, to path: String) throws {
        try index.checkOpen()
        try IndexError.translating {
            try index.database.writeWithoutTransaction { db in
                try db.execute(sql: "ATTACH DATABASE ? AS backup", arguments: [path])
                // A row that says what cannot be keeps no other out of the backup.
                try db.execute(sql: "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF")
                defer {
                    try? db.execute(
                        sql: """
                            PRAGMA ignore_check_constraints = OFF; PRAGMA foreign_keys = ON; DETACH DATABASE backup
                            """)
                }
                // It is synced as a whole when it is whole, and thrown away when it is not.
                try db.execute(
                    sql: """
                        PRAGMA backup.journal_mode = MEMORY;
                        PRAGMA backup.synchronous = OFF;
                        PRAGMA backup.application_id = \(IndexSchema.applicationID);
                        PRAGMA backup.user_version = \(IndexSchema.version);
                        """)
                try db.inTransaction {
                    for statement in IndexSchema.catalog { try db.execute(sql: inBackup(statement)) }
                    for table in IndexSchema.catalogTables {
                        try db.execute(sql: "INSERT INTO backup.\(table) SELECT * FROM main.\(table)")
                    }
                    return .commit
                }
            }
        }
    }

    /// The same statement for the attached database: the name after TABLE or INDEX is qualified.
    private static func inBackup(_ statement: String) -> String {
        for kind in ["CREATE TABLE ", "CREATE INDEX "] where statement.hasPrefix(kind) {
            return kind + "backup." + statement.dropFirst(kind.count)
        }
        return statement
    }
}
