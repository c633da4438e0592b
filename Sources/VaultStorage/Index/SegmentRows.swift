import Foundation
import GRDB
package import VaultModel

extension VaultIndex {
    /// Adds the row of a new segment, open and empty, before its file exists.
    ///
    /// - Throws: ``VaultError`` with code `changed` if its resource was removed or now has another key in use.
    package func begin(_ segment: SegmentDescription, now: Int64) throws {
        try writeWithoutSync { db in
            try db.execute(
                sql: """
                    INSERT INTO segment SELECT ?, representation.id, resource.key, ?, ?, 0, 'open', ?
                    FROM representation JOIN resource ON resource.id = representation.resource
                    WHERE representation.id = ? AND resource.key = ?
                    """,
                arguments: [
                    segment.id.data, segment.blockSize, segment.start, PlainColumn.hour(of: now),
                    segment.representation.data, segment.keyNumber,
                ])
            guard db.changesCount == 1 else {
                throw VaultError(.changed, "the resource was removed, or has a new key; open it again")
            }
        }
    }

    /// Records how far a segment is durable, and the count of fetched bytes, in one transaction.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if its good bytes would overlap another segment's, `changed` if
    ///   the segment was invalidated in the meantime.
    package func commit(_ segment: SegmentDescription, closed: Bool, fetched: Int64) throws {
        try write { db in
            try self.requireNoOverlap(segment, db)
            try db.execute(
                sql: "UPDATE segment SET length = ?, state = ? WHERE id = ?",
                arguments: [segment.length, closed ? "closed" : "open", segment.id.data])
            guard db.changesCount == 1 else {
                throw VaultError(
                    .changed, "a segment was invalidated while it was being written; open the resource again")
            }
            try self.countFetched(fetched, db)
        }
    }

    /// Records the number of bytes fetched since the vault was created.
    package func countFetched(_ total: Int64) throws {
        try write { db in try self.countFetched(total, db) }
    }

    /// Requires that no good byte of a segment is also held by another.
    func requireNoOverlap(_ segment: SegmentDescription, badBlocks: Set<Int> = [], _ db: Database) throws {
        let mine = segment.effectiveRanges(badBlocks: badBlocks)
        let neighbours = try Row.fetchAll(
            db,
            sql: """
                SELECT * FROM segment
                WHERE representation = ? AND id <> ? AND start > ? AND start < ? AND start + length > ?
                """,
            arguments: [
                segment.representation.data, segment.id.data, segment.start - SegmentDescription.maxBytes,
                segment.range.upperBound, segment.start,
            ])
        for neighbour in neighbours.compactMap({ Self.segment($0) }) {
            let bad = Set(
                try Int.fetchAll(
                    db, sql: "SELECT block FROM badBlock WHERE segment = ?", arguments: [neighbour.id.data]))
            let good = neighbour.effectiveRanges(badBlocks: bad)
            guard good.isDisjoint(mine) else {
                throw VaultError(.integrity, "two segments would hold the same bytes; the newer one is dropped")
            }
        }
    }

    /// Returns the segments that the last owner left open, each with its resource.
    package func openSegments() throws -> [(segment: SegmentDescription, resource: ResourceID)] {
        try read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT segment.*, representation.resource AS resource FROM segment
                    JOIN representation ON representation.id = segment.representation WHERE segment.state = 'open'
                    """)
            return rows.compactMap { row in
                guard let segment = Self.segment(row),
                    let resource = (try? row.column("resource")).flatMap({ ResourceID($0) })
                else { return nil }
                return (segment, resource)
            }
        }
    }

    /// Records a block whose tag failed; its range is a gap from now on.
    package func markBad(_ segment: SegmentID, block: Int) throws {
        try write { db in
            try db.execute(
                sql: "INSERT OR IGNORE INTO badBlock SELECT id, ? FROM segment WHERE id = ?",
                arguments: [block, segment.data])
        }
    }

    /// Deletes a segment's row.
    ///
    /// - Parameter doomed: whether its file becomes a pending deletion; false if it is missing or was moved aside.
    /// - Returns: whether there was such a row.
    @discardableResult
    package func drop(_ id: SegmentID, doomed: Bool) throws -> Bool {
        try write { db in
            if doomed { try db.execute(sql: "INSERT OR IGNORE INTO doomed VALUES (?)", arguments: [id.data]) }
            try db.execute(sql: "DELETE FROM segment WHERE id = ?", arguments: [id.data])
            return db.changesCount > 0
        }
    }

    /// Returns a page of segments that are pending deletion, in the order of their ids.
    package func segmentsPendingDeletion(after last: SegmentID? = nil, limit: Int) throws -> [SegmentID] {
        try read { db in
            // A value that is not an id names no file, and must not hide those that do.
            try Data.fetchAll(
                db,
                sql: """
                    SELECT segment FROM doomed WHERE segment > ? AND typeof(segment) = 'blob' AND length(segment) = 16
                    ORDER BY segment LIMIT ?
                    """,
                arguments: [last?.data ?? Data(), limit]
            ).compactMap { SegmentID($0) }
        }
    }

    /// Removes segments from the list of pending deletions once their files are durably gone.
    ///
    /// If a power loss undoes this, the removal of their files is repeated.
    package func forgetPendingDeletions(_ ids: [SegmentID]) throws {
        try writeWithoutSync { db in
            for id in ids { try db.execute(sql: "DELETE FROM doomed WHERE segment = ?", arguments: [id.data]) }
        }
    }

    static func markSegmentsForDeletion(of representation: Data, _ db: Database) throws {
        try db.execute(
            sql: "INSERT OR IGNORE INTO doomed SELECT id FROM segment WHERE representation = ?",
            arguments: [representation])
        try db.execute(sql: "DELETE FROM segment WHERE representation = ?", arguments: [representation])
    }
}

extension VaultIndex {
    private static let pageSize = 500

    /// Visits all resources by ranges of their ids.
    ///
    /// Each range has a transaction of its own, so that no write waits long.
    ///
    /// - Parameter body: receives the id before the range, and the last id in it.
    func forEachPage(_ body: (_ db: Database, _ before: Data, _ last: Data) throws -> Void) throws {
        var before: Data? = Data()
        while let id = before {
            before = try read { db in
                let last = try Data.fetchOne(
                    db, sql: "SELECT max(id) FROM (SELECT id FROM resource WHERE id > ? ORDER BY id LIMIT ?)",
                    arguments: [id, Self.pageSize])
                if let last { try body(db, id, last) }
                return last
            }
        }
    }
}
