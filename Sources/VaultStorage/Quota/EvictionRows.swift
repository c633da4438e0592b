import Foundation
import GRDB
import VaultModel

/// The index rows that determine what is evicted, and their deletion.
package struct EvictionRows {
    private let index: VaultIndex

    package init(_ index: VaultIndex) { self.index = index }

    /// Returns resources that may be evicted, in the order of eviction.
    ///
    /// These are only resources that may be evicted on their own (see ``PartRow/isUnit``) and, unless `time` is set,
    /// only those that hold bytes or are titles with parts.
    ///
    /// - Parameters:
    ///   - place: the position after which to start; nil for the beginning.
    ///   - time: limits the result to resources that were only played, and last read no later than this; nil for no
    ///     limit.
    func evictable(limit: Int, after place: EvictionPosition?, readBefore time: Int64? = nil) throws
        -> [EvictionPosition]
    {
        try index.read { db in
            let hasParts = try PartRow.hasTable(db)
            let (titles, units) = hasParts ? ("OR \(PartRow.isTitle)", "AND \(PartRow.isUnit)") : ("", "")
            let condition =
                time == nil
                ? """
                class IN ('cache', 'download') AND (EXISTS (SELECT 1 FROM representation AS r
                    JOIN segment AS s ON s.representation = r.id WHERE r.resource = resource.id) \(titles))
                """
                : "class = 'cache' AND accessed <= ?"
            return try Row.fetchAll(
                db,
                sql: """
                    SELECT id, class, accessed FROM resource WHERE \(condition) AND \(PlainColumn.hasHour) \(units)
                    \(place == nil ? "" : "AND (class = 'download', accessed, id) > (?, ?, ?)")
                    ORDER BY class = 'download', accessed, id LIMIT ?
                    """,
                arguments: StatementArguments(
                    (time.map { [$0] as [any DatabaseValueConvertible] } ?? [])
                        + (place.map { [$0.isDownload, $0.accessed, $0.resource.data] } ?? []) + [limit])
            ).compactMap { row in
                guard let row = try ResourceRow(row), let accessed = row.accessed else { return nil }
                return EvictionPosition(row.id, isDownload: row.resourceClass == .download, accessed: accessed)
            }
        }
    }

    /// Returns the disk space of the files that a size limit does not evict if it may evict `classes`.
    package func protectedFileBytes(evicting classes: Set<ResourceClass>) throws -> Int64 {
        try SegmentRows(index).fileBytesByClass().filter { $0.key != .cache && !classes.contains($0.key) }.values
            .reduce(0, +)
    }

    /// Returns whether eviction may delete an emptied resource along with its keys, which requires that the resource
    /// has no mode of its own.
    ///
    /// The caller checks the class of the resource.
    func hasNoOwnMode(_ id: ResourceID) throws -> Bool {
        try index.read { db in hasNoOwnMode(id, db) }
    }

    private func hasNoOwnMode(_ id: ResourceID, _ db: Database) -> Bool {
        // A resource that does not open counts as having no mode of its own.
        (try? index.resources.find(id, db))?.metadata.hasMode != true
    }

    /// Returns a resource as a candidate for eviction; nil if it is gone or its row has an invalid value.
    func candidate(_ id: ResourceID) throws -> EvictionPlan.Candidate? {
        try index.read { db in try Self.candidate(id, db) }
    }

    /// Returns what is evicted together: a single resource, or a title with its parts. Returns nil in the same cases as
    /// ``candidate(_:)``, and for a part that is evicted with its title.
    func unit(_ id: ResourceID) throws -> EvictionPlan.Candidate? { try index.read { db in try unit(id, db) } }

    private func unit(_ id: ResourceID, _ db: Database) throws -> EvictionPlan.Candidate? {
        guard let own = try Self.candidate(id, db), try PartRow.isUnit(id, db) else { return nil }
        let linked = try PartRow.parts(of: id, db)
        guard !linked.isEmpty else { return own }
        let cacheKey = try index.resources.opened(id, db)?.metadata.cacheKey
        let parts = try linked.map { part in
            TitlePart(part.id, isOnlyHere: try part.isOnlyHere && goes(part.id, withTitle: cacheKey, db))
        }
        return EvictionPlan.Candidate(
            resource: id, resourceClass: own.resourceClass, accessed: own.accessed,
            segments: try parts.filter(\.isOnlyHere).reduce(into: own.segments) {
                $0 += try SegmentRow.segments(of: $1.id, db)
            }, parts: parts)
    }

    /// Returns whether a part is evicted with its title. It is not if it was pinned or requested on its own, or if its
    /// sealed metadata does not name the title.
    ///
    /// - Parameter cacheKey: the cache key of the title; nil if its rows do not open.
    private func goes(_ part: ResourceID, withTitle cacheKey: [UInt8]?, _ db: Database) throws -> Bool {
        guard try ResourceRow.fetch(part, db)?.resourceClass != .pinned else { return false }
        guard let cacheKey, let metadata = try index.resources.opened(part, db)?.metadata else { return true }
        return metadata.partOf.contains(cacheKey) && !metadata.isOwn
    }

    private static func candidate(_ id: ResourceID, _ db: Database) throws -> EvictionPlan.Candidate? {
        guard let row = try ResourceRow.fetch(id, db), let resourceClass = row.resourceClass,
            let accessed = row.accessed
        else { return nil }
        return EvictionPlan.Candidate(
            resource: id, resourceClass: resourceClass, accessed: accessed,
            segments: try SegmentRow.segments(of: id, db))
    }

    /// Carries out a plan in one transaction.
    ///
    /// Segment rows are deleted, and their files become pending deletions. A resource that was only played and has no
    /// bytes left is deleted along with its keys, unless it has a mode of its own. The parts of a title are deleted,
    /// too, except that a part that is kept for another title or for itself is only unlinked.
    ///
    /// - Parameter forget: ``ResourceUse/forget``, which is called within the transaction.
    /// - Returns: the victims whose segments became pending deletions, and the number of resources deleted with them.
    func evict(
        _ victims: [EvictionPlan.Victim], forget: (ResourceID) -> Bool
    ) throws -> (victims: [EvictionPlan.Victim], resources: Int) {
        try index.write { db in
            var evicted: [EvictionPlan.Victim] = []
            var resources = 0
            for victim in victims {
                guard let now = try unit(victim.resource, db), now.resourceClass != .pinned,
                    now.accessed <= victim.accessed, now.parts == victim.parts, forget(victim.resource),
                    victim.parts.allSatisfy({ forget($0.id) })
                else { continue }
                for segment in victim.segments { try PendingDeletion.insert(segment.id, db) }
                evicted.append(victim)
                let bytes = victim.segments.reduce(0) { $0 + $1.length }
                try index.completeness.noteLoss(of: bytes, from: victim.resource, isEverything: victim.isWhole, db)
                for part in victim.parts {
                    if part.isOnlyHere {
                        try ResourceRow.delete(part.id, db)
                    } else {
                        try index.titles.leave(victim.resource, part.id, db)
                    }
                }
                guard victim.isWhole, now.resourceClass == .cache, hasNoOwnMode(victim.resource, db) else { continue }
                try ResourceRow.delete(victim.resource, db)
                resources += 1
            }
            return (evicted, resources)
        }
    }
}
