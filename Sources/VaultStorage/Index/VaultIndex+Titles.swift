import Foundation
import GRDB
import VaultCrypto
package import VaultModel

/// A resource that belongs to a title.
package struct TitlePart: Hashable, Sendable {
    package let id: ResourceID
    /// Whether the resource belongs to no other title and is not a title itself.
    package let isOnlyHere: Bool

    package init(_ id: ResourceID, isOnlyHere: Bool) {
        self.id = id
        self.isOnlyHere = isOnlyHere
    }
}

/// A change to a resource's title membership. A title is identified by its manifest's id.
package enum TitleLink: Sendable {
    case join(ResourceID)
    case leave(ResourceID)
}

/// The rows of `part`, which record the resources that belong to each title.
///
/// They mirror the titles that the parts name in their sealed metadata, so that a title's parts are found without
/// opening other resources. No tag protects these rows, so a permanent removal checks the metadata, too.
enum PartRow {
    /// Returns whether the index has the table, which older vaults lack.
    static func hasTable(_ db: Database) throws -> Bool { try IndexSchema.has(IndexSchema.part, db) }

    /// The SQL condition that a row of `resource` belongs to a title.
    static let isPart = "EXISTS (SELECT 1 FROM part WHERE part.resource = resource.id)"
    /// The SQL condition that a row of `resource` is a title with parts.
    static let isTitle = "EXISTS (SELECT 1 FROM part WHERE part.title = resource.id)"

    /// Returns the number of resources that are parts of titles but not titles themselves.
    static func count(_ db: Database) throws -> Int {
        guard try hasTable(db) else { return 0 }
        return try Int.fetchOne(
            db, sql: "SELECT count(DISTINCT resource) FROM part WHERE resource NOT IN (SELECT title FROM part)") ?? 0
    }

    /// The SQL condition that a row of `resource` was only played, although every title that it is a part of is a
    /// download or pinned.
    private static let isPlayedOnly = """
        (resource.class = 'cache' AND NOT EXISTS (SELECT 1 FROM part JOIN resource AS owner ON owner.id = part.title
            WHERE part.resource = resource.id AND owner.class = 'cache'))
        """

    /// The SQL condition that a row of `resource` may be evicted by itself, along with the parts that only it has.
    ///
    /// Parts are evicted with their titles, except that a part that was only played is evicted by itself if its titles
    /// are downloads or pinned. Titles that are parts of each other would then never be evicted, so each of them may be
    /// evicted first, unless a title that it is a part of is pinned or is not among its own parts.
    static let isUnit = """
        (NOT \(isPart) OR \(isPlayedOnly) OR (\(isTitle) AND NOT EXISTS (
            WITH RECURSIVE
                above(id) AS (SELECT title FROM part WHERE part.resource = resource.id
                    UNION SELECT part.title FROM part JOIN above ON part.resource = above.id),
                below(id) AS (SELECT part.resource FROM part WHERE part.title = resource.id
                    UNION SELECT part.resource FROM part JOIN below ON part.title = below.id)
            SELECT 1 FROM above JOIN resource AS owner ON owner.id = above.id
            WHERE owner.class = 'pinned' OR above.id NOT IN below)))
        """

    /// Returns whether a resource may be evicted by itself, according to ``isUnit``.
    static func isUnit(_ id: ResourceID, _ db: Database) throws -> Bool {
        guard try hasTable(db) else { return true }
        let statement = try db.cachedStatement(sql: "SELECT \(isUnit) FROM resource WHERE id = ?")
        return try Bool.fetchOne(statement, arguments: [id.data]) ?? false
    }

    static func change(_ link: TitleLink, of part: ResourceID, _ db: Database) throws {
        switch link {
        case .join(let title):
            // The table may be missing, because the disk may have had no space for it when the owner opened the vault.
            if try !hasTable(db) { try db.execute(sql: IndexSchema.ifAbsent(IndexSchema.part)) }
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO part
                    SELECT ?1, ?2 WHERE ?1 <> ?2 AND EXISTS (SELECT 1 FROM resource WHERE id = ?1)
                    """, arguments: [title.data, part.data])
        case .leave(let title):
            guard try hasTable(db) else { return }
            try db.execute(
                sql: "DELETE FROM part WHERE title = ? AND resource = ?", arguments: [title.data, part.data])
        }
    }

    /// Returns the titles that a resource is linked to.
    static func titles(of part: ResourceID, _ db: Database) throws -> Set<ResourceID> {
        Set(
            try Data.fetchAll(
                db.cachedStatement(sql: "SELECT title FROM part WHERE resource = ?"), arguments: [part.data]
            ).compactMap { ResourceID($0) })
    }

    /// Returns the parts of a title.
    static func parts(of title: ResourceID, _ db: Database) throws -> [TitlePart] {
        guard try hasTable(db) else { return [] }
        let statement = try db.cachedStatement(
            sql: """
                SELECT resource, NOT EXISTS (SELECT 1 FROM part AS other
                        WHERE other.resource = part.resource AND other.title <> part.title)
                    AND NOT EXISTS (SELECT 1 FROM part AS own WHERE own.title = part.resource) AS isOnlyHere
                FROM part WHERE title = ? ORDER BY resource
                """)
        return try Row.fetchAll(statement, arguments: [title.data]).compactMap { row in
            guard let id = ResourceID(try row.column("resource")) else { return nil }
            return TitlePart(id, isOnlyHere: try row.column("isOnlyHere"))
        }
    }
}

// Titles that consist of several resources.
extension VaultIndex {
    /// Returns a title's parts, in the order of their ids.
    package func parts(of title: ResourceID) throws -> [TitlePart] {
        try read { db in try PartRow.parts(of: title, db) }
    }

    /// Returns the titles that a person would name for a resource: the titles that it is a part of, directly or in a
    /// pack, and the resource itself if it is a title or a part of none.
    package func titles(of id: ResourceID) throws -> [ResourceID] {
        try read { db in
            guard try PartRow.hasTable(db) else { return [id] }
            let places = try [id] + PackedPartRow.fetch(id, db).map(\.pack)
            let titles = Array(Set(try places.flatMap { try PartRow.titles(of: $0, db) }))
            return try titles.isEmpty || !PartRow.parts(of: id, db).isEmpty ? [id] + titles : titles
        }
    }

    /// Returns those cache keys whose titles the vault has.
    ///
    /// - Parameter part: a resource whose own cache key is left out, because a resource is not a part of itself.
    func known(_ titles: [[UInt8]], except part: ResourceID) throws -> [[UInt8]] {
        guard !titles.isEmpty else { return [] }
        return try read { db in
            try titles.filter { key in
                guard let title = keyring.resourceID(cacheKey: key, locator: locator), title != part else {
                    return false
                }
                return try ResourceRow.exists(title, db)
            }
        }
    }

    /// Returns the number of bytes of each title's parts that are held according to the index, in segments of their own
    /// or in packs.
    package func partBytes(of titles: [ResourceID]) throws -> [ResourceID: Int64] {
        guard !titles.isEmpty else { return [:] }
        return try read { db in
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
        try read { db in
            try ids.reduce(into: ids) { all, id in all.formUnion(try PartRow.parts(of: id, db).map(\.id)) }
        }
    }

    /// Returns the number of bytes of several resources that are held according to the index, and the number of the
    /// resources' segments.
    package func totals(of ids: [ResourceID]) throws -> (bytes: Int64, segments: Int) {
        try read { db in
            try ids.reduce(into: (0, 0)) { totals, id in
                let segments = try SegmentRow.segments(of: id, db)
                totals.bytes += segments.reduce(0) { $0 + $1.length }
                totals.segments += segments.count
            }
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
        try write { db in
            guard try PartRow.hasTable(db) else { return [] }
            let wasFetched = (try? opened(title, db))??.metadata.title != nil
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
            for id in ids { try setClass(resourceClass, of: id, only: only, db) }
            return ids
        }
    }

    /// Requires that a title exists.
    ///
    /// - Throws: ``VaultError`` with code `removed` if the title does not exist.
    static func require(_ title: ResourceID, _ db: Database) throws {
        guard try ResourceRow.exists(title, db) else { throw removedTitle }
    }

    /// Adds the rows of `part` for the titles that a resource's metadata names.
    func link(_ part: ResourceID, to metadata: ResourceMetadata, _ db: Database) throws {
        for key in metadata.partOf {
            guard let title = keyring.resourceID(cacheKey: key, locator: locator) else { continue }
            try PartRow.change(.join(title), of: part, db)
        }
    }

    /// Unlinks a part from a title that is evicted or removed, both in its row of `part` and in its sealed metadata.
    ///
    /// - Returns: whether the part's sealed metadata named the title.
    @discardableResult
    func leave(_ title: ResourceID, _ part: ResourceID, _ db: Database) throws -> Bool {
        try PartRow.change(.leave(title), of: part, db)
        guard var opened = try? opened(part, db) else { return false }
        let left = opened.metadata.partOf.filter { keyring.resourceID(cacheKey: $0, locator: locator) != title }
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
        part.isOnlyHere && (try? opened(part.id, db))?.metadata.isOwn != true
    }

    /// Returns the parts that are removed with a title, and the files in those of them that are packs.
    package func contents(of title: ResourceID) throws -> (parts: Set<ResourceID>, files: Set<ResourceID>) {
        try read { db in
            let parts = Set(try PartRow.parts(of: title, db).filter { goesWithTitle($0, db) }.map(\.id))
            return (parts, Set(try parts.flatMap { try PackedPartRow.fetch(in: $0, db).map(\.id) }))
        }
    }

    /// Returns the number of missing and surplus `part` rows for a resource, judged by the titles that it names.
    package func wrongLinks(of id: ResourceID) throws -> Int {
        try read { db in
            let (missing, extra) = try linkErrors(of: id, db)
            return missing.count + extra.count
        }
    }

    /// Makes a resource's rows of `part` match the titles that its metadata names.
    package func mendLinks(of id: ResourceID) throws {
        try write { db in
            let (missing, extra) = try linkErrors(of: id, db)
            for title in missing { try PartRow.change(.join(title), of: id, db) }
            for title in extra { try PartRow.change(.leave(title), of: id, db) }
        }
    }

    private func linkErrors(
        of id: ResourceID, _ db: Database
    ) throws -> (missing: Set<ResourceID>, extra: Set<ResourceID>) {
        guard try PartRow.hasTable(db), let metadata = try opened(id, db)?.metadata else { return ([], []) }
        let named = Set(metadata.partOf.compactMap { keyring.resourceID(cacheKey: $0, locator: locator) })
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
        try forEachPage { db, before, last in
            let rows = try Row.fetchAll(
                db, sql: "SELECT \(ResourceRow.columns) FROM resource WHERE id > ? AND id <= ?",
                arguments: [before, last])
            for row in rows {
                guard let row = try ResourceRow(row), let opened = try? OpenedResource(row, keyring, db) else {
                    continue
                }
                let titles = opened.metadata.partOf.compactMap { keyring.resourceID(cacheKey: $0, locator: locator) }
                links += titles.map { ($0, row.id) }
            }
        }
        guard !links.isEmpty else { return }
        try write { db in
            for (title, part) in links { try PartRow.change(.join(title), of: part, db) }
        }
    }
}
