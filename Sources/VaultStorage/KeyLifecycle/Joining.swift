import GRDB
package import VaultModel

// What came in small pieces becomes few files: closed neighbours are sealed anew as one segment.
extension VaultStore {
    /// Joins closed segments that lie side by side, as ``SegmentJoin`` chose them: sealed under a new id, written and
    /// synced; then one transaction inserts the new row and condemns the old ones. The old files stay until
    /// ``removeReplaced(_:by:)``.
    ///
    /// - Returns: what holds the bytes now; nil where there is no room for it beside the old ones, or one of these is not
    ///   what it was any more.
    /// - Throws: ``SegmentFailure`` where one cannot be opened: all stay; ``VaultError`` where it cannot be written.
    package func join(_ old: [SegmentDescription], of resource: StoredResource) throws -> SegmentDescription? {
        guard let first = old.first, let last = old.last else { return nil }
        var joined = first
        joined.length = last.range.upperBound - first.start
        // Nothing is evicted for it.
        let needed = joined.diskSize + StorageQuota.step + room.limits.free
        guard room.freeBytes().map({ $0 >= needed }) ?? true, room.shortage(of: joined.diskSize) == nil else { return nil }
        return try sealAnew(old, as: [joined.range], of: resource, keepsLimits: true)?.first
    }

    /// Segments of a resource that are to be joined now; nil where there are none.
    ///
    /// - Parameters:
    ///   - excluded: those that could not be joined.
    ///   - isWhole: whether every byte of it is held.
    package func neighbours(
        of resource: StoredResource, excluding excluded: Set<SegmentID>, isWhole: Bool
    ) throws -> [SegmentDescription]? {
        guard let serving = resource.serving else { return nil }
        let closed = try index.soundSegments(of: serving.id, key: resource.keyNumber).filter { !excluded.contains($0.id) }
        return SegmentJoin.next(of: closed.map(\.range), isWhole: isWhole).map { Array(closed[$0]) }
    }
}

/// Which segments are joined: a pure function of those there are.
package enum SegmentJoin {
    /// No more files than this are read for one.
    static let mostFiles = 256

    /// The most that lie side by side and fit one segment; nil where no two are to be joined.
    ///
    /// Where more may come, what was joined before is sealed once more only with at least half as many bytes beside it: so
    /// a title that comes in small pieces has each byte sealed a few times, and not once for each piece.
    ///
    /// - Parameters:
    ///   - ranges: of segments, in ascending order.
    ///   - isWhole: whether every byte of the title is held.
    package static func next(of ranges: [ByteRange], isWhole: Bool) -> Range<Int>? {
        var best = 0..<1
        for first in ranges.indices {
            var largest: Int64 = 0
            for index in first..<min(ranges.endIndex, first + mostFiles) {
                if index > first, ranges[index - 1].upperBound != ranges[index].lowerBound { break }
                let length = ranges[index].upperBound - ranges[first].lowerBound
                guard length <= SegmentDescription.mostBytes else { break }
                largest = max(largest, ranges[index].length)
                let isWorthIt = isWhole || (length - largest) * 2 >= largest
                if isWorthIt, index - first >= best.count { best = first..<index + 1 }
            }
        }
        return best.count > 1 ? best : nil
    }
}

extension VaultIndex {
    /// The closed segments of a representation that are sealed under one key and of which no block is bad, in ascending
    /// order.
    func soundSegments(of representation: RepresentationID, key: Int) throws -> [SegmentDescription] {
        try read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT * FROM segment WHERE representation = ? AND key = ? AND state = 'closed' AND length > 0
                        AND \(PlainColumn.isSegment) AND NOT EXISTS
                            (SELECT 1 FROM badBlock WHERE badBlock.segment = segment.id)
                    ORDER BY start
                    """, arguments: [representation.data, key]
            ).compactMap { Self.segment($0) }
        }
    }
}
