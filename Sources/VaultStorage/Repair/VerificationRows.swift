import Foundation
import GRDB
import VaultCrypto
package import VaultModel

/// The rows that a verification checks and repairs, a page at a time, so that no transaction lasts longer than one
/// page.
package struct VerificationRows {
    private let index: VaultIndex

    package init(_ index: VaultIndex) { self.index = index }

    /// Returns at most `limit` resource ids in ascending order, starting after the given id.
    package func resourceIDs(after: ResourceID?, limit: Int) throws -> [ResourceID] {
        try index.read { db in
            try Data.fetchAll(
                db, sql: "SELECT id FROM resource WHERE id > ? ORDER BY id LIMIT ?",
                arguments: [after?.data ?? Data(), limit]
            ).compactMap { ResourceID($0) }
        }
    }

    /// Returns whether any resource lacks the row of its serving representation.
    package func lacksServingRows() throws -> Bool {
        var last: ResourceID?
        while true {
            let page = try index.resources.page(after: last, limit: 64)
            if page.contains(where: { $0.resource?.lacksServing ?? false }) { return true }
            guard let end = page.last else { return false }
            last = end.id
        }
    }

    /// Makes a resource fetchable again if the row of its serving representation is missing.
    package func dropMissingServing(of id: ResourceID) throws {
        try index.write { db in
            guard let resource = try index.resources.find(id, db), resource.lacksServing else { return }
            var metadata = resource.metadata
            metadata.serving = nil
            let sealed = try ResourceRow.seal(metadata, of: id, under: try resource.metadataKey())
            try ResourceRow.update(id, metadata: sealed, db)
        }
    }

    /// Returns all representations of a resource, whether or not they are serving.
    package func representations(of resource: ResourceID) throws -> [RepresentationID] {
        try index.read { db in
            try Data.fetchAll(
                db, sql: "SELECT id FROM representation WHERE resource = ? ORDER BY id", arguments: [resource.data]
            ).compactMap { RepresentationID($0) }
        }
    }

    /// Returns the resource of a representation; nil if the index has no such representation.
    package func resource(of representation: RepresentationID) throws -> ResourceID? {
        try index.read { db in
            try RepresentationRow.fetch(representation, db)?.resource
        }
    }

    /// Returns at most `limit` segments of a representation in the order of their first bytes, starting after a place.
    package func segments(
        of representation: RepresentationID, after place: StoredSegment.Place?, limit: Int
    ) throws -> [StoredSegment] {
        try index.read { db in
            let (first, arguments): (String, StatementArguments) =
                place.map { ("AND (start, id) > (?, ?)", [representation.data, $0.start, $0.id, limit]) }
                ?? ("", [representation.data, limit])
            let rows = try Row.fetchAll(
                db, sql: "SELECT * FROM segment WHERE representation = ? \(first) ORDER BY start, id LIMIT ?",
                arguments: arguments)
            return try rows.compactMap { row in
                try SegmentRow(row).map { segment in
                    StoredSegment(
                        segment, badBlocks: try BadBlocks.fetch(of: segment.id, db),
                        place: StoredSegment.Place(start: row["start"], id: row["id"]))
                }
            }
        }
    }

    /// Returns whether a segment still has its row. If an owner has removed the row in the meantime, the segment is not
    /// damaged.
    package func hasSegment(_ id: SegmentID) throws -> Bool {
        try index.read { db in
            try Bool.fetchOne(db, sql: "SELECT 1 FROM segment WHERE id = ?", arguments: [id.data]) ?? false
        }
    }

    /// Returns segments whose representation has no row, or whose resource has none, so that no key opens them.
    package func segmentsWithoutResource(after: SegmentID?, limit: Int) throws -> [SegmentID] {
        try index.read { db in
            try Data.fetchAll(
                db,
                sql: """
                    SELECT segment.id FROM segment
                    LEFT JOIN representation ON representation.id = segment.representation
                    LEFT JOIN resource ON resource.id = representation.resource
                    WHERE resource.id IS NULL AND segment.id > ? ORDER BY segment.id LIMIT ?
                    """, arguments: [after?.data ?? Data(), limit]
            ).compactMap { SegmentID($0) }
        }
    }

    /// Returns those of the given ids that no row names, either as a segment or as a pending deletion.
    package func unindexed(_ ids: [SegmentID]) throws -> [SegmentID] {
        guard !ids.isEmpty else { return [] }
        return try index.read { db in
            let statement = try db.cachedStatement(
                sql: """
                    SELECT EXISTS (SELECT 1 FROM segment WHERE id = ?) \
                    OR EXISTS (SELECT 1 FROM doomed WHERE segment = ?)
                    """
            )
            return try ids.filter { try Bool.fetchOne(statement, arguments: [$0.data, $0.data]) != true }
        }
    }

    /// Returns whether no good byte of a segment is held by another segment.
    package func isGap(_ segment: SegmentDescription) throws -> Bool {
        try index.read { db in
            do {
                try SegmentRow.requireNoOverlap(segment, db)
                return true
            } catch let error as VaultError where error.code == .integrity {
                return false
            }
        }
    }

    /// Returns whether every row that can be checked is correct, so that a rebuild would gain nothing.
    func isSound() throws -> Bool {
        _ = try index.settings()
        guard try unreadableRecords().isEmpty else { return false }
        let isWhole = try index.read { db in
            try String.fetchOne(db, sql: "PRAGMA quick_check(1)") == "ok"
                && Row.fetchOne(db, sql: "PRAGMA foreign_key_check") == nil
        }
        var last: ResourceID?
        while isWhole {
            let page = try index.resources.page(after: last, limit: 64)
            guard page.allSatisfy({ $0.resource.map { !$0.lacksServing } ?? false }) else { return false }
            guard let end = page.last else { return true }
            last = end.id
        }
        return false
    }
}

// Stray rows: those that belong to no resource, or that nothing can name.
extension VerificationRows {
    /// The conditions that select stray rows, listed in an order in which the rows can be deleted. The rows of packs
    /// and segments have their own checks.
    private static let strayRows = [
        (
            table: "resourceKey",
            condition: "NOT \(PlainColumn.isWithin(PlainColumn.numbers, "number")) OR \(lacksResource)"
        ),
        (table: "cover", condition: lacksResource),
        (
            table: "representation",
            condition: """
            (typeof(id) <> 'blob' OR length(id) <> 16 OR \(lacksResource))
            AND NOT EXISTS (SELECT 1 FROM segment WHERE segment.representation = representation.id)
            """
        ),
        (
            table: "resource",
            condition: """
            (typeof(id) <> 'blob' OR length(id) <> 32)
            AND NOT EXISTS (SELECT 1 FROM representation WHERE representation.resource = resource.id)
            """
        ),
    ]

    private static let lacksResource = """
        (typeof(resource) <> 'blob'
            OR resource NOT IN (SELECT id FROM resource WHERE typeof(id) = 'blob' AND length(id) = 32))
        """

    /// Returns the number of rows that belong to no resource, or that nothing can name.
    package func strayRowCount() throws -> Int {
        try index.read { db in
            try Self.strayRows.reduce(into: 0) { count, stray in
                guard try IndexSchema.hasTable(stray.table, db) else { return }
                count +=
                    try Int.fetchOne(db, sql: "SELECT count(*) FROM \(stray.table) WHERE \(stray.condition)") ?? 0
            }
        }
    }

    /// Deletes the rows that belong to no resource, or that nothing can name.
    ///
    /// - Returns: the number of deleted rows.
    package func dropStrayRows() throws -> Int {
        try index.write { db in
            try Self.strayRows.reduce(into: 0) { count, stray in
                guard try IndexSchema.hasTable(stray.table, db) else { return }
                try db.execute(sql: "DELETE FROM \(stray.table) WHERE \(stray.condition)")
                count += db.changesCount
            }
        }
    }
}

// Records of every kind that do not open.
extension VerificationRows {
    /// Records of one kind that do not open.
    package struct UnreadableRecords: Hashable, Sendable {
        /// The plural name of these records in messages.
        package let title: String
        package let count: Int
        /// The number of these records that are sealed under a generation whose key the keyring lacks, as after its
        /// retirement.
        package let lacked: Int
        fileprivate let table: String
    }

    /// Returns the kinds of records of which at least one does not open. The settings are not among them, because
    /// nothing can be read without them.
    package func unreadableRecords() throws -> [UnreadableRecords] {
        try SealedTable.own.compactMap { try unreadable($0) }
    }

    private func unreadable(_ table: SealedTable) throws -> UnreadableRecords? {
        try index.read { db in
            let count = try table.unreadableCount(index.recordKeys(db), db)
            guard count > 0 else { return nil }
            let lacked = try table.lackedRecordCounts(index.keyring, db).values.reduce(0, +)
            return UnreadableRecords(title: table.title, count: count, lacked: lacked, table: table.name)
        }
    }

    /// Deletes the records of a kind that do not open, except those sealed under a generation whose key the keyring
    /// lacks.
    ///
    /// If the keyring lacks the key of a generation that sealed records, the index is older than the keys or belongs to
    /// another keyring, and is not damaged.
    ///
    /// - Parameter forgettingLacked: whether to delete the records of such generations, too.
    /// - Returns: the number of unreadable records that are left.
    package func dropUnreadable(_ records: UnreadableRecords, forgettingLacked: Bool = false) throws -> Int {
        guard let table = SealedTable.own.first(where: { $0.name == records.table }) else { return records.count }
        try index.write { db in
            let kept = try forgettingLacked ? [] : Array(table.lackedRecordCounts(index.keyring, db).keys)
            try table.deleteUnreadable(index.recordKeys(db), keeping: kept, db)
        }
        return try unreadable(table)?.count ?? 0
    }

    /// Returns whether a key of a resource is wrapped under a generation that has since been retired.
    package func needsRetiredGeneration(_ id: ResourceID) throws -> Bool {
        try index.read { db in
            try Int.fetchAll(
                db,
                sql: "SELECT generation FROM resourceKey WHERE resource = ? AND \(PlainColumn.isResourceKey)",
                arguments: [id.data]
            ).contains { index.keyring.isRetired($0) }
        }
    }
}

/// A segment's row in the index, as stored. Its values may be invalid.
package struct StoredSegment: Sendable {
    package let id: SegmentID
    /// The segment that the row describes; nil if its numbers are invalid.
    package let description: SegmentDescription?
    /// Whether the segment was still being written when the row was read.
    package let isOpen: Bool
    /// The blocks whose tag failed earlier.
    package let badBlocks: Set<Int>
    /// The range of bytes that the row states; nil if that is invalid, too.
    package let range: ByteRange?

    /// The position after which the next page of a representation's segments begins.
    package struct Place: Sendable {
        let start: DatabaseValue
        let id: DatabaseValue
    }

    package let place: Place

    init(_ row: SegmentRow, badBlocks: Set<Int>, place: Place) {
        // Only an open segment may be empty.
        let isImpossible = !row.isOpen && row.description?.length == 0
        id = row.id
        description = isImpossible ? nil : row.description
        isOpen = row.isOpen
        self.badBlocks = badBlocks
        range = description?.range ?? row.range.flatMap { $0.isEmpty ? nil : $0 }
        self.place = place
    }
}

/// A file that is described by its own header, and whose commitment has opened.
package struct ClaimedSegment: Sendable {
    package let segment: SegmentDescription
    /// The resource that the segment belongs to.
    package let resource: ResourceID
    package let reader: SegmentReader
    package let fileSize: Int64

    /// Whether the file ends with its last block.
    package var fits: Bool { segment.length > 0 && segment.fileSize == fileSize }
}
