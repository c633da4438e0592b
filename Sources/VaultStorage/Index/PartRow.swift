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

    /// The SQL condition that a row of `resource` was only played, and that every title that it is a part of is a
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
