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
            let candidates = try ids.flatMap { try Self.candidates($0, db) + kept[$0, default: []] }
            return try SealedResource.fetch(Set(candidates), db)
        }
        var found = Dictionary(uniqueKeysWithValues: ids.map { ($0, [StoredResource]()) })
        for row in sealed {
            if let resource = try index.resources.openIfSound(row), let id = resource.titleID {
                found[id]?.append(resource)
            }
        }
        return found.mapValues { found in
            let titles = found.filter { $0.metadata.title != nil || $0.metadata.partOf.isEmpty }
            return titles.isEmpty ? found : titles
        }
    }

    /// Returns the title id of a resource, even if the resource no longer exists.
    package func id(of resource: ResourceID) throws -> TitleID {
        try keptIDs(index.locator).first { $0.value.contains(resource) }?.key ?? TitleID(of: resource)
    }

    /// Returns the resources whose resource id begins with a title id.
    private static func candidates(_ id: TitleID, _ db: Database) throws -> [ResourceID] {
        let (first, last) = id.resources
        // Both bounds are values, because with any other condition SQLite reads all rows from the first one on.
        let statement = try db.cachedStatement(sql: "SELECT id FROM resource WHERE id BETWEEN ? AND ?")
        return try Data.fetchAll(statement, arguments: [first.data, last.data]).compactMap { ResourceID($0) }
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
