import Foundation
import GRDB
import VaultModel

extension VaultIndex {
    /// Counts what is left of a reseal, a page of resources at a time. Where one is due, the metadata of the resources
    /// that it is for is opened: it alone tells which went through it. Those that do not open are left out, as they are
    /// by the reseal.
    ///
    /// - Returns: nil where none is due, and none has left a resource with an older key.
    package func resealBacklog() throws -> ResealBacklog? {
        let order = try settings().resealOrder
        var backlog = ResealBacklog(isDue: order != nil)
        var rest = try candidates(for: order)[...]
        while !rest.isEmpty {
            let page = rest.prefix(Self.backlogPage)
            try read { db in
                for id in page { try count(id, in: order, into: &backlog, db) }
            }
            rest = rest.dropFirst(Self.backlogPage)
        }
        return backlog.isDue || backlog.resources > 0 ? backlog : nil
    }

    private static let backlogPage = 500

    /// The resources that may not be done.
    private func candidates(for order: ResealOrder?) throws -> [ResourceID] {
        if let named = order?.resources { return Array(named) }
        let sql =
            order == nil
            ? "SELECT resource FROM resourceKey GROUP BY resource HAVING count(*) > 1" : "SELECT id FROM resource"
        return try read { db in try Data.fetchAll(db, sql: sql).compactMap { ResourceID($0) } }
    }

    private func count(
        _ id: ResourceID, in order: ResealOrder?, into backlog: inout ResealBacklog, _ db: Database
    ) throws {
        guard let resource = try opened(id, db) else { return }
        let isBegun = order.map { $0.run == resource.metadata.resealRun } ?? true
        guard !isBegun || resource.keys.count > 1 else { return }
        backlog.resources += 1
        // One that is not begun gets yet another key: all of it is left.
        backlog.bytes += try bytes(of: id, olderOnly: isBegun, db)
        guard order != nil else { return }
        let inUse = try Int.fetchOne(
            db.cachedStatement(sql: "SELECT key FROM resource WHERE id = ?"), arguments: [id.data])
        let older = Set(resource.keys.filter { $0.0 != inUse }.map(\.1))
        for generation in older.subtracting(resource.keys.filter { $0.0 == inUse }.map(\.1)) {
            backlog.leaving[generation, default: 0] += 1
        }
    }

    /// - Parameter olderOnly: whether what lies under the key in use is left out.
    private func bytes(of id: ResourceID, olderOnly: Bool, _ db: Database) throws -> Int64 {
        let statement = try db.cachedStatement(
            sql: """
                SELECT total(segment.length) FROM resource
                JOIN representation ON representation.resource = resource.id
                JOIN segment ON segment.representation = representation.id
                WHERE resource.id = ? AND (segment.key <> resource.key OR NOT ?)
                """)
        // Exact up to 2^53; a damaged row counts as nothing.
        return Int64(exactly: try Double.fetchOne(statement, arguments: [id.data, olderOnly]) ?? 0) ?? 0
    }
}
