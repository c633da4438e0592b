import Foundation
import GRDB
package import VaultModel

// Measuring disk space and evicting resources.
extension VaultIndex {
    /// The SQL expression for the space that a segment's file takes on the disk.
    private static let diskBytes = """
        ((\(SegmentDescription.headerByteCount) + segment.length + \(SegmentDescription.tagByteCount)
            * ((segment.length + segment.blockSize - 1) / segment.blockSize)
            + \(SegmentDescription.diskUnit - 1)) / \(SegmentDescription.diskUnit) * \(SegmentDescription.diskUnit))
        """

    /// Returns the disk space of the files of all segments, or of one, according to their rows.
    package func fileBytes(of segment: SegmentID? = nil) throws -> Int64 {
        try read { db in
            let total = try Double.fetchOne(
                db,
                sql: """
                    SELECT total(\(Self.diskBytes)) FROM segment
                    WHERE \(PlainColumn.isSegment) \(segment == nil ? "" : "AND id = ?")
                    """, arguments: segment.map { [$0.data] } ?? [])
            // Exact up to 2^53; a damaged row counts as nothing.
            return Int64(exactly: (total ?? 0).rounded()) ?? 0
        }
    }

    /// Returns resources that may be evicted, in the order of eviction.
    ///
    /// Only resources that hold bytes are returned, unless `time` is given.
    ///
    /// - Parameters:
    ///   - place: only resources after this place.
    ///   - time: only resources that were only played, and last read no later than this.
    func evictable(limit: Int, after place: EvictionPosition?, readBefore time: Int64? = nil) throws
        -> [EvictionPosition]
    {
        let condition =
            time == nil
            ? """
            class IN ('cache', 'download') AND EXISTS (SELECT 1 FROM representation AS r
                JOIN segment AS s ON s.representation = r.id WHERE r.resource = resource.id)
            """
            : "class = 'cache' AND accessed <= ?"
        return try read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT id, class, accessed FROM resource WHERE \(condition) AND \(PlainColumn.hasHour)
                    \(place == nil ? "" : "AND (class = 'download', accessed, id) > (?, ?, ?)")
                    ORDER BY class = 'download', accessed, id LIMIT ?
                    """,
                arguments: StatementArguments(
                    (time.map { [$0] as [any DatabaseValueConvertible] } ?? [])
                        + (place.map { [$0.isDownload, $0.accessed, $0.resource.data] } ?? []) + [limit])
            ).compactMap { row in
                guard let id = ResourceID(try row.column("id")) else { return nil }
                return EvictionPosition(
                    id, isDownload: try row.column("class") == ResourceClass.download.rawValue,
                    accessed: try row.column("accessed"))
            }
        }
    }

    /// Returns the disk space of files that no size limit evicts.
    package func protectedFileBytes(evicting classes: Set<ResourceClass>) throws -> Int64 {
        let kept = [ResourceClass.pinned, .download].filter { !classes.contains($0) }.map { "'\($0.rawValue)'" }
        return try read { db in
            let total = try Double.fetchOne(
                db,
                sql: """
                    SELECT total(\(Self.diskBytes))
                    FROM segment JOIN representation ON representation.id = segment.representation
                    JOIN resource ON resource.id = representation.resource
                    WHERE resource.class IN (\(kept.joined(separator: ","))) AND \(PlainColumn.isSegment)
                    """)
            return Int64(exactly: (total ?? 0).rounded()) ?? 0
        }
    }

    /// Moves last-access times that came from a wrong clock to the right time.
    func moveAccessTimes(from first: Int64, through last: Int64, to time: Int64) throws {
        try write { db in
            try db.execute(
                sql: "UPDATE resource SET accessed = ? WHERE accessed BETWEEN ? AND ?",
                arguments: [PlainColumn.hour(of: time), PlainColumn.hour(of: first), PlainColumn.hour(of: last)])
        }
    }

    /// Returns whether eviction may delete an emptied resource with its keys: it has no mode of its own.
    ///
    /// The caller checks the class of the resource.
    func hasNoOwnMode(_ id: ResourceID) throws -> Bool {
        // A resource that does not open counts as having no mode of its own.
        try read { db in (try? resource(id, db))?.metadata.hasMode != true }
    }

    /// Returns a resource as a candidate for eviction; nil if it is gone or its row has an impossible value.
    func candidate(_ id: ResourceID) throws -> EvictionPlan.Candidate? {
        try read { db in try Self.candidate(id, db) }
    }

    private static func candidate(_ id: ResourceID, _ db: Database) throws -> EvictionPlan.Candidate? {
        let found = try Row.fetchOne(
            db, sql: "SELECT class, accessed FROM resource WHERE id = ?", arguments: [id.data])
        guard let row = found, let name: String = try? row.column("class"),
            let resourceClass = ResourceClass(rawValue: name),
            let accessed = try? row.column("accessed", in: PlainColumn.hours)
        else { return nil }
        return EvictionPlan.Candidate(
            resource: id, resourceClass: resourceClass, accessed: accessed, segments: try segments(of: id, db))
    }

    private static func segments(of resource: ResourceID, _ db: Database) throws -> [SegmentDescription] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT segment.* FROM segment JOIN representation ON representation.id = segment.representation
                WHERE representation.resource = ?
                """, arguments: [resource.data]
        ).compactMap { segment($0) }
    }

    /// Carries out a plan in one transaction.
    ///
    /// Rows are deleted, and files become pending deletions. A resource that was only played and has nothing left is
    /// deleted with its keys, unless it has a mode of its own.
    ///
    /// - Parameter letGo: ``ResourceUse/letGo``; called within the transaction.
    /// - Returns: the victims whose segments became pending deletions, and the number of resources deleted with them.
    func evict(
        _ victims: [EvictionPlan.Victim], letGo: (ResourceID) -> Bool
    ) throws -> (victims: [EvictionPlan.Victim], resources: Int) {
        try write { db in
            var evicted: [EvictionPlan.Victim] = []
            var resources = 0
            for victim in victims {
                guard let now = try Self.candidate(victim.resource, db), now.resourceClass != .pinned,
                    now.accessed <= victim.accessed, letGo(victim.resource)
                else { continue }
                for segment in victim.segments { try Self.doom(segment.id, db) }
                evicted.append(victim)
                guard victim.isWhole, now.resourceClass == .cache,
                    // A resource that does not open counts as having no mode of its own.
                    (try? resource(victim.resource, db))?.metadata.hasMode != true
                else { continue }
                try Self.delete(victim.resource, db)
                resources += 1
            }
            return (evicted, resources)
        }
    }

    /// Returns whether there is such a resource, even if it does not open.
    package func hasResource(_ id: ResourceID) throws -> Bool {
        try read { db in
            try Bool.fetchOne(db, sql: "SELECT 1 FROM resource WHERE id = ?", arguments: [id.data]) ?? false
        }
    }

    /// Deletes a resource with its keys and everything it holds.
    ///
    /// - Parameter change: changes the settings within the same transaction.
    /// - Returns: the segments that became pending deletions; nil if there is no such resource.
    func remove(
        _ id: ResourceID, noting change: ((inout VaultSettings) -> Void)? = nil
    ) throws -> [SegmentDescription]? {
        try write { db in
            guard try Bool.fetchOne(db, sql: "SELECT 1 FROM resource WHERE id = ?", arguments: [id.data]) != nil else {
                return nil
            }
            let segments = try Self.segments(of: id, db)
            try Self.delete(id, db)
            try Self.requireErasure(db)
            if let change {
                var settings = try self.settings(db)
                change(&settings)
                try self.write(settings, db)
            }
            return segments
        }
    }

    private static func delete(_ resource: ResourceID, _ db: Database) throws {
        let representations = try Data.fetchAll(
            db, sql: "SELECT id FROM representation WHERE resource = ?", arguments: [resource.data])
        for representation in representations { try markSegmentsForDeletion(of: representation, db) }
        try db.execute(sql: "DELETE FROM representation WHERE resource = ?", arguments: [resource.data])
        try db.execute(sql: "DELETE FROM resource WHERE id = ?", arguments: [resource.data])
    }

    private static func doom(_ segment: SegmentID, _ db: Database) throws {
        try db.execute(sql: "INSERT OR IGNORE INTO doomed VALUES (?)", arguments: [segment.data])
        try db.execute(sql: "DELETE FROM segment WHERE id = ?", arguments: [segment.data])
    }

    /// Changes a resource's class.
    ///
    /// - Parameter only: changes nothing if the resource has another class than this one.
    /// - Returns: whether there is such a resource.
    package func setClass(
        _ resourceClass: ResourceClass, of id: ResourceID, only: ResourceClass? = nil
    ) throws -> Bool {
        try write { db in
            try db.execute(
                sql: "UPDATE resource SET class = ? WHERE id = ? AND class = coalesce(?, class)",
                arguments: [resourceClass.rawValue, id.data, only?.rawValue])
            return try Bool.fetchOne(db, sql: "SELECT 1 FROM resource WHERE id = ?", arguments: [id.data]) ?? false
        }
    }
}
