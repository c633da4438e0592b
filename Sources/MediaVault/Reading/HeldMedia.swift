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

/// A few bytes of media that are held, fresh, and opened without waiting for anything.
package struct HeldMedia {
    /// Length, type, validators and range support of the representation.
    package let information: ContentInformation
    /// The vault's own name for the representation.
    package let entityTag: EntityTag
    /// The bytes; there is one at least.
    package let range: ByteRange

    private let segment: SegmentDescription
    private let reader: SegmentReader
    private let whenGiven: () -> Void

    init(
        _ held: LoaderState.Held, _ reader: SegmentReader, entityTag: EntityTag, whenGiven: @escaping () -> Void
    ) {
        information = held.information
        self.entityTag = entityTag
        range = held.range
        segment = held.segment
        self.reader = reader
        self.whenGiven = whenGiven
    }

    /// How many bytes there are.
    package var count: Int { Int(range.length) }

    /// Opens them into a place for as many.
    ///
    /// - Returns: false where the disk would have to be waited for, or a block does not open: then the place holds nothing
    ///   of use, and a reader has to find out.
    package func open(into place: UnsafeMutableRawBufferPointer) -> Bool {
        // The place is the caller's own, with its length.
        guard let isOpen = try? unsafe reader.open(range, of: segment, into: place, mayWait: false), isOpen else {
            return false
        }
        whenGiven()
        return true
    }
}

// What is given without waiting for anybody.
extension Vault {
    /// A reader as ``read(_:range:)`` gives it, where nothing has to be waited for, because all that is asked for is held
    /// and fresh, and somebody has read of the resource lately; nil where that is not so, or anything is wrong.
    package func readHeld(_ reference: MediaReference, range: RequestedRange) -> MediaReader? {
        guard let (id, key) = try? names.nameAtHand(tokens.unwrapped(reference).settled()), loader(of: id) != nil,
            let (loader, lease) = try? use(id, key, reference), let opening = loader.openHeld(range)
        else { return nil }
        return reader(opening, loader, lease)
    }

    /// All that is asked for, where it is no more than so many bytes of one segment that is open already; nil where it is
    /// not, where anything has to be waited for, or is wrong.
    package func held(_ reference: MediaReference, range: RequestedRange, atMost count: Int) -> HeldMedia? {
        guard let (id, _) = try? names.nameAtHand(tokens.unwrapped(reference).settled()), let loader = loaderAtHand(id)
        else { return nil }
        let now = store.now()
        guard let held = loader.look({ $0.held(range, now: now) }), held.range.length <= Int64(count),
            held.run.upperBound >= held.range.upperBound, let reader = loader.opened.reader(of: held.segment.id)
        else { return nil }
        loader.addresses.give(reference)
        return HeldMedia(held, reader, entityTag: loader.name(held.entityTag, of: held.information)) { [self] in
            noteVisit(of: loader)
            answers.note([ByteTrace(held.range, .vault)], of: id, at: now)
        }
    }

    /// The loader of a resource, where there is one and nothing stands against using it.
    private func loaderAtHand(_ id: ResourceID) -> ResourceLoader? {
        loaders.withLock { loaders in
            guard let entry = loaders[id], !entry.isRemoving, !entry.loader.isBroken else { return nil }
            loaders[id]?.idleSince = .now
            return entry.loader
        }
    }

    /// Notes that a resource was asked for, unless nothing may tell of it.
    func noteVisit(of loader: ResourceLoader) {
        guard loader.look({ $0.mode != .noStore }) else { return }
        visits.withLock { $0.note(loader.record.id, hour: store.now() / 3600) }
    }
}

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

/// How many segments stay open that are not being read: a share of the files that the system lets the process have open.
package final class OpenSegmentShare: Sendable {
    private let count = Atomic(0)
    private let most: @Sendable () -> Int

    /// That of the process, all vaults together.
    package static let ofProcess = OpenSegmentShare { most(ofFiles: filesAllowed) }

    /// - Parameter most: how many there may be, asked each time: the limit of files may be raised meanwhile.
    package init(most: @escaping @Sendable () -> Int) { self.most = most }

    /// The share of so many files. The rest is for clients, origins and what is being read.
    package static func most(ofFiles count: Int) -> Int { OpenFiles.segments(of: count) }

    /// How many may be open now.
    package var allowed: Int { most() }

    /// How many are open.
    package var taken: Int { count.load(ordering: .relaxed) }

    /// Takes the place of one.
    ///
    /// - Returns: whether there was one left.
    func take() -> Bool {
        guard count.add(1, ordering: .relaxed).newValue <= allowed else {
            count.subtract(1, ordering: .relaxed)
            return false
        }
        return true
    }

    func giveBack(_ places: Int) { count.subtract(places, ordering: .relaxed) }

    /// How many files the system lets this process have open.
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
