import Foundation
import GRDB
import VaultCrypto
package import VaultModel

/// The index rows that a reseal reads and changes.
package struct ResealRows {
    private let index: VaultIndex

    package init(_ index: VaultIndex) { self.index = index }

    /// Returns resources in the order in which they are to be resealed, those at the greatest risk first.
    ///
    /// Resources whose reseal has begun come first. The others follow in the order of the generations that wrap their
    /// keys, starting with the oldest, which most copies of the keyring have. Within a generation, the most recently
    /// read come first, because their keys were in memory most recently.
    package func resealQueue() throws -> [ResourceID] {
        try index.read { db in
            try Data.fetchAll(
                db,
                sql: """
                    SELECT resource.id FROM resource JOIN resourceKey ON resourceKey.resource = resource.id
                    GROUP BY resource.id
                    ORDER BY count(*) > 1 DESC, min(resourceKey.generation), resource.accessed DESC, resource.id
                    """
            ).compactMap { ResourceID($0) }
        }
    }

    /// Returns the number of bytes held of a resource in all its representations.
    package func bytes(of resource: ResourceID) throws -> Int64 {
        try index.read { db in
            try Int64.fetchOne(
                db,
                sql: """
                    SELECT total(segment.length) FROM segment
                    JOIN representation ON representation.id = segment.representation
                    WHERE representation.resource = ? AND \(PlainColumn.isSegment)
                    """, arguments: [resource.data]) ?? 0
        }
    }

    /// Gives a resource a new key, and reseals under it everything about the resource except the segments.
    ///
    /// All of this happens in one transaction. Segments are resealed later, one by one; the older keys stay until no
    /// segment needs them.
    ///
    /// - Parameter run: the number of the reseal run. A resource that got its key in this run keeps that key.
    /// - Returns: the resource as it is afterwards; nil if it does not exist or is stored in a pack.
    func beginReseal(_ id: ResourceID, run: Int64) throws -> StoredResource? {
        try index.write { db in
            guard let resource = try index.resources.find(id, db), resource.place == nil else { return nil }
            guard resource.metadata.resealRun != run else { return resource }
            // The key's number is above the numbers of all earlier runs, so that the number in use shows whether this
            // run has begun for the resource.
            let number = max(resource.keys.keys.max() ?? 0, Int(run)) + 1
            guard PlainColumn.numbers.contains(number) else { throw IndexError.damaged }
            let key = try SecureRandom.key("resource key")
            let wrapped = try ResourceKeyRow(
                wrapping: key, of: id, number: number, generation: index.keyring.currentGeneration, index.keyring)
            guard let wrapped else { throw IndexError.damaged }
            try wrapped.insert(db)
            let metadataKey = try KeyDerivation.key(from: key, .metadata)
            guard
                try resealInfos(of: id, under: try resource.metadataKey(), as: id, under: metadataKey, db) == 0
            else { throw IndexError.damaged }
            try index.packs.reseal(of: id, under: try resource.metadataKey(), as: id, under: metadataKey, db)
            try CoverRow.reseal(
                resource.metadata.cover, of: id, under: try resource.metadataKey(), as: id, under: metadataKey, db)
            var metadata = resource.metadata
            metadata.resealRun = run
            let sealed = try ResourceRow.seal(metadata, of: id, under: metadataKey)
            try db.execute(
                sql: "UPDATE resource SET key = ?, metadata = ? WHERE id = ?",
                arguments: [number, sealed.data, id.data])
            return try index.resources.find(id, db)
        }
    }

    /// Returns at most `limit` segments that are not sealed under the key in use.
    package func resealTasks(of resource: StoredResource, limit: Int) throws -> [ResealTask] {
        try index.read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT segment.* FROM segment JOIN representation ON representation.id = segment.representation
                    WHERE representation.resource = ? AND segment.key <> ? AND \(PlainColumn.isSegment)
                    ORDER BY segment.state = 'open', segment.representation, segment.start LIMIT ?
                    """, arguments: [resource.id.data, resource.keyNumber, limit])
            return try rows.compactMap { row in
                guard let row = try? SegmentRow(row), let segment = row.description else { return nil }
                return ResealTask(
                    segment: segment, isOpen: row.isOpen, badBlocks: try BadBlocks.fetch(of: row.id, db))
            }
        }
    }

    /// Deletes all keys of a resource except the one in use.
    ///
    /// - Returns: whether the keys were deleted; false, with all of them kept, if a segment still needs one.
    func dropOldKeys(of resource: StoredResource) throws -> Bool {
        try index.write { db in
            let isNeeded = try Bool.fetchOne(
                db,
                sql: """
                    SELECT EXISTS (SELECT 1 FROM segment \
                    JOIN representation ON representation.id = segment.representation
                        WHERE representation.resource = ? AND segment.key <> ?)
                    """, arguments: [resource.id.data, resource.keyNumber])
            guard isNeeded == false else { return false }
            try db.execute(
                sql: "DELETE FROM resourceKey WHERE resource = ? AND number <> ?",
                arguments: [resource.id.data, resource.keyNumber])
            try PendingErasure.record(db)
            return true
        }
    }

    /// Reseals the information about a resource's representations under another key, another resource id, or both.
    ///
    /// - Parameters:
    ///   - id: the former id of the resource.
    ///   - newID: the id that its rows already have.
    /// - Returns: the number of representations whose information does not open and is left unchanged.
    func resealInfos(
        of id: ResourceID, under key: borrowing SecretKey, as newID: ResourceID, under newKey: borrowing SecretKey,
        _ db: Database
    ) throws -> Int {
        var unopened = 0
        for row in try Row.fetchAll(
            db, sql: "SELECT \(RepresentationRow.columns) FROM representation WHERE resource = ?",
            arguments: [newID.data])
        {
            guard let row = try? RepresentationRow(row), let info = row.openInfo(of: id, under: key) else {
                unopened += 1
                continue
            }
            let sealed = try RepresentationRow.seal(info, of: row.id, newID, under: newKey)
            try RepresentationRow.update(row.id, info: sealed, db)
        }
        return unopened
    }

    // MARK: Backlog

    /// Counts the work left in a reseal, a page of resources at a time, without opening any resource.
    ///
    /// The number of the key in use shows which reseal a resource has been through. Resources that do not open count as
    /// unfinished until the reseal is over.
    ///
    /// - Parameter order: the pending order: ``VaultSettings/resealOrder``.
    /// - Returns: the backlog; nil if no order is pending and no earlier order left a resource with an older key.
    package func resealBacklog(of order: ResealOrder?) throws -> ResealBacklog? {
        var backlog = ResealBacklog(isDue: order != nil)
        if let named = order?.resources {
            for id in try index.titles.withParts(named) {
                try index.read { db in try count("id = ?", [id.data], order, into: &backlog, db) }
            }
        } else {
            try index.resources.forEachPage { db, before, last in
                try count("id > ? AND id <= ?", [before, last], order, into: &backlog, db)
            }
        }
        return backlog.isDue || backlog.resources > 0 ? backlog : nil
    }

    /// Adds the counts of some resources to a backlog.
    ///
    /// - Parameters:
    ///   - which: the SQL condition for the resources to count.
    ///   - values: the arguments of the condition.
    private func count(
        _ which: String, _ values: StatementArguments, _ order: ResealOrder?, into backlog: inout ResealBacklog,
        _ db: Database
    ) throws {
        // Without a pending order, every resource counts as begun.
        let values: StatementArguments = [order?.run ?? -1] + values
        let rest = """
            WITH rest AS (
                SELECT id, key, key > ? AS isBegun FROM resource
                WHERE \(which) AND (NOT isBegun
                    OR EXISTS (SELECT 1 FROM resourceKey WHERE resource = resource.id AND number <> resource.key)))
            """
        // A resource whose reseal has not begun will get another key, so all of its bytes are still to be resealed.
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
        // The sum is exact up to 2^53. If a damaged row keeps it from being an integer, it counts as 0.
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

/// The remainder of an unfinished reseal.
package struct ResealBacklog: Hashable, Sendable {
    /// Whether the order is still pending, so that it continues.
    ///
    /// If it is not, the remainder consists of resources that could not be resealed completely.
    package let isDue: Bool
    /// The number of unfinished resources: those whose reseal has not begun, and those with an older key beside the one
    /// in use.
    package var resources = 0
    /// The number of plaintext bytes of these resources that are still to be resealed.
    package var bytes: Int64 = 0
    /// For each generation, the number of these resources that need it only for an older key.
    ///
    /// A resource's older key is removed when the resource is finished.
    package var leaving: [Int: Int] = [:]

    package init(isDue: Bool) { self.isDue = isDue }
}
