import Synchronization
package import VaultModel
import VaultStorage

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A short range of held, fresh bytes that can be opened without waiting.
package struct HeldMedia {
    /// Length, type, validators and range support of the representation.
    package let information: ContentInformation
    /// The vault's own entity tag for the representation.
    package let entityTag: EntityTag
    /// The range of the bytes; it is not empty.
    package let range: ByteRange

    private let segment: SegmentDescription
    private let reader: SegmentReader
    private let onOpen: () -> Void

    init(
        _ held: LoaderState.Held, _ reader: SegmentReader, entityTag: EntityTag, onOpen: @escaping () -> Void
    ) {
        information = held.information
        self.entityTag = entityTag
        range = held.range
        segment = held.segment
        self.reader = reader
        self.onOpen = onOpen
    }

    /// The number of bytes.
    package var count: Int { Int(range.length) }

    /// Opens the bytes into a buffer of the same size.
    ///
    /// - Returns: false if the disk would have to be waited for, or a block does not open. The buffer then holds
    ///   nothing of use, and a reader has to find out why.
    package func open(into place: UnsafeMutableRawBufferPointer) -> Bool {
        // The buffer belongs to the caller, and has its own length.
        guard let isOpen = try? unsafe reader.open(range, of: segment, into: place, mayWait: false), isOpen else {
            return false
        }
        onOpen()
        return true
    }
}

// Bytes that are given without waiting.
extension Vault {
    /// Returns a reader as ``read(_:range:)`` does, if this requires no waiting.
    ///
    /// All requested bytes must be held and fresh, and the resource must have been read recently. Returns nil
    /// otherwise, and on any error.
    package func readHeld(_ resource: NamedResource, range: RequestedRange) -> MediaReader? {
        guard loader(of: resource.id) != nil, let (loader, lease) = try? use(resource),
            let opening = loader.openHeld(range)
        else { return nil }
        return reader(opening, loader, lease)
    }

    /// Returns all requested bytes, if they are in one segment that is already open.
    ///
    /// - Parameter count: the most bytes that may be returned.
    /// - Returns: nil if there are more bytes, if anything has to be waited for, or on any error.
    package func held(_ resource: NamedResource, range: RequestedRange, atMost count: Int) -> HeldMedia? {
        guard let loader = loaders.loaderInUse(resource.id) else { return nil }
        let now = store.now()
        guard let held = loader.look({ $0.held(range, now: now) }), held.range.length <= Int64(count),
            held.run.upperBound >= held.range.upperBound, let reader = loader.opened.reader(of: held.segment.id)
        else { return nil }
        loader.addresses.give(resource.reference)
        return HeldMedia(held, reader, entityTag: loader.name(held.entityTag, of: held.information)) { [self] in
            noteAccess(of: loader)
            answers.note([ByteTrace(held.range, .vault)], of: resource.id, at: now)
        }
    }

    /// Records that a resource was accessed, unless its mode is `noStore`.
    func noteAccess(of loader: ResourceLoader) {
        guard loader.look({ $0.mode != .noStore }) else { return }
        accessTimes.withLock { $0.note(loader.record.id, hour: store.now() / 3600) }
    }
}

/// The recently read segments of a resource, kept open.
///
/// Opening a segment again for each range costs more than reading a short range.
final class OpenSegments: Sendable {
    private struct Entry {
        let reader: SegmentReader
        var lastUse: ContinuousClock.Instant
    }

    /// Nil after ``close()``.
    private let entries = Locked<[SegmentID: Entry]?>([:])

    /// The limit on open segments of all resources together.
    private let share: OpenSegmentShare
    /// How long an unused segment stays open.
    private static let idleTime: Duration = .seconds(2)

    init(share: OpenSegmentShare = .ofProcess) { self.share = share }

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
        guard share.take() else { return }
        let isOneMore = entries.withLock { entries in
            guard entries != nil else { return false }
            return entries?.updateValue(Entry(reader: reader, lastUse: .now), forKey: id) == nil
        }
        if !isOneMore { share.giveBack(1) }
    }

    /// Drops a segment that must not be read any more.
    func drop(_ id: SegmentID) { drop { key, _ in key == id } }

    /// Drops the segments that were not read recently.
    func dropIdle(now: ContinuousClock.Instant) { drop { now - $1.lastUse >= Self.idleTime } }

    /// Drops all segments and keeps none from now on: each holds its segment's key.
    func close() {
        let dropped = entries.withLock { entries in
            defer { entries = nil }
            return entries ?? [:]
        }
        share.giveBack(dropped.count)
    }

    private func drop(where isMeant: (SegmentID, Entry) -> Bool) {
        // Files are closed after unlocking.
        let dropped = entries.withLock { entries in
            let dropped = (entries ?? [:]).filter(isMeant)
            for id in dropped.keys { entries?[id] = nil }
            return dropped
        }
        share.giveBack(dropped.count)
    }
}

/// The limit on segments that stay open without being read: a share of the process's file limit.
package final class OpenSegmentShare: Sendable {
    private let count = Atomic(0)
    private let most: @Sendable () -> Int

    /// The limit of the process, for all vaults together.
    package static let ofProcess = OpenSegmentShare { most(ofFiles: filesAllowed) }

    /// Creates a limit.
    ///
    /// - Parameter most: returns the limit. It is called each time, as the limit on open files may be raised.
    package init(most: @escaping @Sendable () -> Int) { self.most = most }

    /// Returns the share of a number of files. The rest is for clients, origins and segments being read.
    package static func most(ofFiles count: Int) -> Int { DescriptorShares.segments(of: count) }

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

    /// The number of files that the system lets this process have open.
    private static var filesAllowed: Int {
        var limit = rlimit()
        #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        guard unsafe getrlimit(resource, &limit) == 0 else { return 0 }
        return Int(clamping: limit.rlim_cur)
    }
}
