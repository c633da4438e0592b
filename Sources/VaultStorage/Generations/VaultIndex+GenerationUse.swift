import Foundation
import GRDB

extension VaultIndex {
    /// Counts what needs each generation, a page of resources at a time; generations that nothing needs are left out.
    package func generationUse() throws -> [Int: GenerationUse] {
        var counts: [Int: GenerationUse] = [:]
        var last: Data? = Data()
        while let first = last { last = try count(after: first, into: &counts) }
        return counts
    }

    private static let pageSize = 500

    /// - Returns: the last resource that was counted; nil where there was none.
    private func count(after first: Data, into counts: inout [Int: GenerationUse]) throws -> Data? {
        try read { db in
            let end = try Data.fetchOne(
                db, sql: "SELECT max(id) FROM (SELECT id FROM resource WHERE id > ? ORDER BY id LIMIT ?)",
                arguments: [first, Self.pageSize])
            guard let end else { return nil }
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT key.generation, count(DISTINCT key.resource) AS resources, total(segment.length) AS bytes
                    FROM resourceKey AS key
                    LEFT JOIN representation ON representation.resource = key.resource
                    LEFT JOIN segment ON segment.representation = representation.id AND segment.key = key.number
                    WHERE key.resource > ? AND key.resource <= ? GROUP BY key.generation
                    """, arguments: [first, end])
            for row in rows {
                let generation: Int = try row.column("generation")
                counts[generation, default: GenerationUse()].resources += try row.column("resources") as Int
                // Exact up to 2^53; a damaged row counts as nothing.
                let bytes: Double = try row.column("bytes")
                counts[generation, default: GenerationUse()].bytes += Int64(exactly: bytes) ?? 0
            }
            return end
        }
    }
}
