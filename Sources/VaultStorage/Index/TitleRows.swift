import Foundation
import GRDB
import VaultCrypto
package import VaultModel

/// The rows of the titles that consist of several resources, and of these resources.
package struct TitleRows {
    private let index: VaultIndex

    init(_ index: VaultIndex) { self.index = index }

    /// Returns a title's parts, in the order of their ids.
    package func parts(of title: ResourceID) throws -> [TitlePart] {
        try index.read { db in try PartRow.parts(of: title, db) }
    }

    /// Returns the titles that a person would name for a resource: the titles that it is a part of, directly or in a
    /// pack, and the resource itself if it is a title or a part of none.
    package func named(for id: ResourceID) throws -> [ResourceID] {
        try index.read { db in
            guard try PartRow.hasTable(db) else { return [id] }
            let places = try [id] + PackedPartRow.fetch(id, db).map(\.pack)
            let titles = Array(Set(try places.flatMap { try PartRow.titles(of: $0, db) }))
            return try titles.isEmpty || !PartRow.parts(of: id, db).isEmpty ? [id] + titles : titles
        }
    }

    /// Returns some resources along with the titles that they are a part of, directly or in a pack.
    package func withTitles(_ ids: Set<ResourceID>) throws -> Set<ResourceID> {
        try index.read { db in
            guard try PartRow.hasTable(db) else { return ids }
            return try ids.reduce(into: ids) { all, id in
                for place in try [id] + PackedPartRow.fetch(id, db).map(\.pack) {
                    all.formUnion(try PartRow.titles(of: place, db))
                }
            }
        }
    }

    /// Returns those cache keys whose titles the vault has.
    ///
    /// - Parameter part: a resource whose own cache key is left out, because a resource is not a part of itself.
    func known(_ titles: [[UInt8]], except part: ResourceID) throws -> [[UInt8]] {
        guard !titles.isEmpty else { return [] }
        return try index.read { db in
            try titles.filter { key in
                guard let title = resourceID(ofKey: key), title != part else { return false }
                return try ResourceRow.exists(title, db)
            }
        }
    }

    /// Returns the number of bytes of each title's parts that are held according to the index, in segments of their own
    /// or in packs.
    package func partBytes(of titles: [ResourceID]) throws -> [ResourceID: Int64] {
        guard !titles.isEmpty else { return [:] }
        return try index.read { db in
            guard try PartRow.hasTable(db) else { return [:] }
            let statement = try db.cachedStatement(
                sql: """
                    SELECT total(length) FROM part JOIN representation ON representation.resource = part.resource
                    JOIN segment ON segment.representation = representation.id
                    WHERE part.title = ? AND representation.state = 'serving' AND \(PlainColumn.isSegment)
                    """)
            return try titles.reduce(into: [:]) { bytes, title in
                let total = try Double.fetchOne(statement, arguments: [title.data]) ?? 0
                bytes[title] = Int64(exactly: total.rounded()) ?? 0
            }
        }
    }

    /// Returns the given resources along with the parts of those that are titles.
    package func withParts(_ ids: Set<ResourceID>) throws -> Set<ResourceID> {
        try index.read { db in
            try ids.reduce(into: ids) { all, id in all.formUnion(try PartRow.parts(of: id, db).map(\.id)) }
        }
    }

    /// Changes the class of a title's parts.
    ///
    /// Parts that also belong to another, pinned title stay pinned. Parts that were only played are left unchanged if
    /// the title was fetched.
    ///
    /// - Parameter only: the class that a part must have to be changed; nil for any class.
    /// - Returns: the parts whose class has changed.
    func setClass(
        _ resourceClass: ResourceClass, ofPartsOf title: ResourceID, only: ResourceClass?
    ) throws -> [ResourceID] {
        try index.write { db in
            guard try PartRow.hasTable(db) else { return [] }
            let wasFetched = (try? index.resources.opened(title, db))??.metadata.title != nil
            let ids = try Data.fetchAll(
                db,
                sql: """
                    SELECT resource FROM part JOIN resource ON resource.id = part.resource
                    WHERE part.title = ?1 AND class = coalesce(?2, class) AND class <> ?3
                        \(wasFetched ? "AND class <> 'cache'" : "") AND (?3 = 'pinned'
                        OR NOT EXISTS (SELECT 1 FROM part AS other JOIN resource AS owner ON owner.id = other.title
                            WHERE other.resource = part.resource AND other.title <> ?1 AND owner.class = 'pinned'))
                    """, arguments: [title.data, only?.rawValue, resourceClass.rawValue]
            ).compactMap { ResourceID($0) }
            for id in ids { try index.resources.setClass(resourceClass, of: id, only: only, db) }
            return ids
        }
    }

    /// The error for storing something for a title that no longer exists. It is refused because nothing would ever
    /// remove it.
    static let removed = VaultError(
        .removed, "the title was removed while it was being stored; fetch it again")

    /// Requires that a title exists.
    ///
    /// - Throws: ``VaultError`` with code `removed` if the title does not exist.
    static func require(_ title: ResourceID, _ db: Database) throws {
        guard try ResourceRow.exists(title, db) else { throw Self.removed }
    }

    /// Adds the rows of `part` for the titles that a resource's metadata names.
    func link(_ part: ResourceID, to metadata: ResourceMetadata, _ db: Database) throws {
        for key in metadata.partOf {
            guard let title = resourceID(ofKey: key) else { continue }
            try PartRow.change(.join(title), of: part, db)
        }
    }

    /// Adds the rows of `part` for a new resource, all of whose titles must exist.
    ///
    /// - Throws: ``VaultError`` with code `removed` if one of them does not.
    func join(_ part: ResourceID, _ metadata: ResourceMetadata, _ db: Database) throws {
        for title in metadata.partOf.compactMap({ resourceID(ofKey: $0) }) { try Self.require(title, db) }
        try link(part, to: metadata, db)
    }

    /// Unlinks a part from a title that is evicted or removed, both in its row of `part` and in its sealed metadata.
    ///
    /// - Returns: whether the part's sealed metadata named the title.
    @discardableResult
    func leave(_ title: ResourceID, _ part: ResourceID, _ db: Database) throws -> Bool {
        try PartRow.change(.leave(title), of: part, db)
        guard var opened = try? index.resources.opened(part, db) else { return false }
        let left = opened.metadata.partOf.filter { resourceID(ofKey: $0) != title }
        guard left.count < opened.metadata.partOf.count else { return false }
        opened.metadata.partOf = left
        let sealed = try ResourceRow.seal(opened.metadata, of: part, under: opened.metadataKey.secret)
        try ResourceRow.update(part, metadata: sealed, db)
        return true
    }

    /// Removes a part of a title that is being removed. A part that another title also has, or that was requested by
    /// its own name, is only unlinked.
    ///
    /// - Returns: the segments that became pending deletions.
    func remove(_ part: TitlePart, of title: ResourceID, _ db: Database) throws -> [SegmentDescription] {
        // A part is removed only if its sealed metadata names the title, because a row alone proves nothing.
        guard try leave(title, part.id, db), goesWithTitle(part, db) else { return [] }
        let segments = try SegmentRow.segments(of: part.id, db)
        try ResourceRow.delete(part.id, db)
        return segments
    }

    /// Returns whether a part is removed with its title, because it has no other title, is not a title itself, and was
    /// not requested by its own name.
    private func goesWithTitle(_ part: TitlePart, _ db: Database) -> Bool {
        part.isOnlyHere && (try? index.resources.opened(part.id, db))?.metadata.isOwn != true
    }

    /// Returns the parts that are removed with a title, and the files in those of them that are packs.
    package func contents(of title: ResourceID) throws -> (parts: Set<ResourceID>, files: Set<ResourceID>) {
        try index.read { db in
            let parts = Set(try PartRow.parts(of: title, db).filter { goesWithTitle($0, db) }.map(\.id))
            return (parts, Set(try parts.flatMap { try PackedPartRow.fetch(in: $0, db).map(\.id) }))
        }
    }

    /// Returns the number of missing and surplus `part` rows for a resource, compared with the titles that it names.
    package func wrongLinks(of id: ResourceID) throws -> Int {
        try index.read { db in
            let (missing, extra) = try linkErrors(of: id, db)
            return missing.count + extra.count
        }
    }

    /// Makes a resource's rows of `part` match the titles that its metadata names.
    package func mendLinks(of id: ResourceID) throws {
        try index.write { db in
            let (missing, extra) = try linkErrors(of: id, db)
            for title in missing { try PartRow.change(.join(title), of: id, db) }
            for title in extra { try PartRow.change(.leave(title), of: id, db) }
        }
    }

    /// Returns the id of the resource that a cache key names.
    private func resourceID(ofKey key: [UInt8]) -> ResourceID? {
        index.keyring.resourceID(cacheKey: key, locator: index.locator)
    }

    private func linkErrors(
        of id: ResourceID, _ db: Database
    ) throws -> (missing: Set<ResourceID>, extra: Set<ResourceID>) {
        guard try PartRow.hasTable(db), let metadata = try index.resources.opened(id, db)?.metadata else {
            return ([], [])
        }
        let named = Set(metadata.partOf.compactMap { resourceID(ofKey: $0) })
        let linked = try PartRow.titles(of: id, db)
        return (
            try named.subtracting(linked).filter { try $0 != id && ResourceRow.exists($0, db) },
            // If there are very many titles, the metadata names only the latest, so no row is known to be surplus.
            metadata.namesAllTitles ? linked.subtracting(named) : []
        )
    }

    /// Adds the missing rows of `part` for the titles that the parts' own metadata names.
    package func linkParts() throws {
        var links: [(title: ResourceID, part: ResourceID)] = []
        try index.resources.forEachPage { db, before, last in
            let rows = try Row.fetchAll(
                db, sql: "SELECT \(ResourceRow.columns) FROM resource WHERE id > ? AND id <= ?",
                arguments: [before, last])
            for row in rows {
                guard let row = try ResourceRow(row), let opened = try? OpenedResource(row, index.keyring, db) else {
                    continue
                }
                let titles = opened.metadata.partOf.compactMap { resourceID(ofKey: $0) }
                links += titles.map { ($0, row.id) }
            }
        }
        guard !links.isEmpty else { return }
        try index.write { db in
            for (title, part) in links { try PartRow.change(.join(title), of: part, db) }
        }
    }
}
