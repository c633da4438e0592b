import GRDB
import VaultCrypto
package import VaultModel

/// The viewers of a vault, what is shared with them, and how far they have played, according to the index.
package struct StoredViewers: Sendable {
    package var viewers: [Viewer] = []
    /// The viewers with whom titles are shared, by the resource of each title.
    package var shares: [ResourceID: TitleShare] = [:]
    /// The positions of each viewer; the owner's are under nil.
    package var positions: [ViewerID?: PlaybackPositions] = [:]
    /// The number of rows that do not open, and so admit and share nothing.
    package var unreadable = 0

    /// Creates an empty value.
    package init() {}
}

extension VaultIndex {
    /// Returns the viewers and everything that belongs to them; none if the keyring has no key for records.
    package func viewers() throws -> StoredViewers {
        try read { db in
            var stored = StoredViewers()
            guard keyring.hasRecordKeys else { return stored }
            let (keys, owner) = (try recordKeys(db), keyring.vaultID.bytes)
            stored.unreadable += try SealedTable.viewers.open(keys, db) { id, record in
                guard let viewer = ViewerID(bytes: id).flatMap({ Viewer(id: $0, record) }) else { return false }
                stored.viewers.append(viewer)
                return true
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

    /// Writes a viewer.
    ///
    /// - Returns: whether the previous record admitted or shared more, so that it must not be restored.
    func write(_ viewer: Viewer) throws -> Bool {
        try write { db in
            let keys = try recordKeys(db)
            var admittedMore = false
            if case .members(let members) = try SealedTable.viewers.content(of: viewer.id.bytes, keys, db) {
                admittedMore = Viewer(id: viewer.id, members)?.admitsMore(than: viewer) ?? false
            }
            if admittedMore { try ErasedRow.insert(SealedTable.viewers.name, viewer.id.data, db) }
            try SealedTable.viewers.write(viewer.record, of: viewer.id.bytes, keys, db)
            return admittedMore
        }
    }

    /// Deletes a viewer and their positions, and changes the shares that they had, in one transaction.
    func remove(_ viewer: ViewerID, changing shares: [ResourceID: TitleShare]) throws {
        try write { db in
            try SealedTable.viewers.delete([viewer.bytes], db)
            try SealedTable.positions.delete([viewer.bytes], db)
            try write(shares, db)
        }
    }

    func write(_ shares: [ResourceID: TitleShare]) throws {
        try write { db in try write(shares, db) }
    }

    /// Writes shares of titles that the vault still has; one without viewers is deleted.
    private func write(_ shares: [ResourceID: TitleShare], _ db: Database) throws {
        let keys = try recordKeys(db)
        try SealedTable.shares.delete(shares.filter(\.value.viewers.isEmpty).map(\.key.bytes), db)
        for (id, share) in shares where !share.viewers.isEmpty {
            guard try ResourceRow.exists(id, db) else { continue }
            // Until the next backup, the present one has the title shared with more viewers, which must not be
            // restored.
            if case .members(let members) = try SealedTable.shares.content(of: id.bytes, keys, db),
                let former = TitleShare(members), !former.viewers.isSubset(of: share.viewers)
            {
                try ErasedRow.insert(SealedTable.shares.name, id.data, db)
            }
            try SealedTable.shares.write(share.record, of: id.bytes, keys, db)
        }
    }

    func write(_ positions: [ViewerID?: PlaybackPositions]) throws {
        try write { db in
            let keys = try recordKeys(db)
            for (viewer, positions) in positions {
                let id = viewer?.bytes ?? keyring.vaultID.bytes
                if positions.isEmpty {
                    try SealedTable.positions.delete([id], db)
                } else {
                    try SealedTable.positions.write(positions.record, of: id, keys, db)
                }
            }
        }
    }

    /// Returns the resources that the vault no longer has.
    package func missing(among ids: Set<ResourceID>) throws -> [ResourceID] {
        try read { db in try ids.filter { try !ResourceRow.exists($0, db) } }
    }

    /// Reads the rows of resources, in the order of their ids; resources that the vault does not have are left out.
    package func sealedResources(_ ids: some Sequence<ResourceID>) throws -> [SealedResource] {
        try read { db in
            let sorted = ids.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
            return try SealedResource.fetch(sorted.compactMap { try ResourceRow.fetch($0, db) }, db)
        }
    }
}
