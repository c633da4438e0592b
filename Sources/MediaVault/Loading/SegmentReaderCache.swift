import Synchronization
import VaultModel
import VaultStorage

/// The readers of a resource's recently read segments, kept open.
///
/// Opening a segment again for each range costs more than reading a short range.
final class SegmentReaderCache: Sendable {
    private struct Entry {
        let reader: SegmentReader
        var lastUse: ContinuousClock.Instant
    }

    /// Nil after ``close()``.
    private let entries = Locked<[SegmentID: Entry]?>([:])

    /// The limit on the readers of all resources together.
    private let limit: SegmentReaderLimit
    /// How long an unused segment stays open.
    private static let idleTime: Duration = .seconds(2)

    init(limit: SegmentReaderLimit = .ofProcess) { self.limit = limit }

    deinit { close() }

    /// Returns the reader of a segment, if it is open.
    func reader(of id: SegmentID) -> SegmentReader? {
        entries.withLock { entries in
            entries?[id]?.lastUse = .now
            return entries?[id]?.reader
        }
    }

    /// Keeps a reader open, unless too many are, or ``close()`` was called.
    func keep(_ reader: SegmentReader, of id: SegmentID) {
        guard limit.take() else { return }
        let isOneMore = entries.withLock { entries in
            guard entries != nil else { return false }
            return entries?.updateValue(Entry(reader: reader, lastUse: .now), forKey: id) == nil
        }
        if !isOneMore { limit.giveBack(1) }
    }

    /// Drops a segment that must not be read any more.
    func drop(_ id: SegmentID) { drop { key, _ in key == id } }

    /// Drops the segments that were not read recently.
    func dropIdle(now: ContinuousClock.Instant) { drop { now - $1.lastUse >= Self.idleTime } }

    /// Drops all readers and keeps no more of them, because each holds its segment's key.
    func close() {
        let dropped = entries.withLock { entries in
            defer { entries = nil }
            return entries ?? [:]
        }
        limit.giveBack(dropped.count)
    }

    private func drop(where isMeant: (SegmentID, Entry) -> Bool) {
        // Files are closed after unlocking.
        let dropped = entries.withLock { entries in
            let dropped = (entries ?? [:]).filter(isMeant)
            for id in dropped.keys { entries?[id] = nil }
            return dropped
        }
        limit.giveBack(dropped.count)
    }
}

/// A limit on the segments that stay open without being read, and how many there are.
package final class SegmentReaderLimit: Sendable {
    private let count = Atomic(0)
    private let most: @Sendable () -> Int

    /// The limit of the process, for all vaults together: a share of its limit on open files. The rest is for clients,
    /// origins and segments being read.
    package static let ofProcess = SegmentReaderLimit { DescriptorShares.segments(of: DescriptorShares.limit ?? 0) }

    /// Creates a limit.
    ///
    /// - Parameter most: returns the limit. It is called each time, as the limit on open files may be raised.
    package init(most: @escaping @Sendable () -> Int) { self.most = most }

    /// The number of segments that may be open now.
    package var allowed: Int { most() }

    /// The number of segments that are open.
    package var taken: Int { count.load(ordering: .relaxed) }

    /// Takes one place.
    ///
    /// - Returns: whether one was left.
    func take() -> Bool {
        guard count.add(1, ordering: .relaxed).newValue <= allowed else {
            count.subtract(1, ordering: .relaxed)
            return false
        }
        return true
    }

    func giveBack(_ places: Int) { count.subtract(places, ordering: .relaxed) }
}
