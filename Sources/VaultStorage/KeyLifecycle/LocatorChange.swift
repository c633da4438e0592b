import Foundation
import GRDB
import VaultCrypto
package import VaultModel

/// A change of the locator, from which every resource id is derived.
package struct LocatorChange {
    private let store: VaultStore

    package init(_ store: VaultStore) { self.store = store }

    /// Gives the vault a new locator, and derives every resource id from it. Finishes an earlier change that was
    /// interrupted.
    ///
    /// The keyring gets the new locator before the index uses it, and drops the old one once nothing in the index
    /// depends on it any more. No caller may hold a ``StoredResource`` during the change.
    ///
    /// - Parameters:
    ///   - queued: returns the resource that an entry of the download queue names, whose title may get a new id.
    ///   - principals: returns the principals whose names change with the locator, each with its new name.
    /// - Returns: the number of resources that do not open and therefore keep their ids.
    package func run(
        noting log: AuditLog, queued: (DownloadOrder, _ locator: Int) -> ResourceID?,
        principals: (_ old: Int, _ new: Int) throws -> [[UInt8]: [UInt8]]
    ) throws -> Int {
        var unopened = 0
        // A resource that only the backup still opens would keep an id under which nothing finds it.
        _ = try CatalogRestore(store).run()
        if store.keyring.locators == [store.index.locator] {
            _ = try log.place.changeKeyring(of: store) { try $0.addLocator() }
        }
        let (old, new) = (store.index.locator, store.keyring.newestLocator)
        if new != old {
            let renamed = try principals(old, new)
            unopened = try store.mutate { _ in
                try rename(
                    under: new, cacheKey: { Self.renamed($0, renamed) }, queued: queued,
                    changing: { $0.rename(principals: renamed) })
            }
        }
        try store.erasure.erase(after: "every resource has a new id, but old ids")
        let hasPrincipals = try !store.index.settings().principals.isEmpty
        try log.change(.changeLocator, outcome: unopened == 0 ? .done : .partly) { edit in
            edit.dropLocators(except: new)
            // An old playback link with a principal would now name a resource that was never stored, so all links are
            // revoked.
            if hasPrincipals { edit.document.tokenEpoch += 1 }
        }
        return unopened
    }

    /// Returns a cache key with its principal renamed. The principal follows the first zero byte.
    private static func renamed(_ cacheKey: [UInt8], _ principals: [[UInt8]: [UInt8]]) -> [UInt8] {
        guard let end = cacheKey.firstIndex(of: 0),
            let principal = principals[Array(cacheKey[(end + 1)...])]
        else { return cacheKey }
        return cacheKey[...end] + principal
    }

    // MARK: Rows

    /// Derives every resource id from another locator, and reseals the data that is bound to the ids, in one
    /// transaction.
    ///
    /// - Parameters:
    ///   - locator: the new locator, which is already durable in the keyring.
    ///   - cacheKey: returns the new form of a cache key, whose hash becomes the resource's id.
    ///   - queued: returns the resource that an entry of the download queue names, under a given locator.
    ///   - change: makes further changes to the settings.
    /// - Returns: the number of resources that do not open and therefore keep their ids.
    /// - Throws: ``VaultError`` with code `integrity` if the settings do not open.
    func rename(
        under locator: Int, cacheKey: ([UInt8]) -> [UInt8], queued: (DownloadOrder, _ locator: Int) -> ResourceID?,
        changing change: (inout VaultSettings) -> Void
    ) throws -> Int {
        // Records that are sealed under the index key of the old locator would be lost along with that locator.
        try store.index.records.sealFormer()
        let unopened = try store.index.write { db in
            var unopened = 0
            var names: [ResourceID: ResourceID] = [:]
            // All ids are read at once, because renamed resources would come up again if they were read page by page.
            let stored = try Data.fetchAll(db, sql: "SELECT id FROM resource").compactMap({ ResourceID($0) })
            for id in stored {
                names[id] = try rename(id, under: locator, cacheKey, db)
                if names[id] == nil { unopened += 1 }
            }
            var (settings, old) = try store.index.openedSettings(db, withNetwork: true)
            change(&settings)
            settings.resealOrder = settings.resealOrder?.renamed(names)
            let (keys, former) = (
                try store.index.recordKeys(db), Dictionary(names.map { ($1.bytes, $0.bytes) }) { first, _ in first }
            )
            let titles = try DownloadRows.rename(
                from: old, to: locator, stored: Set(stored), resource: queued, keys, db)
            try SubscriptionRows.rename(titles, keys, db)
            for table in SealedTable.all { try table.rename(former, keys, db) }
            try store.index.write(settings, locator: locator, db)
            try PendingErasure.record(db)
            return unopened
        }
        store.index.use(locator: locator)
        return unopened
    }

    /// Gives a resource the id that is derived from another locator.
    ///
    /// - Returns: the new id; nil if the resource does not open.
    private func rename(
        _ id: ResourceID, under locator: Int, _ cacheKey: ([UInt8]) -> [UInt8], _ db: Database
    ) throws -> ResourceID? {
        guard var opened = try store.index.resources.opened(id, db) else { return nil }
        opened.metadata.rename(cacheKey)
        // People and scripts may have noted this id.
        opened.metadata.keptID = opened.metadata.keptID ?? TitleID(of: id)
        let newID = try name(of: opened.metadata, under: locator)
        let metadataKey = opened.metadataKey
        let metadata = try ResourceRow.seal(opened.metadata, of: newID, under: metadataKey.secret)
        // The foreign keys of the schema update the rows that name the resource.
        try db.execute(
            sql: "UPDATE resource SET id = ?, metadata = ? WHERE id = ?",
            arguments: [newID.data, metadata.data, id.data])
        if newID != id { try ErasedRow.insert(ErasedRow.resource, id.data, db) }
        for (old, key) in opened.keys.values {
            let new = try ResourceKeyRow(
                wrapping: key.secret, of: newID, number: old.number, generation: old.generation, store.keyring)
            guard let new else { throw IndexError.damaged }
            try new.replace(old, db)
        }
        _ = try ResealRows(store.index).resealInfos(
            of: id, under: metadataKey.secret, as: newID, under: metadataKey.secret, db)
        try CoverRow.reseal(
            opened.metadata.cover, of: id, under: metadataKey.secret, as: newID, under: metadataKey.secret, db)
        try store.index.packs.reseal(
            of: id, under: metadataKey.secret, as: newID, under: metadataKey.secret,
            renamed: { part in
                var metadata = part.metadata
                metadata.rename(cacheKey)
                let id = try name(of: metadata, under: locator)
                return PackedPart(id, metadata, part.info, at: part.range.lowerBound) ?? part
            }, db)
        return newID
    }

    private func name(of metadata: ResourceMetadata, under locator: Int) throws -> ResourceID {
        guard let id = store.keyring.resourceID(cacheKey: metadata.cacheKey, locator: locator) else {
            throw VaultError(
                .foreignKeyring, "the keyring lacks the key that names this vault's resources; use the newer keyring")
        }
        return id
    }
}
