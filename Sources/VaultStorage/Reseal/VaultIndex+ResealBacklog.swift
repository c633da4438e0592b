import Foundation
import GRDB
import VaultModel

extension VaultIndex {
    /// Counts what is left of a reseal, a page of resources at a time, and opens none: the number of the key in use tells
    /// which reseal a resource went through. Those that do not open count as left until it is over.
    ///
    /// - Parameter order: the one that is due: ``VaultSettings/resealOrder``.
    /// - Returns: nil where none is due, and none has left a resource with an older key.
    package func resealBacklog(of order: ResealOrder?) throws -> ResealBacklog? {
        var backlog = ResealBacklog(isDue: order != nil)
        if let named = order?.resources {
            for id in named {
                try read { db in try count("id = ?", [id.data], order, into: &backlog, db) }
            }
        } else {
            try forEachPage { db, before, last in
                try count("id > ? AND id <= ?", [before, last], order, into: &backlog, db)
            }
        }
        return backlog.isDue || backlog.resources > 0 ? backlog : nil
    }

    /// - Parameters:
    ///   - which: the condition that the resources meet that are looked at.
    ///   - values: what it is bound to.
    private func count(
        _ which: String, _ values: StatementArguments, _ order: ResealOrder?, into backlog: inout ResealBacklog,
        _ db: Database
    ) throws {
        // Where none is due everything has begun, and may have ended.
        let values: StatementArguments = [order?.run ?? -1] + values
        let rest = """
            WITH rest AS (
                SELECT id, key, key > ? AS isBegun FROM resource
                WHERE \(which) AND (NOT isBegun
                    OR EXISTS (SELECT 1 FROM resourceKey WHERE resource = resource.id AND number <> resource.key)))
            """
        // One that is not begun gets yet another key: all of it is left.
        let left = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    \(rest) SELECT count(*) AS resources, total(
                        (SELECT total(segment.length) FROM representation
                            JOIN segment ON segment.representation = representation.id
                            WHERE representation.resource = rest.id AND \(PlainColumn.isSegment)
                                AND (segment.key <> rest.key OR NOT rest.isBegun))) AS bytes
                    FROM rest
                    """), arguments: values)
        backlog.resources += try left?.column("resources") as Int? ?? 0
        // Exact up to 2^53; a damaged row counts as nothing.
        backlog.bytes += Int64(exactly: try left?.column("bytes") as Double? ?? 0) ?? 0
        guard order != nil else { return }
        let leaving = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    \(rest) SELECT older.generation, count(DISTINCT rest.id) AS resources FROM rest
                    JOIN resourceKey AS used ON used.resource = rest.id AND used.number = rest.key
                    JOIN resourceKey AS older ON older.resource = rest.id AND older.number <> rest.key
                    WHERE older.generation <> used.generation
                        AND \(PlainColumn.isWithin(PlainColumn.numbers, "older.generation"))
                    GROUP BY older.generation
                    """), arguments: values)
        for row in leaving {
            backlog.leaving[try row.column("generation"), default: 0] += try row.column("resources") as Int
        }
    }
}
