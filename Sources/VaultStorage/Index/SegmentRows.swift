import Foundation
import GRDB
package import VaultModel

/// The rows of the segments, including the segments that are pending deletion.
package struct SegmentRows {
    private let index: VaultIndex

    package init(_ index: VaultIndex) { self.index = index }

    // MARK: Reading

    /// Returns the segments that the last owner left open, each with its resource.
    package func openSegments() throws -> [(segment: SegmentDescription, resource: ResourceID)] {
        try index.read { db in
            try SegmentRow.segments(where: "state = 'open'", [], db).compactMap { segment in
                try RepresentationRow.fetch(segment.representation, db)?.resource.map { (segment, $0) }
            }
        }
    }

    /// Returns those closed segments of a representation that are sealed under a given key and have no bad block.
    ///
    /// They are in ascending order of their first byte.
    func soundSegments(of representation: RepresentationID, key: Int) throws -> [SegmentDescription] {
        try index.read { db in
            try SegmentRow.segments(
                where: """
                    representation = ? AND key = ? AND state = 'closed' AND length > 0
                        AND NOT EXISTS (SELECT 1 FROM badBlock WHERE badBlock.segment = segment.id)
                    ORDER BY start
                    """, [representation.data, key], db)
        }
    }

    /// Returns the page of segments pending deletion that follows a given id, in the order of their ids.
    package func segmentsPendingDeletion(after last: SegmentID? = nil, limit: Int) throws -> [SegmentID] {
        try index.read { db in try PendingDeletion.fetch(after: last, limit: limit, db) }
    }

    /// The SQL expression for the disk space that a segment's file takes, in bytes.
    private static let diskBytes = """
        ((\(SegmentDescription.headerByteCount) + segment.length + \(SegmentDescription.tagByteCount)
            * ((segment.length + segment.blockSize - 1) / segment.blockSize)
            + \(SegmentDescription.diskUnit - 1)) / \(SegmentDescription.diskUnit) * \(SegmentDescription.diskUnit))
        """

    /// Returns the disk space, in bytes, that the files of all segments, or of one, take according to their rows.
    package func fileBytes(of segment: SegmentID? = nil) throws -> Int64 {
        try index.read { db in
            let statement = try db.cachedStatement(
                sql: """
                    SELECT total(\(Self.diskBytes)) FROM segment
                    WHERE \(PlainColumn.isSegment) \(segment == nil ? "" : "AND id = ?")
                    """)
            let total = try Double.fetchOne(statement, arguments: segment.map { [$0.data] } ?? [])
            // The sum is exact up to 2^53. If a damaged row makes it unrepresentable, it counts as 0.
            return Int64(exactly: (total ?? 0).rounded()) ?? 0
        }
    }

    /// Returns the disk space that the segment files of each class take, in bytes. Classes without files are left out.
    package func fileBytesByClass() throws -> [ResourceClass: Int64] {
        try index.read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT resource.class AS class, total(\(Self.diskBytes)) AS bytes
                    FROM segment JOIN representation ON representation.id = segment.representation
                    JOIN resource ON resource.id = representation.resource
                    WHERE \(PlainColumn.isSegment) GROUP BY resource.class
                    """)
            return rows.reduce(into: [:]) { sums, row in
                // A damaged row is left out.
                guard let name = String.fromDatabaseValue(row["class"]), let known = ResourceClass(rawValue: name),
                    let total = Double.fromDatabaseValue(row["bytes"])
                else { return }
                sums[known] = Int64(exactly: total.rounded())
            }
        }
    }

    // MARK: Writing

    /// Adds the row of a new segment, which is open and empty, before the segment's file exists.
    ///
    /// - Throws: ``VaultError`` with code `changed` if the segment's resource was removed or now has another key in
    ///   use.
    package func begin(_ segment: SegmentDescription, now: Int64) throws {
        try index.writeWithoutSync { db in
            guard try SegmentRow.insertOpen(segment, now: now, db) else {
                throw VaultError(.changed, "the resource was removed, or has a new key; open it again")
            }
        }
    }

    /// Records the durable length of a segment, and the number of fetched bytes, in one transaction.
    ///
    /// - Parameter packed: the files whose last bytes become durable with this, and the pack that holds them.
    /// - Returns: the files that were not recorded, because they have become resources of their own.
    /// - Throws: ``VaultError`` with code `integrity` if the segment's good bytes would overlap another segment's,
    ///   `changed` if the segment was invalidated in the meantime.
    @discardableResult
    package func commit(
        _ segment: SegmentDescription, closed: Bool, fetched: Int64,
        packed: (parts: [PackedPart], pack: ResourceID)? = nil
    ) throws -> [ResourceID] {
        try index.writeTogether { [index] db in
            try SegmentRow.requireNoOverlap(segment, db)
            guard try SegmentRow.update(segment, closed: closed, db) else {
                throw VaultError(
                    .changed, "a segment was invalidated while it was being written; open the resource again")
            }
            try index.countFetched(fetched, db)
            return try packed.map { try index.packs.record($0.parts, in: $0.pack, db) } ?? []
        }
    }

    /// Adds the row of a segment whose file is complete and durable, replacing the segment's former row.
    ///
    /// - Returns: false, without changing anything, if another segment holds any of the segment's good bytes or the
    ///   segment is pending deletion.
    package func adopt(_ segment: SegmentDescription, badBlocks: Set<Int> = [], now: Int64) throws -> Bool {
        do {
            try index.write { db in
                guard try !PendingDeletion.contains(segment.id, db) else { throw IndexError.damaged }
                try SegmentRow.requireNoOverlap(segment, badBlocks: badBlocks, db)
                try SegmentRow.replaceClosed(segment, badBlocks: badBlocks, now: now, db)
            }
            return true
        } catch let error as VaultError where error.code == .integrity {
            return false
        }
    }

    /// Replaces segments with others in one transaction. The old segments become pending deletions.
    ///
    /// - Parameter new: segments that hold the bytes of the old ones. Their rows were begun, and their files are
    ///   durable.
    /// - Returns: false, without writing anything, if an old segment has changed.
    func exchange(_ old: [SegmentDescription], for new: [SegmentDescription]) throws -> Bool {
        try index.write { db in
            let times = try old.compactMap { segment in
                try Int64.fetchOne(
                    db,
                    // An invalid last-access time is no reason to refuse the segment, because it says nothing about the
                    // bytes.
                    sql: """
                        SELECT coalesce(CAST(accessed AS INTEGER), 0) FROM segment
                        WHERE id = ? AND length = ? AND state = 'closed'
                        """,
                    arguments: [segment.id.data, segment.length])
            }
            guard times.count == old.count, let accessed = times.map(PlainColumn.hour).max() else { return false }
            for segment in old { try PendingDeletion.insert(segment.id, db) }
            for segment in new {
                try SegmentRow.requireNoOverlap(segment, db)
                guard try SegmentRow.update(segment, closed: true, accessed: accessed, db) else {
                    throw VaultError(.changed, "a segment was invalidated while it was being resealed; run it again")
                }
            }
            return true
        }
    }

    /// Records a block whose tag check failed, so that the block's range becomes a gap.
    package func markBad(_ segment: SegmentID, block: Int) throws {
        try index.write { db in
            guard try BadBlocks.insert(block, of: segment, db),
                let lost = try SegmentRow.segments(where: "id = ?", [segment.data], db).first,
                (0..<lost.blockCount).contains(block)
            else { return }
            try index.completeness.noteLoss(of: lost.range(ofBlock: block).length, fromSegment: segment, db)
        }
    }

    /// Deletes a segment's row.
    ///
    /// - Parameter deletesFile: whether the segment's file becomes a pending deletion; false if the file is missing or
    ///   was moved aside.
    /// - Returns: whether the segment had a row.
    @discardableResult
    package func drop(_ id: SegmentID, deletesFile: Bool) throws -> Bool {
        try index.write { db in
            let bytes = try SegmentRow.segments(where: "id = ?", [id.data], db).first?.length ?? 0
            if bytes > 0 { try index.completeness.noteLoss(of: bytes, fromSegment: id, db) }
            return try deletesFile ? PendingDeletion.insert(id, db) : SegmentRow.delete(id, db)
        }
    }

    /// Removes segments from the list of pending deletions once their files are durably gone.
    ///
    /// If a power loss undoes this, the vault tries again to remove the files.
    package func forgetPendingDeletions(_ ids: [SegmentID]) throws {
        try index.writeWithoutSync { db in
            for id in ids { try PendingDeletion.delete(id, db) }
        }
    }
}
