package import VaultModel

// Many small segments become few files: adjacent closed segments are resealed as one.
extension VaultStore {
    /// Joins adjacent closed segments, as ``SegmentJoin`` chose them.
    ///
    /// The joined segment is sealed under a new id, written and synced. Then one transaction completes its row and
    /// makes the old segments pending deletions. The old files stay until ``removeReplaced(_:by:)``.
    ///
    /// - Returns: the segment that now holds the bytes; nil if there is no space for it beside the old ones, or if one
    ///   of these has changed.
    /// - Throws: ``SegmentFailure`` if an old segment cannot be opened; all of them are then kept. ``VaultError`` if
    ///   the new one cannot be written.
    package func join(_ old: [SegmentDescription], of resource: StoredResource) throws -> SegmentDescription? {
        guard let first = old.first, let last = old.last else { return nil }
        var joined = first
        joined.length = last.range.upperBound - first.start
        // Nothing is evicted to make space for it.
        let needed = joined.diskSize + StorageQuota.step + quota.limits.free
        guard quota.account.freeBytes().map({ $0 >= needed }) ?? true,
            quota.account.shortage(of: joined.diskSize) == nil
        else {
            return nil
        }
        return try resealRuns(old, as: [joined.range], of: resource, keepsLimits: true)?.first
    }

    /// Returns the segments of a resource to join next; nil if there are none.
    ///
    /// - Parameters:
    ///   - excluded: segments that could not be joined.
    ///   - isWhole: whether every byte of the resource is held.
    package func neighbours(
        of resource: StoredResource, excluding excluded: Set<SegmentID>, isWhole: Bool
    ) throws -> [SegmentDescription]? {
        guard let serving = resource.serving else { return nil }
        let closed = try SegmentRows(index).soundSegments(of: serving.id, key: resource.keyNumber).filter {
            !excluded.contains($0.id)
        }
        return SegmentJoin.next(of: closed.map(\.range), isWhole: isWhole).map { Array(closed[$0]) }
    }
}

/// The choice of segments to join: a pure function of the existing segments.
package enum SegmentJoin {
    /// The maximum number of files that are joined into one.
    static let maxFiles = 256

    /// Returns the longest run of adjacent segments that fit into one; nil if no two are to be joined.
    ///
    /// While more bytes may come, a segment that was joined before is resealed only with at least half as many bytes
    /// beside it. So each byte of a resource that arrives in small pieces is sealed a few times, not once for each
    /// piece.
    ///
    /// - Parameters:
    ///   - ranges: the ranges of segments, in ascending order.
    ///   - isWhole: whether every byte of the resource is held.
    package static func next(of ranges: [ByteRange], isWhole: Bool) -> Range<Int>? {
        var best = 0..<1
        for first in ranges.indices {
            var largest: Int64 = 0
            for index in first..<min(ranges.endIndex, first + maxFiles) {
                if index > first, ranges[index - 1].upperBound != ranges[index].lowerBound { break }
                let length = ranges[index].upperBound - ranges[first].lowerBound
                guard length <= SegmentDescription.maxBytes else { break }
                largest = max(largest, ranges[index].length)
                let isWorthIt = isWhole || (length - largest) * 2 >= largest
                if isWorthIt, index - first >= best.count { best = first..<index + 1 }
            }
        }
        return best.count > 1 ? best : nil
    }
}
