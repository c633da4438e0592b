import Foundation
import GRDB
import VaultCrypto
package import VaultModel

extension VaultIndex {
    /// Resources in the order in which they are sealed anew: newest risk first.
    ///
    /// First what was begun; then what the oldest generation wraps, which was seen by most keyrings; of those what was
    /// read last, whose key was in memory last.
    package func resealQueue() throws -> [ResourceID] {
        try read { db in
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

    /// Bytes that a resource holds, all its representations together.
    package func bytes(of resource: ResourceID) throws -> Int64 {
        try read { db in
            try Int64.fetchOne(
                db,
                sql: """
                    SELECT total(segment.length) FROM segment
                    JOIN representation ON representation.id = segment.representation
                    WHERE representation.resource = ? AND \(PlainColumn.isSegment)
                    """, arguments: [resource.data]) ?? 0
        }
    }

    /// Gives a resource another key, and seals under it what is known of the resource and of its representations, all in
    /// one transaction. Segments follow one by one; the older keys stay until none needs them.
    ///
    /// - Parameter run: the number of the reseal. A resource that got its key in this run keeps it.
    /// - Returns: the resource as it is then; nil where there is none.
    func beginReseal(_ id: ResourceID, run: Int64) throws -> StoredResource? {
        try write { db in
            guard let resource = try self.resource(id, db) else { return nil }
            guard resource.metadata.resealRun != run else { return resource }
            guard let old = resource.keys[resource.keyNumber] else { throw IndexError.damaged }
            // Above those of all runs before, so that the number in use tells whether this one has begun.
            let number = max(resource.keys.keys.max() ?? 0, Int(run)) + 1
            guard PlainColumn.numbers.contains(number) else { throw IndexError.damaged }
            let key = try SecureRandom.key("resource key")
            let generation = keyring.currentGeneration
            guard let wrapped = try keyring.wrap(key, resource: id, number: number, generation: generation) else {
                throw IndexError.damaged
            }
            let metadataKey = try KeyDerivation.key(from: key, .metadata)
            var metadata = resource.metadata
            metadata.resealRun = run
            let sealed = try SealedDocument.seal(
                metadata.object, key: metadataKey, associatedData: Self.metadataData(id))
            try db.execute(
                sql: "INSERT INTO resourceKey VALUES (?, ?, ?, ?)",
                arguments: [id.data, number, generation, wrapped.data])
            let oldKey = try KeyDerivation.key(from: old.secret, .metadata)
            guard try sealInfos(of: id, under: oldKey, as: id, under: metadataKey, db) == 0 else {
                throw IndexError.damaged
            }
            try db.execute(
                sql: "UPDATE resource SET key = ?, metadata = ? WHERE id = ?",
                arguments: [number, sealed.data, id.data])
            return try self.resource(id, db)
        }
    }

    /// Segments that are not sealed under the key in use, a page of them.
    package func resealTasks(of resource: StoredResource, limit: Int) throws -> [ResealTask] {
        try read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT segment.* FROM segment JOIN representation ON representation.id = segment.representation
                    WHERE representation.resource = ? AND segment.key <> ? AND \(PlainColumn.isSegment)
                    ORDER BY segment.state = 'open', segment.representation, segment.start LIMIT ?
                    """, arguments: [resource.id.data, resource.keyNumber, limit])
            return try rows.compactMap { row in
                guard let segment = Self.segment(row) else { return nil }
                let bad = try Int.fetchAll(
                    db, sql: "SELECT block FROM badBlock WHERE segment = ?", arguments: [segment.id.data])
                return ResealTask(
                    segment: segment, isOpen: try row.column("state") == "open", badBlocks: Set(bad))
            }
        }
    }

    /// Puts segments in the place of others, which are condemned: all in one transaction.
    ///
    /// - Parameter new: segments whose rows were begun and whose files are durable; they hold the old ones' bytes.
    /// - Returns: false where an old one is not what it was: then nothing has changed.
    func exchange(_ old: [SegmentDescription], for new: [SegmentDescription]) throws -> Bool {
        try write { db in
            let times = try old.compactMap { segment in
                try Int64.fetchOne(
                    db,
                    // Whatever stands there, it says nothing of the bytes.
                    sql: """
                        SELECT coalesce(CAST(accessed AS INTEGER), 0) FROM segment
                        WHERE id = ? AND length = ? AND state = 'closed'
                        """,
                    arguments: [segment.id.data, segment.length])
            }
            guard times.count == old.count, let accessed = times.map(PlainColumn.hour).max() else { return false }
            for segment in old {
                try db.execute(sql: "INSERT OR IGNORE INTO doomed VALUES (?)", arguments: [segment.id.data])
                try db.execute(sql: "DELETE FROM segment WHERE id = ?", arguments: [segment.id.data])
            }
            for segment in new {
                try self.requireNoOverlap(segment, db)
                try db.execute(
                    sql: "UPDATE segment SET length = ?, state = 'closed', accessed = ? WHERE id = ?",
                    arguments: [segment.length, accessed, segment.id.data])
                guard db.changesCount == 1 else {
                    throw VaultError(.changed, "a segment was condemned while it was sealed anew; run it again")
                }
            }
            return true
        }
    }

    /// Deletes the keys that a resource had before the one in use.
    ///
    /// - Returns: false where a segment still needs one: then all stay.
    func dropOldKeys(of resource: StoredResource) throws -> Bool {
        try write { db in
            let isNeeded = try Bool.fetchOne(
                db,
                sql: """
                    SELECT EXISTS (SELECT 1 FROM segment JOIN representation ON representation.id = segment.representation
                        WHERE representation.resource = ? AND segment.key <> ?)
                    """, arguments: [resource.id.data, resource.keyNumber])
            guard isNeeded == false else { return false }
            try db.execute(
                sql: "DELETE FROM resourceKey WHERE resource = ? AND number <> ?",
                arguments: [resource.id.data, resource.keyNumber])
            try Self.oweErasure(db)
            return true
        }
    }
}

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

/// What is left of a reseal that was not finished.
package struct ResealBacklog: Hashable, Sendable {
    /// Whether it is ordered still, and gone on with. What is over has left behind resources that could not be sealed
    /// anew in whole.
    package let isDue: Bool
    /// Resources that are not done: not begun, or with an older key beside the one in use.
    package var resources = 0
    /// Plaintext bytes of theirs that are still to be sealed anew.
    package var bytes: Int64 = 0
    /// For each generation, how many of those resources need it for nothing but an older key, which goes when they are
    /// done.
    package var leaving: [Int: Int] = [:]

    package init(isDue: Bool) { self.isDue = isDue }
}
