import GRDB
import VaultCrypto
package import VaultModel

/// The grants of a vault, as its index has them.
package struct StoredGrants: Sendable {
    package var grants: [AccessGrant] = []
    /// The number of rows that do not open, and so grant nothing.
    package var unreadable = 0

    /// Maximum grants of a vault.
    package static let maxCount = 10_000

    /// Creates a value without grants.
    package init() {}
}

extension VaultIndex {
    /// Returns the grants; none if the keyring has no key for records.
    func grants() throws -> StoredGrants {
        try read { db in
            var stored = StoredGrants()
            guard keyring.hasRecordKeys else { return stored }
            stored.unreadable = try SealedTable.grants.open(recordKeys(db), db) { id, members in
                guard let grant = GrantID(bytes: id).flatMap({ AccessGrant(id: $0, members) }) else { return false }
                stored.grants.append(grant)
                return true
            }
            return stored
        }
    }

    func add(_ grant: AccessGrant, removing others: [GrantID]) throws {
        try write { db in
            try SealedTable.grants.delete(others.map(\.bytes), db)
            try SealedTable.grants.write(grant.record, of: grant.id.bytes, recordKeys(db), db)
        }
    }

    func removeGrants(_ ids: [GrantID], withUnreadable: Bool) throws {
        try write { db in
            try SealedTable.grants.delete(ids.map(\.bytes), db)
            guard withUnreadable, keyring.hasRecordKeys else { return }
            try SealedTable.grants.deleteUnreadable(recordKeys(db), db)
            try ErasedRow.insert(SealedTable.grants.name, ErasedRow.all, db)
        }
    }

    /// Records the last use of grants that still have a row.
    func note(_ uses: [GrantID: Int64]) throws {
        try write { db in
            let keys = try recordKeys(db)
            for (id, used) in uses {
                guard case .members(var members) = try SealedTable.grants.content(of: id.bytes, keys, db) else {
                    continue
                }
                members["used"] = .integer(used)
                try SealedTable.grants.replace(
                    SealedTable.grants.seal(members, of: id.bytes, keys), of: id.bytes, db)
            }
        }
    }
}
