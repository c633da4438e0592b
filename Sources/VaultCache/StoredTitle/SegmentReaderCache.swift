import Synchronization
import VaultModel
import VaultStorage

/// A cache that keeps a resource's recently used segment readers open.
///
/// Opening a segment anew for each range would cost more than reading a short range.
final class SegmentReaderCache: Sendable {
    private struct Entry {
        let reader: SegmentReader
        var lastUse: ContinuousClock.Instant
    }

    /// The open readers by segment; nil after ``close()``.
    private let entries = Locked<[SegmentID: Entry]?>([:])

    /// The limit that the readers of all resources share.
    private let limit: SegmentReaderLimit
    /// How long an unused segment stays open.
    private static let idleTime: Duration = .seconds(2)

    init(limit: SegmentReaderLimit = .ofProcess) { self.limit = limit }

    deinit { close() }

    /// Returns a segment's open reader; nil if there is none.
    func reader(of id: SegmentID) -> SegmentReader? {
        entries.withLock { entries in
            entries?[id]?.lastUse = .now
            return entries?[id]?.reader
        }
    }

    /// Keeps a reader open, unless too many are open already or ``close()`` was called.
    func keep(_ reader: SegmentReader, of id: SegmentID) {
        guard limit.take() else { return }
        let isOneMore = entries.withLock { entries in
            guard entries != nil else { return false }
            return entries?.updateValue(Entry(reader: reader, lastUse: .now), forKey: id) == nil
        }
        if !isOneMore { limit.giveBack(1) }
    }

    /// Drops the reader of a segment that must no longer be read.
    func drop(_ id: SegmentID) { drop { key, _ in key == id } }

    /// Drops the readers of segments that were not read recently.
    func dropIdle(now: ContinuousClock.Instant) { drop { now - $1.lastUse >= Self.idleTime } }

    /// Drops all readers and keeps no new ones, because each holds its segment's key.
    func close() {
        let dropped = entries.withLock { entries in
            defer { entries = nil }
            return entries ?? [:]
        }
        limit.giveBack(dropped.count)
    }

    private func drop(where isMeant: (SegmentID, Entry) -> Bool) {
        // Close the files only after unlocking.
        let dropped = entries.withLock { entries in
            let dropped = (entries ?? [:]).filter(isMeant)
            for id in dropped.keys { entries?[id] = nil }
            return dropped
        }
        limit.giveBack(dropped.count)
    }
}

/// A limit on the number of segments that stay open without being read, and the count of these segments.
final class SegmentReaderLimit: Sendable {
    private let count = Atomic(0)
    private let most: @Sendable () -> Int

    /// The process-wide limit for all vaults together: a share of the process's limit on open files. The rest is left
    /// for clients, origins and segments being read.
    static let ofProcess = SegmentReaderLimit { DescriptorShares.segments(of: DescriptorShares.limit ?? 0) }

    /// Creates a limit.
    ///
    /// - Parameter most: returns the limit. It is called each time, because the limit on open files may be raised.
    init(most: @escaping @Sendable () -> Int) { self.most = most }

    /// The number of segments that may be open now.
    var allowed: Int { most() }

    /// The number of segments that are open.
    var taken: Int { count.load(ordering: .relaxed) }

    /// Takes one place under the limit, if one is left.
    ///
    /// - Returns: whether a place was taken.
    func take() -> Bool {
        guard count.add(1, ordering: .relaxed).newValue <= allowed else {
            count.subtract(1, ordering: .relaxed)
            return false
        }
        return true
    }

    func giveBack(_ places: Int) { count.subtract(places, ordering: .relaxed) }
}
