import VaultModel

/// Removes segments whose rows were deleted: first their files, then their entries in the list of pending deletions.
final class SegmentRemoval: Sendable {
    private let index: VaultIndex
    private let segments: any SegmentStore
    private let account: QuotaAccount
    /// The segments whose files are being removed. Each segment has only one caller that removes it, so that the size
    /// of its file is subtracted once.
    private let removing = Locked(Set<SegmentID>())
    /// The segments that were abandoned while the index could not be written. They serve nothing, and their rows are
    /// still to be deleted.
    private let abandoned = Locked(Set<SegmentID>())
    /// The segments of running imports. They are listed as pending deletions in case this process is killed, but are
    /// not removed while it runs.
    private let spared = Locked(Set<SegmentID>())

    init(_ index: VaultIndex, _ segments: any SegmentStore, _ account: QuotaAccount) {
        self.index = index
        self.segments = segments
        self.account = account
    }

    /// The abandoned segments whose rows could not be deleted yet.
    var abandonedSegments: Set<SegmentID> { abandoned.withLock { $0 } }

    /// Deletes the row of an abandoned segment; if that fails, remembers the segment for later.
    func abandon(_ id: SegmentID, deletingRow delete: () throws -> Void) throws {
        do {
            try delete()
        } catch {
            abandoned.withLock { _ = $0.insert(id) }
            throw error
        }
        abandoned.withLock { _ = $0.remove(id) }
    }

    /// Keeps ``finish()`` from removing a segment. This is called before the segment is listed, and undone once it has
    /// a row.
    func spare(_ id: SegmentID) { spared.withLock { _ = $0.insert(id) } }

    func spareNoMore(_ ids: [SegmentID]) { spared.withLock { $0.subtract(ids) } }

    /// Removes the files of all segments that are pending deletion.
    ///
    /// A segment whose file cannot be removed stays on the list for the next attempt, because that is not a reason to
    /// refuse a vault or to stop playback.
    func finish() throws {
        var last: SegmentID?
        var stillListed: [SegmentID] = []
        // There is one pass through the list, so that a segment that stays on the list is tried only once. Each page
        // syncs each folder once.
        while true {
            // The page is read and filtered under one lock. Otherwise an import could end in between, and its segments
            // would be removed although they have rows now.
            let (page, end) = try spared.withLock { spared in
                let page = try SegmentRows(index).segmentsPendingDeletion(after: last, limit: 4096)
                return (page.filter { !spared.contains($0) }, page.last)
            }
            guard let end else { break }
            last = end
            stillListed += try removeFiles(of: page).stillListed
        }
        // If the index could not be written before, there may be space for the write now.
        if !stillListed.isEmpty { try? SegmentRows(index).forgetPendingDeletions(stillListed) }
    }

    /// Removes the files of segments that are pending deletion, and then takes the segments off the list.
    ///
    /// - Returns: the segments whose files are durably gone although the list still names them, and the disk space, in
    ///   bytes, of the files that are no longer in their folders.
    @discardableResult
    func removeFiles(of ids: [SegmentID]) throws -> (stillListed: [SegmentID], bytes: Int64) {
        let mine = removing.withLock { removing in ids.filter { removing.insert($0).inserted } }
        defer { removing.withLock { $0.subtract(mine) } }
        var bytes: Int64 = 0
        let removed = mine.filter { id in
            // The size is measured just before the removal, because a file that is already gone no longer counts.
            let size = diskSize(of: id)
            guard (try? segments.remove(id)) != nil else { return false }
            bytes += account.remove(id, size: size)
            return true
        }
        // One sync makes all removals from a folder durable.
        let folders = Dictionary(grouping: removed) { $0.bytes.first }
        let gone = folders.values.filter { ids in
            ids.first.map { (try? segments.synchronizeName(of: $0)) != nil } ?? false
        }.flatMap(\.self)
        guard !gone.isEmpty else { return ([], bytes) }
        do {
            try SegmentRows(index).forgetPendingDeletions(gone)
            return ([], bytes)
        } catch {
            // A full disk may refuse this write. The segments are then taken off the list the next time.
            return (gone, bytes)
        }
    }

    /// Returns the disk space of a segment's file; 0 if there is no file.
    func diskSize(of id: SegmentID) -> Int64 {
        SegmentDescription.diskSize(ofFile: (try? segments.size(of: id)) ?? 0)
    }
}
