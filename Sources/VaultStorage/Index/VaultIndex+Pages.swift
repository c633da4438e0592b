import Foundation
import GRDB

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
