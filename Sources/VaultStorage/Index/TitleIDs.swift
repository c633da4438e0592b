import Foundation
import GRDB
package import VaultModel

/// The resources that keep a title id in their sealed metadata.
///
/// The ids are collected only in memory. On disk they would be readable, and each is the keyed hash of a URL under a
/// locator that may have leaked. Only a change of the locator adds ids, so they are read once for each locator.
struct KeptIDs: Sendable {
    /// The number of the locator that the vault had when the ids were read.
    let locator: Int
    let resources: [TitleID: [ResourceID]]
}

/// The short ids of the titles, by which people name them.
package struct TitleIDs {
    private let index: VaultIndex

    init(_ index: VaultIndex) { self.index = index }

    /// The number of a new vault's locator, under which every title's id is the beginning of its resource id.
    private static let firstLocator = 1

    /// Returns the resources with a title id. There is at most one, unless ids coincide, which is rare, or rows were
    /// forged.
    ///
    /// Parts of titles are returned only if nothing else has the id. Rows that do not open are left out.
    package func resources(_ id: TitleID) throws -> [StoredResource] { try resources([id])[id] ?? [] }

    /// Returns the resources with each of several title ids, as ``resources(_:)-(TitleID)`` does. Their rows are read
    /// together.
    package func resources(_ ids: Set<TitleID>) throws -> [TitleID: [StoredResource]] {
        let kept = try keptIDs(index.locator)
        let sealed = try index.read { db in
            try ids.map { id in
                let candidates = try Set(Self.candidates(id, db) + kept[id, default: []])
                return (id, try candidates.compactMap { try Self.sealedResource($0, db) })
            }
        }
        return try Dictionary(uniqueKeysWithValues: sealed.map { id, rows in (id, try titles(in: rows, with: id)) })
    }

    private func titles(in rows: [SealedResource], with id: TitleID) throws -> [StoredResource] {
        let found = try rows.compactMap { try index.resources.openIfSound($0) }.filter { $0.titleID == id }
        let titles = found.filter { $0.metadata.title != nil || $0.metadata.partOf.isEmpty }
        return titles.isEmpty ? found : titles
    }

    /// Returns the title id of a resource, even if the resource no longer exists.
    package func id(of resource: ResourceID) throws -> TitleID {
        try keptIDs(index.locator).first { $0.value.contains(resource) }?.key ?? TitleID(of: resource)
    }

    /// Returns the resources whose resource id begins with a title id.
    private static func candidates(_ id: TitleID, _ db: Database) throws -> [ResourceID] {
        let (first, end) = id.resources
        let statement = try db.cachedStatement(
            sql: "SELECT id FROM resource WHERE id >= ?1 AND (id < ?2 OR ?2 IS NULL)")
        return try Data.fetchAll(statement, arguments: [first.data, end?.data]).compactMap { ResourceID($0) }
    }

    private static func sealedResource(_ id: ResourceID, _ db: Database) throws -> SealedResource? {
        try ResourceRow.fetch(id, db).flatMap { try SealedResource.fetch([$0], db).first }
    }

    /// Returns the resources that keep a title id. The first call for a locator opens all resources.
    private func keptIDs(_ locator: Int) throws -> [TitleID: [ResourceID]] {
        guard locator > Self.firstLocator else { return [:] }
        if let known = index.kept.withLock({ $0 }), known.locator == locator { return known.resources }
        var resources: [TitleID: [ResourceID]] = [:]
        try index.resources.forEachPage { db, before, last in
            let rows = try Row.fetchAll(
                db, sql: "SELECT \(ResourceRow.columns) FROM resource WHERE id > ? AND id <= ?",
                arguments: [before, last])
            for row in rows {
                guard let row = try ResourceRow(row), let opened = try? OpenedResource(row, index.keyring, db),
                    let id = opened.metadata.keptID
                else { continue }
                resources[id, default: []].append(row.id)
            }
        }
        index.kept.withLock { [resources] in $0 = KeptIDs(locator: locator, resources: resources) }
        return resources
    }
}
