package import VaultModel

/// Reseals adjacent closed segments of a resource as one, so that many small files become few.
package struct SegmentJoin {
    private let store: VaultStore

    package init(_ store: VaultStore) { self.store = store }

    /// Joins adjacent closed segments that ``next(of:excluding:isWhole:)`` chose.
    ///
    /// The joined segment is sealed under a new id, written and synced. Then one transaction completes its row and
    /// makes the old segments pending deletions. The old files stay until ``SegmentReseal/removeReplaced(_:by:)``.
    ///
    /// - Returns: the segment that now holds the bytes; nil if there is no space for it beside the old ones, or if an
    ///   old segment has changed.
    /// - Throws: ``SegmentFailure`` if an old segment cannot be opened; all old segments are then kept. ``VaultError``
    ///   if the new one cannot be written.
    package func join(_ old: [SegmentDescription], of resource: StoredResource) throws -> SegmentDescription? {
        guard let first = old.first, let last = old.last else { return nil }
        var joined = first
        joined.length = last.range.upperBound - first.start
        // The space must already be free, because nothing is evicted for a join.
        let needed = joined.diskSize + StorageQuota.step + store.quota.limits.free
        guard store.quota.account.freeBytes().map({ $0 >= needed }) ?? true,
            store.quota.account.shortage(of: joined.diskSize) == nil
        else {
            return nil
        }
        return try SegmentReseal(store).resealRuns(old, as: [joined.range], of: resource, keepsLimits: true)?.first
    }

    /// Returns the segments of a resource that are to be joined next; nil if there are none.
    ///
    /// - Parameters:
    ///   - excluded: the segments that could not be joined earlier.
    ///   - isWhole: whether every byte of the resource is held.
    package func next(
        of resource: StoredResource, excluding excluded: Set<SegmentID>, isWhole: Bool
    ) throws -> [SegmentDescription]? {
        guard let serving = resource.serving else { return nil }
        let closed = try SegmentRows(store.index).soundSegments(of: serving.id, key: resource.keyNumber).filter {
            !excluded.contains($0.id)
        }
        return Self.next(of: closed.map(\.range), isWhole: isWhole).map { Array(closed[$0]) }
    }

    // MARK: Choosing

    /// The maximum number of files that are joined into one.
    static let maxFiles = 256

    /// Returns the longest run of adjacent segments that fit into one segment; nil if no segments are to be joined.
    ///
    /// While more bytes may arrive, a run is joined only if the other segments have at least half as many bytes as the
    /// largest one. As a result, each byte of a resource that arrives in small pieces is sealed a few times, not once
    /// for each piece.
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
