import VaultCrypto
package import VaultModel

/// Restores the rows that open in `catalog.backup` but not in the index.
package struct CatalogRestore {
    private let store: VaultStore

    package init(_ store: VaultStore) { self.store = store }

    /// Restores the rows that open in `catalog.backup` but not in the index.
    ///
    /// A backup that does not open restores nothing.
    ///
    /// - Throws: ``VaultError`` with code `storage` if a backup cannot be read at present.
    package func run() throws -> Restored {
        guard store.isOwner, store.keyring.hasRecordKeys else { return Restored() }
        let restored = try store.withDiskSpace(orReserve: true) {
            try store.index.database.catchUp()
            try GenerationRows(store.index).restoreRetiring()
            let corrected = try store.index.resources.correctPlainColumns()
            var restored = try store.index.database.withoutTransaction { db in
                try CatalogMerge.run(
                    fromBackupIn: store.folder, into: db, erased: "SELECT record, id FROM main.erased", store.index)
            }
            restored.rows += corrected
            return restored
        }
        if restored.resources > 0 {
            // Titles and their parts are linked by rows that no backup has, so these rows are created again.
            try store.withDiskSpace(orReserve: true) { try store.index.titles.linkParts() }
            try store.index.completeness.recount(doubting: true)
        }
        if restored.total > 0 {
            store.noteChange(restored.total)
            store.onRestore.value()
            store.changes.noteAll()
        }
        return restored
    }

    /// Returns whether a resource that could not be read still opens in the index or in `catalog.backup`, so that a
    /// repair restores it.
    ///
    /// - Throws: ``VaultError`` with code `storage` if one of them cannot be read at present.
    package func canRestore(_ id: ResourceID) throws -> Bool {
        if try store.index.read({ try store.index.resources.opens(id, $0) }) { return true }
        let files = CatalogFiles(in: store.folder)
        return try files.all.contains { path in
            try files.reading(only: path) { try store.index.resources.opens(id, $0) } ?? false
        }
    }
}
