import Foundation
import GRDB

extension VaultIndex {
    /// Counts what needs each generation, a page of resources at a time; generations that nothing needs are left out.
    package func generationUse() throws -> [Int: GenerationUse] {
        var counts: [Int: GenerationUse] = [:]
        try forEachPage { db, before, last in
            let rows = try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT generation, count(DISTINCT resource) AS resources, total(
                            (SELECT total(segment.length) FROM representation
                                JOIN segment ON segment.representation = representation.id
                                WHERE representation.resource = resourceKey.resource AND \(PlainColumn.isSegment)
                                    AND segment.key = resourceKey.number)) AS bytes
                        FROM resourceKey WHERE resource > ? AND resource <= ? AND \(PlainColumn.isResourceKey)
                        GROUP BY generation
                        """), arguments: [before, last])
            for row in rows {
                let generation: Int = try row.column("generation")
                counts[generation, default: GenerationUse()].resources += try row.column("resources") as Int
                // Exact up to 2^53; a damaged row counts as nothing.
                let bytes: Double = try row.column("bytes")
                counts[generation, default: GenerationUse()].bytes += Int64(exactly: bytes) ?? 0
            }
        }
        return counts
    }
}
