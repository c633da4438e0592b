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

    /// Copies the rows as they stand at one moment, on a connection of its own: nobody waits for it who reads or writes the
    /// index meanwhile.
    private static func copyRows(_ index: VaultIndex, to path: String) throws {
        try index.checkOpen()
        try IndexError.translating {
            var configuration = VaultIndex.configuration(readOnly: false)
            // What refers to what was checked when it was written.
            configuration.foreignKeysEnabled = false
            let backup = try DatabaseQueue(path: path, configuration: configuration)
            defer { try? backup.close() }
            try backup.writeWithoutTransaction { db in
                // A row that says what cannot be keeps no other out of the backup.
                try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
                // It is synced as a whole when it is whole, and thrown away when it is not.
                try db.execute(
                    sql: """
                        PRAGMA journal_mode = MEMORY;
                        PRAGMA synchronous = OFF;
                        PRAGMA application_id = \(IndexSchema.applicationID);
                        PRAGMA user_version = \(IndexSchema.version);
                        """)
                try db.execute(sql: "ATTACH DATABASE ? AS vaultIndex", arguments: [index.database.path])
                // Any other kind would keep the index from being written until this is over.
                try db.inTransaction(.deferred) {
                    for statement in IndexSchema.catalog { try db.execute(sql: statement) }
                    for table in IndexSchema.catalogTables {
                        try db.execute(sql: "INSERT INTO main.\(table) SELECT * FROM vaultIndex.\(table)")
                    }
                    return .commit
                }
                try db.execute(sql: "DETACH DATABASE vaultIndex")
            }
        }
    }
}
