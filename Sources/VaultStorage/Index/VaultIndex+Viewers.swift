import GRDB
import VaultCrypto
package import VaultModel

/// The viewers of a vault, what is shared with them, and how far they have played, as the index has it.
package struct StoredViewers: Sendable {
    package var viewers: [Viewer] = []
    /// With whom titles are shared, by the resource of each title.
    package var shares: [ResourceID: TitleShare] = [:]
    /// The positions of each viewer; of the owner under nil.
    package var positions: [ViewerID?: PlaybackPositions] = [:]
    /// The number of rows that do not open: they admit and share nothing.
    package var unreadable = 0

    /// Nothing.
    package init() {}
}

extension VaultIndex {
    /// Returns the viewers and all that belongs to them; none that open if the keyring lacks the key of the locator.
    package func viewers() throws -> StoredViewers {
        try read { db in
            var stored = StoredViewers()
            guard let locator = try VaultRow.fetch(db)?.locator, let key = try keyring.indexKey(locator: locator) else {
                return stored
            }
            let owner = keyring.vaultID.bytes
            var unreadable = try SealedTable.viewers.open(under: key.secret, db) { id, record in
                guard let viewer = ViewerID(bytes: id).flatMap({ Viewer(id: $0, record) }) else { return false }
                stored.viewers.append(viewer)
                return true
            }
            unreadable += try SealedTable.shares.open(under: key.secret, db) { id, record in
                guard let id = ResourceID(bytes: id), let share = TitleShare(record) else { return false }
                stored.shares[id] = share
                return true
            }
            unreadable += try SealedTable.positions.open(under: key.secret, db) { id, record in
                guard let positions = PlaybackPositions(record) else { return false }
                stored.positions[id == owner ? nil : ViewerID(bytes: id)] = positions
                return true
            }
            stored.unreadable = unreadable
            return stored
        }
    }

    private func changeViewers(_ body: (SharedKey, Database) throws -> Void) throws {
        try write { db in
            guard let locator = try VaultRow.fetch(db)?.locator, let key = try keyring.indexKey(locator: locator) else {
                throw VaultError(
                    .foreignKeyring, "the keyring lacks the key of this vault's viewers; use the newer keyring")
            }
            try body(key, db)
        }
    }

    func write(_ viewer: Viewer) throws {
        try changeViewers { key, db in
            try SealedTable.viewers.write(viewer.record, of: viewer.id.bytes, under: key.secret, db)
        }
    }

    /// Deletes a viewer and their positions, and changes the shares that they had, in one transaction.
    func remove(_ viewer: ViewerID, changing shares: [ResourceID: TitleShare]) throws {
        try changeViewers { key, db in
            try SealedTable.viewers.delete([viewer.bytes], db)
            try SealedTable.positions.delete([viewer.bytes], db)
            try write(shares, key, db)
        }
    }

    func write(_ shares: [ResourceID: TitleShare]) throws {
        try changeViewers { key, db in try write(shares, key, db) }
    }

    /// Writes shares of titles that the vault still has; one without viewers is deleted.
    private func write(_ shares: [ResourceID: TitleShare], _ key: SharedKey, _ db: Database) throws {
        try SealedTable.shares.delete(shares.filter(\.value.viewers.isEmpty).map(\.key.bytes), db)
        for (id, share) in shares where !share.viewers.isEmpty {
            guard try ResourceRow.exists(id, db) else { continue }
            try SealedTable.shares.write(share.record, of: id.bytes, under: key.secret, db)
        }
    }

    func write(_ positions: [ViewerID?: PlaybackPositions]) throws {
        try changeViewers { key, db in
            for (viewer, positions) in positions {
                let id = viewer?.bytes ?? keyring.vaultID.bytes
                if positions.isEmpty {
                    try SealedTable.positions.delete([id], db)
                } else {
                    try SealedTable.positions.write(positions.record, of: id, under: key.secret, db)
                }
            }
        }
    }

    /// Seals the records under the key of another locator, in the transaction that makes it the vault's.
    ///
    /// - Parameter names: the new ids of resources; the schema has given them to the rows already.
    func resealViewers(from old: Int, to new: Int, names: [ResourceID: ResourceID], _ db: Database) throws {
        guard let old = try keyring.indexKey(locator: old), let new = try keyring.indexKey(locator: new) else { return }
        let former = Dictionary(names.map { ($1.bytes, $0.bytes) }) { first, _ in first }
        for table in SealedTable.all { try table.reseal(from: old.secret, to: new.secret, former: former, db) }
    }

    /// Returns those resources that the vault does not have any more.
    package func missing(among ids: Set<ResourceID>) throws -> [ResourceID] {
        try read { db in try ids.filter { try !ResourceRow.exists($0, db) } }
    }

    /// Reads the rows of resources, in the order of their ids; those that the vault does not have are left out.
    package func sealedResources(_ ids: some Sequence<ResourceID>) throws -> [SealedResource] {
        try read { db in
            let sorted = ids.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
            return try SealedResource.fetch(sorted.compactMap { try ResourceRow.fetch($0, db) }, db)
        }
    }
}
