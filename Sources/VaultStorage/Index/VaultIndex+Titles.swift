import GRDB
package import VaultModel

/// A resource that belongs to a title.
package struct TitlePart: Hashable, Sendable {
    package let id: ResourceID
    /// Whether it belongs to no other title, and is none itself.
    package let isOnlyHere: Bool
}

// Titles of many resources. A part names its titles in its sealed metadata, so that nothing readable tells which
// resources belong together; finding the parts of a title takes one pass through the index.
extension VaultIndex {
    /// Returns the parts of a title, without those whose rows do not open.
    ///
    /// - Parameter title: the cache key of its manifest.
    package func parts(of title: [UInt8]) throws -> [TitlePart] {
        var parts: [TitlePart] = []
        try forEachPage { db, before, last in
            let rows = try Row.fetchAll(
                db, sql: "SELECT * FROM resource WHERE id > ? AND id <= ? ORDER BY id", arguments: [before, last])
            for row in rows {
                guard let row = try ResourceRow(row), let metadata = try metadata(of: row, db),
                    metadata.partOf.contains(title)
                else { continue }
                let isOnlyHere = metadata.partOf == [title] && metadata.title == nil
                parts.append(TitlePart(id: row.id, isOnlyHere: isOnlyHere))
            }
        }
        return parts
    }

    private func metadata(of row: ResourceRow, _ db: Database) throws -> ResourceMetadata? {
        do {
            return try IndexError.translating { try OpenedResource(row, keyring, db).metadata }
        } catch let error as VaultError where error.code == .integrity {
            return nil
        }
    }

    /// Changes the class of several resources in one transaction.
    ///
    /// - Parameter only: changes nothing of a resource that has another class than this one.
    func setClass(_ resourceClass: ResourceClass, of ids: [ResourceID], only: ResourceClass? = nil) throws {
        try write { db in for id in ids { try setClass(resourceClass, of: id, only: only, db) } }
    }
}
