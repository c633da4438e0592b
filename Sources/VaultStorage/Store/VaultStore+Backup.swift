import GRDB
import VaultCrypto

extension VaultStore {
    /// Brings back what the index does not open and `catalog.backup` does.
    ///
    /// A backup that does not open has nothing to bring back.
    package func restoreFromBackup() throws -> Restored {
        guard isOwner, keyring.hasRecordKeys else { return Restored() }
        let restored = try withDiskSpace(orReserve: true) { [folder] in
            try index.database.catchUp()
            return try index.database.withoutTransaction { db in
                try CatalogMerge.run(
                    fromBackupIn: folder, into: db, erased: "SELECT record, id FROM main.erased", index)
            }
        }
        if restored.total > 0 { noteChange(restored.total) }
        return restored
    }
}
