import GRDB
import VaultModel

/// `catalog.backup`: the rows of the index without which no segment could be opened again.
package enum CatalogBackup {
    /// Writes a new backup beside the index.
    ///
    /// It is written under a temporary name, synced and renamed; then the folder is synced.
    package static func write(_ index: VaultIndex, vault folder: String, fileSystem: any FileSystem) throws {
        let path = folder + "/catalog.backup"
        let temporary = path + ".new"
        do {
            try fileSystem.remove(temporary)
            // Created here with the vault's mode: SQLite would leave the mode to the umask.
            _ = try fileSystem.create(temporary)
            try copyRows(index, to: temporary)
            try fileSystem.open(temporary, writable: true).synchronize()
            try fileSystem.rename(temporary, to: path)
            try fileSystem.synchronizeDirectory(folder)
        } catch {
            // An incomplete backup would only take space.
            try? fileSystem.remove(temporary)
            guard let failure = error as? FileFailure else { throw error }
            throw failure.vaultError("the catalog backup cannot be written")
        }
    }

    /// Copies the rows as they are at one moment.
    ///
    /// The copy has a connection of its own, so that no reader or writer of the index waits for it.
    private static func copyRows(_ index: VaultIndex, to path: String) throws {
        try index.database.checkOpen()
        try IndexError.translating {
            var configuration = IndexDatabase.configuration(readOnly: false)
            // The references were checked when the rows were written.
            configuration.foreignKeysEnabled = false
            let backup = try DatabaseQueue(path: path, configuration: configuration)
            defer { try? backup.close() }
            try backup.writeWithoutTransaction { db in
                // A row with an impossible value must not keep other rows out of the backup.
                try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
                // The file is synced once it is complete, and discarded otherwise.
                try db.execute(
                    sql: """
                        PRAGMA journal_mode = MEMORY;
                        PRAGMA synchronous = OFF;
                        PRAGMA application_id = \(IndexSchema.applicationID);
                        PRAGMA user_version = \(IndexSchema.version);
                        """)
                try db.execute(sql: "ATTACH DATABASE ? AS vaultIndex", arguments: [index.database.path])
                // Any other kind of transaction would block writes to the index until this one ends.
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
