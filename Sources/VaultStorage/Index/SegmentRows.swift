import Foundation
import GRDB
package import VaultModel

extension VaultIndex {
    /// Adds the row of a new segment, open and empty: it is there before its file is.
    ///
    /// - Throws: ``VaultError`` with code `changed` where its resource has another key in use by now.
    package func begin(_ segment: SegmentDescription, now: Int64) throws {
        try writeAhead { db in
            try db.execute(
                sql: """
                    INSERT INTO segment SELECT ?, representation.id, resource.key, ?, ?, 0, 'open', ?
                    FROM representation JOIN resource ON resource.id = representation.resource
                    WHERE representation.id = ? AND resource.key = ?
                    """,
                arguments: [
                    segment.id.data, segment.blockSize, segment.start, PlainColumn.hour(of: now), segment.representation.data,
                    segment.keyNumber,
                ])
            guard db.changesCount == 1 else {
                throw VaultError(.changed, "the resource was removed, or has another key by now; open it again")
            }
        }
    }

    /// Records how far a segment is durable, and, within the same transaction, how many bytes were ever fetched.
    ///
    /// - Throws: ``VaultError`` with code `integrity` where its good bytes would overlap another segment's, `changed`
    ///   where it was condemned meanwhile.
    package func commit(_ segment: SegmentDescription, closed: Bool, fetched: Int64) throws {
        try write { db in
            try self.requireNoOverlap(segment, db)
            try db.execute(
                sql: "UPDATE segment SET length = ?, state = ? WHERE id = ?",
                arguments: [segment.length, closed ? "closed" : "open", segment.id.data])
            guard db.changesCount == 1 else {
                throw VaultError(.changed, "a segment was condemned while it was written; open the resource again")
            }
            try self.countFetched(fetched, db)
        }
    }

    /// Records how many bytes were ever fetched.
    package func countFetched(_ total: Int64) throws {
        try write { db in try self.countFetched(total, db) }
    }

    /// Requires that no good byte of a segment is another's too.
    func requireNoOverlap(_ segment: SegmentDescription, badBlocks: Set<Int> = [], _ db: Database) throws {
        let mine = segment.effectiveRanges(badBlocks: badBlocks)
        let neighbours = try Row.fetchAll(
            db,
            sql: """
                SELECT * FROM segment
                WHERE representation = ? AND id <> ? AND start > ? AND start < ? AND start + length > ?
                """,
            arguments: [
                segment.representation.data, segment.id.data, segment.start - SegmentDescription.mostBytes,
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

    /// The segments that were open when the last owner ended, with the resource that each belongs to.
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

    /// Records a block whose tag failed: its range is a gap from now on.
    package func markBad(_ segment: SegmentID, block: Int) throws {
        try write { db in
            try db.execute(
                sql: "INSERT OR IGNORE INTO badBlock SELECT id, ? FROM segment WHERE id = ?",
                arguments: [block, segment.data])
        }
    }

    /// Deletes a segment's row; its file is condemned with it unless it was put aside already.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    package func drop(_ id: SegmentID, doomed: Bool) throws -> Bool {
        try write { db in
            if doomed { try db.execute(sql: "INSERT OR IGNORE INTO doomed VALUES (?)", arguments: [id.data]) }
            try db.execute(sql: "DELETE FROM segment WHERE id = ?", arguments: [id.data])
            return db.changesCount > 0
        }
    }

    /// Condemned segments whose files are still to be removed, a page of them in the order of their ids.
    package func doomedSegments(after last: SegmentID? = nil, limit: Int) throws -> [SegmentID] {
        try read { db in
            // What is no id names no file, and must not hide what does.
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

    /// Forgets condemned segments whose files are durably gone. Were that lost, they would be removed once more.
    package func forgetDoomed(_ ids: [SegmentID]) throws {
        try writeAhead { db in
            for id in ids { try db.execute(sql: "DELETE FROM doomed WHERE segment = ?", arguments: [id.data]) }
        }
    }

    static func doomSegments(of representation: Data, _ db: Database) throws {
        try db.execute(
            sql: "INSERT OR IGNORE INTO doomed SELECT id FROM segment WHERE representation = ?",
            arguments: [representation])
        try db.execute(sql: "DELETE FROM segment WHERE representation = ?", arguments: [representation])
    }
}

extension VaultIndex {
    private static let pageSize = 500

    /// Goes through all resources by ranges of their ids, each in a transaction of its own: nobody's write waits long.
    ///
    /// - Parameter body: is given the id before the range, and the last one in it.
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
