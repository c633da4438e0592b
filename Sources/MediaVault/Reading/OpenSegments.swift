import Synchronization
import VaultModel
import VaultStorage

/// The segments of a resource that were read a moment ago, still open: to open one anew for each range costs more than a
/// short range does.
final class OpenSegments: Sendable {
    private struct Entry {
        let reader: SegmentReader
        var lastUse: ContinuousClock.Instant
    }

    /// Nil once it was closed.
    private let entries = Locked<[SegmentID: Entry]?>([:])

    /// How many are kept open in the process, all resources together.
    private static let count = Atomic(0)
    private static let most = 256
    /// How long one is kept that nobody reads.
    private static let idleTime: Duration = .seconds(2)

    deinit { close() }

    /// The reader of a segment, where it is open.
    func reader(of id: SegmentID) -> SegmentReader? {
        entries.withLock { entries in
            entries?[id]?.lastUse = .now
            return entries?[id]?.reader
        }
    }

    /// Keeps a reader, unless too many are kept, or nobody is to read any more.
    func keep(_ reader: SegmentReader, of id: SegmentID) {
        guard Self.count.add(1, ordering: .relaxed).newValue <= Self.most else {
            Self.count.subtract(1, ordering: .relaxed)
            return
        }
        let isOneMore = entries.withLock { entries in
            guard entries != nil else { return false }
            return entries?.updateValue(Entry(reader: reader, lastUse: .now), forKey: id) == nil
        }
        if !isOneMore { Self.count.subtract(1, ordering: .relaxed) }
    }

    /// Lets go of a segment that must not be read any more.
    func drop(_ id: SegmentID) { drop { key, _ in key == id } }

    /// Lets go of those that nobody has read lately.
    func dropIdle(now: ContinuousClock.Instant) { drop { now - $1.lastUse >= Self.idleTime } }

    /// Lets go of all, and keeps none from now on: each holds its segment's key.
    func close() {
        let dropped = entries.withLock { entries in
            defer { entries = nil }
            return entries ?? [:]
        }
        Self.count.subtract(dropped.count, ordering: .relaxed)
    }

    private func drop(where isMeant: (SegmentID, Entry) -> Bool) {
        // Files are closed after the lock.
        let dropped = entries.withLock { entries in
            let dropped = (entries ?? [:]).filter(isMeant)
            for id in dropped.keys { entries?[id] = nil }
            return dropped
        }
        Self.count.subtract(dropped.count, ordering: .relaxed)
    }
}
