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

    /// What bounds how many are kept, of all resources together.
    private let share: OpenSegmentShare
    /// How long one is kept that nobody reads.
    private static let idleTime: Duration = .seconds(2)

    init(share: OpenSegmentShare = .ofProcess) { self.share = share }

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
        guard share.take() else { return }
        let isOneMore = entries.withLock { entries in
            guard entries != nil else { return false }
            return entries?.updateValue(Entry(reader: reader, lastUse: .now), forKey: id) == nil
        }
        if !isOneMore { share.giveBack(1) }
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
        share.giveBack(dropped.count)
    }

    private func drop(where isMeant: (SegmentID, Entry) -> Bool) {
        // Files are closed after the lock.
        let dropped = entries.withLock { entries in
            let dropped = (entries ?? [:]).filter(isMeant)
            for id in dropped.keys { entries?[id] = nil }
            return dropped
        }
        share.giveBack(dropped.count)
    }
}
