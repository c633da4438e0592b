import GRDB
import VaultCrypto
package import VaultModel

/// A vault's viewers, the titles shared with them, and their playback positions, according to the index.
package struct StoredViewers: Sendable {
    package var viewers: [Viewer] = []
    /// The viewers with whom each title is shared, by the title's resource id.
    package var shares: [ResourceID: TitleShare] = [:]
    /// The positions of each viewer. The owner's positions are under nil.
    package var positions: [ViewerID?: PlaybackPositions] = [:]
    /// The number of rows that do not open, and that therefore neither admit a viewer nor share a title.
    package var unreadable = 0

    /// Creates an empty value.
    package init() {}
}

/// The rows of the viewers, of the titles shared with them, and of their playback positions.
package struct ViewerRows {
    let store: VaultStore

    /// Returns the viewers and everything that belongs to them. The result is empty if the keyring has no record keys.
    package func all() throws -> StoredViewers {
        try store.index.read { db in
            var stored = StoredViewers()
            guard store.keyring.hasRecordKeys else { return stored }
            let (keys, owner) = (try store.index.recordKeys(db), store.keyring.vaultID.bytes)
            (stored.viewers, stored.unreadable) = try SealedTable.viewers.records(keys, db) { id, record in
                ViewerID(bytes: id).flatMap { Viewer(id: $0, record) }
            }
            stored.unreadable += try SealedTable.shares.open(keys, db) { id, record in
                guard let id = ResourceID(bytes: id), let share = TitleShare(record) else { return false }
                stored.shares[id] = share
                return true
            }
            stored.unreadable += try SealedTable.positions.open(keys, db) { id, record in
                guard let positions = PlaybackPositions(record) else { return false }
                stored.positions[id == owner ? nil : ViewerID(bytes: id)] = positions
                return true
            }
            return stored
        }
    }

    /// Writes a viewer durably. If the previous record admitted more, for example by a PIN that has been removed, it is
    /// erased.
    package func write(_ viewer: Viewer) throws {
        let admittedMore = try store.mutate { index, db in
            let keys = try index.recordKeys(db)
            var admittedMore = false
            if case .members(let members) = try SealedTable.viewers.content(of: viewer.id.bytes, keys, db) {
                admittedMore = Viewer(id: viewer.id, members)?.admitsMore(than: viewer) ?? false
            }
            if admittedMore { try ErasedRow.insert(SealedTable.viewers.name, viewer.id.data, db) }
            try SealedTable.viewers.write(viewer.record, of: viewer.id.bytes, keys, db)
            return admittedMore
        }
        if admittedMore { store.erasure.carryOutIfDue() }
    }

    /// Deletes a viewer and the viewer's positions durably, and writes changed shares in the same transaction.
    ///
    /// - Parameter shares: the shares that included the viewer, without the viewer.
    package func remove(_ viewer: ViewerID, changing shares: [ResourceID: TitleShare]) throws {
        try store.mutate(count: 1 + shares.count, isVital: true) { index, db in
            try SealedTable.viewers.delete([viewer.bytes], db)
            try SealedTable.positions.delete([viewer.bytes], db)
            try Self.write(shares, index.recordKeys(db), db)
        }
        store.erasure.carryOutIfDue()
    }

    /// Durably records the viewers with whom titles are shared. Titles that the vault does not have are left out.
    package func write(_ shares: [ResourceID: TitleShare]) throws {
        guard !shares.isEmpty else { return }
        // This is vital, because a full disk must not let a viewer see a title that is no longer shared with them.
        try store.mutate(count: shares.count, isVital: true) { index, db in
            try Self.write(shares, index.recordKeys(db), db)
        }
        store.changes.note(shares.keys)
    }

    /// Writes the shares of titles that the vault still has. A share without viewers is deleted.
    private static func write(_ shares: [ResourceID: TitleShare], _ keys: RecordKeys, _ db: Database) throws {
        try SealedTable.shares.delete(shares.filter(\.value.viewers.isEmpty).map(\.key.bytes), db)
        for (id, share) in shares where !share.viewers.isEmpty {
            guard try ResourceRow.exists(id, db) else { continue }
            // Until the next backup is written, the present one has a share with more viewers, which must not be
            // restored.
            if case .members(let members) = try SealedTable.shares.content(of: id.bytes, keys, db),
                let former = TitleShare(members), !former.viewers.isSubset(of: share.viewers)
            {
                try ErasedRow.insert(SealedTable.shares.name, id.data, db)
            }
            try SealedTable.shares.write(share.record, of: id.bytes, keys, db)
        }
    }

    /// Writes the positions of viewers. The owner's positions are under nil.
    package func write(_ positions: [ViewerID?: PlaybackPositions]) throws {
        guard store.isOwner, !positions.isEmpty else { return }
        // If the disk is full, this write fails, because it is not worth the eviction of a title.
        try store.index.write { db in
            let keys = try store.index.recordKeys(db)
            for (viewer, positions) in positions {
                let id = viewer?.bytes ?? store.keyring.vaultID.bytes
                if positions.isEmpty {
                    try SealedTable.positions.delete([id], db)
                } else {
                    try SealedTable.positions.write(positions.record, of: id, keys, db)
                }
            }
        }
        store.noteChange()
    }

    /// Returns those of the given resources for which the index has no share.
    package func unshared(among ids: Set<ResourceID>) throws -> Set<ResourceID> {
        try store.index.read { db in
            guard try SealedTable.shares.exists(db) else { return ids }
            let statement = try db.cachedStatement(sql: "SELECT 1 FROM share WHERE id = ?")
            return try ids.filter { try Bool.fetchOne(statement, arguments: [$0.data]) == nil }
        }
    }
}
