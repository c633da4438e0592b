import GRDB
import VaultCrypto
package import VaultModel

/// The grants that a vault's index records.
package struct StoredGrants: Sendable {
    package var grants: [AccessGrant] = []
    /// The number of rows that do not open and therefore grant nothing.
    package var unreadable = 0

    /// Creates a value without grants.
    package init() {}
}

/// The rows of the tokens, sessions and named links that the vault has issued.
package struct GrantRows {
    let store: VaultStore

    /// Returns the grants. The result is empty if the keyring has no record keys.
    package func all() throws -> StoredGrants {
        try store.index.read { db in
            var stored = StoredGrants()
            guard store.keyring.hasRecordKeys else { return stored }
            (stored.grants, stored.unreadable) = try SealedTable.grants.records(store.index.recordKeys(db), db) {
                id, members in GrantID(bytes: id).flatMap { AccessGrant(id: $0, members) }
            }
            return stored
        }
    }

    /// Adds a grant durably. A session may use the reserve of a full disk, because whoever frees space signs in first.
    ///
    /// - Parameter others: the grants to remove in the same transaction.
    package func add(_ grant: AccessGrant, removing others: [GrantID]) throws {
        try store.mutate(isVital: grant.kind.family == .sessions) { index, db in
            try SealedTable.grants.delete(others.map(\.bytes), db)
            try SealedTable.grants.write(grant.record, of: grant.id.bytes, index.recordKeys(db), db)
        }
    }

    /// Removes grants from the index durably. Their records are erased from the index's log and from `catalog.backup`
    /// within a minute.
    ///
    /// - Parameter withUnreadable: whether to remove the rows that do not open, too.
    package func remove(_ ids: [GrantID], withUnreadable: Bool = false) throws {
        guard !ids.isEmpty || withUnreadable else { return }
        try store.mutate(isVital: true) { index, db in
            try SealedTable.grants.delete(ids.map(\.bytes), db)
            guard withUnreadable, index.keyring.hasRecordKeys else { return }
            try SealedTable.grants.deleteUnreadable(index.recordKeys(db), db)
            try ErasedRow.insert(SealedTable.grants.name, ErasedRow.all, db)
        }
    }

    /// Records when grants were last used. Grants that no longer have a row are left out.
    package func note(_ uses: [GrantID: Int64]) throws {
        guard store.isOwner, !uses.isEmpty else { return }
        // If the disk is full, this write fails, because it is not worth the eviction of a title.
        try store.index.write { db in
            let keys = try store.index.recordKeys(db)
            for (id, used) in uses {
                guard case .members(var members) = try SealedTable.grants.content(of: id.bytes, keys, db) else {
                    continue
                }
                members["used"] = .integer(used)
                try SealedTable.grants.replace(
                    SealedTable.grants.seal(members, of: id.bytes, keys), of: id.bytes, db)
            }
        }
        store.noteChange()
    }
}
