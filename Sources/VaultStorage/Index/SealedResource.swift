import GRDB
import VaultCrypto
package import VaultModel

/// The rows of a resource, its keys, its representations and their segments, as read and not yet opened.
///
/// The rows of many resources are read together, and then opened without the database. Several resources can therefore
/// be opened at a time, while the next are being read.
package struct SealedResource: Sendable {
    let row: ResourceRow
    private(set) var keys: [ResourceKeyRow] = []
    private(set) var representations: [RepresentationID: RepresentationRow] = [:]
    private(set) var segments: [RepresentationID: [SegmentDescription]] = [:]
    private(set) var badBlocks: [SegmentID: Set<Int>] = [:]
    /// Whether one of the rows for its keys or bad blocks holds an invalid value.
    private(set) var isDamaged = false

    package var id: ResourceID { row.id }
    /// The resource's class; nil if the row has an invalid one.
    package var resourceClass: ResourceClass? { row.resourceClass }

    /// The maximum number of resources whose rows one statement reads.
    private static let batch = 500

    /// Reads the resources with some ids, in the order of their ids. Those that the vault does not have are left out.
    static func fetch(_ ids: some Sequence<ResourceID>, _ db: Database) throws -> [SealedResource] {
        let sorted = ids.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        return try fetch(sorted.compactMap { try ResourceRow.fetch($0, db) }, db)
    }

    /// Reads everything that belongs to rows of `resource`. The result is in the same order.
    static func fetch(_ rows: [ResourceRow], _ db: Database) throws -> [SealedResource] {
        try stride(from: 0, to: rows.count, by: batch).flatMap { first in
            try fetch(batch: rows[first..<min(first + batch, rows.count)], db)
        }
    }

    private static func fetch(batch rows: ArraySlice<ResourceRow>, _ db: Database) throws -> [SealedResource] {
        var resources = rows.map { SealedResource(row: $0) }
        let ids = rows.map(\.id)
        let places = Dictionary(zip(ids, resources.indices)) { first, _ in first }
        try forEach("SELECT \(ResourceKeyRow.columns) FROM resourceKey WHERE resource IN (?)", ids, db) { row in
            if let id = ResourceID(try row.column("resource")), let place = places[id] {
                resources[place].add(key: row)
            }
        }
        var owners: [RepresentationID: Int] = [:]
        try forEach("SELECT \(RepresentationRow.columns) FROM representation WHERE resource IN (?)", ids, db) { row in
            guard let representation = try? RepresentationRow(row), let id = representation.resource,
                let place = places[id]
            else { return }
            resources[place].representations[representation.id] = representation
            owners[representation.id] = place
        }
        let representations = Array(owners.keys)
        try forEach(
            "SELECT * FROM segment WHERE representation IN (?) AND length > 0 ORDER BY representation, start",
            representations, db
        ) { row in
            guard let segment = (try? SegmentRow(row))?.description, let place = owners[segment.representation]
            else { return }
            resources[place].segments[segment.representation, default: []].append(segment)
        }
        try forEach(
            """
            SELECT badBlock.segment, badBlock.block, segment.representation
            FROM badBlock JOIN segment ON segment.id = badBlock.segment WHERE segment.representation IN (?)
            """, representations, db
        ) { row in
            guard let id = RepresentationID(try row.column("representation")), let place = owners[id] else { return }
            resources[place].add(badBlock: row)
        }
        return resources
    }

    private mutating func add(key row: Row) {
        do { keys.append(try ResourceKeyRow(row)) } catch { isDamaged = true }
    }

    private mutating func add(badBlock row: Row) {
        do {
            guard let segment = SegmentID(try row.column("segment")) else { return }
            badBlocks[segment, default: []].insert(try row.column("block"))
        } catch {
            isDamaged = true
        }
    }

    /// Visits the rows that a statement selects. The list of ids takes the place of `(?)` in the statement.
    private static func forEach<Kind>(
        _ sql: String, _ ids: [Identifier<Kind>], _ db: Database, _ body: (Row) throws -> Void
    ) throws {
        guard !ids.isEmpty else { return }
        let list = databaseQuestionMarks(count: ids.count)
        let statement = try db.cachedStatement(sql: sql.replacing("(?)", with: "(\(list))"))
        // A cursor is used because it does not copy rows.
        let rows = try Row.fetchCursor(statement, arguments: StatementArguments(ids.map(\.data)))
        while let row = try rows.next() { try body(row) }
    }
}

extension SealedResource {
    /// Opens a representation; returns nil if it has no row.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if its row does not open.
    func representation(
        _ id: RepresentationID, of resource: OpenedResource
    ) throws -> StoredRepresentation? {
        guard let row = representations[id] else { return nil }
        let metadataKey = resource.metadataKey
        guard
            let info = row.openInfo(of: resource.id, under: metadataKey.secret).flatMap({ RepresentationInfo($0) })
        else { throw IndexError.damaged }
        let segments = segments[id] ?? []
        let own = Set(badBlocks.isEmpty ? [] : segments.map(\.id))
        return StoredRepresentation(
            id: id, info: info, segments: segments, badBlocks: badBlocks.filter { own.contains($0.key) })
    }
}
