import Foundation
import GRDB
import VaultModel

extension VaultIndex {
    /// Resource keys that a generation wraps, in the order of their resources and numbers, after the one named.
    func keys(wrappedBy generation: Int, after last: WrappedKey?, limit: Int) throws -> [WrappedKey] {
        try read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT resource, number, wrapped FROM resourceKey
                    WHERE generation = ? AND (resource, number) > (?, ?) AND \(PlainColumn.isResourceKey) ORDER BY resource, number LIMIT ?
                    """,
                arguments: [generation, last?.resource.data ?? Data(), last?.number ?? 0, limit])
            return try rows.map { row in
                guard let resource = ResourceID(try row.column("resource")) else { throw IndexError.damaged }
                return WrappedKey(
                    resource: resource, number: try row.column("number"), generation: generation,
                    wrapped: Array(try row.column("wrapped") as Data))
            }
        }
    }

    /// Puts keys that were wrapped anew in the place of what they were; those that are gone meanwhile stay gone. A power
    /// loss may take it back: both open, and no generation goes before the log was emptied.
    func replace(_ keys: [WrappedKey], generation: Int) throws {
        try writeAhead { db in
            let statement = try db.makeStatement(
                sql: """
                    UPDATE resourceKey SET generation = ?, wrapped = ? WHERE resource = ? AND number = ? AND generation = ?
                    """)
            for key in keys {
                try statement.execute(arguments: [
                    generation, key.wrapped.data, key.resource.data, key.number, key.generation,
                ])
            }
            try Self.oweErasure(db)
        }
    }

    /// How many resource keys are not wrapped by a generation, of how many resources, and how many of them say what cannot
    /// be: none of those is given by ``keys(wrappedBy:after:limit:)``.
    func keyCount(notWrappedBy generation: Int) throws -> (keys: Int, resources: Int, impossible: Int) {
        try read { db in
            let row = try Row.fetchOne(
                db,
                sql: """
                    SELECT count(*) AS keys, count(DISTINCT CASE WHEN isPossible THEN resource END) AS resources,
                        count(CASE WHEN NOT isPossible THEN 1 END) AS impossible
                    FROM (SELECT resource, \(PlainColumn.isResourceKey)
                            AND generation IN (SELECT number FROM generation) AS isPossible
                        FROM resourceKey WHERE generation <> ?)
                    """, arguments: [generation])
            guard let row else { throw IndexError.damaged }
            return (try row.column("keys"), try row.column("resources"), try row.column("impossible"))
        }
    }
}
