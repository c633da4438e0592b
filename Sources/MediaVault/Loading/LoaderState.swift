import VaultModel
import VaultStorage

/// Everything a loader knows, and every decision it takes: a value without I/O, changed under one lock.
///
/// Methods return what is to be done after unlocking: waiters to resume, fetches to start or to cancel.
struct LoaderState {
    /// What is known of the representation that is read; nil before the first answer.
    private(set) var information: ContentInformation?
    /// Counts the representations this loader has read; readers of an earlier one end.
    private(set) var edition = 0
    private(set) var map = SegmentMap()
    private(set) var fetches: [FetchState.ID: FetchState] = [:]
    private(set) var readers: [ReaderState.ID: ReaderState] = [:]
    /// Whether bytes of this representation came through this loader.
    private(set) var hasFetched = false
    /// What the store last refused with.
    private(set) var storeFailure: VaultError?
    /// Whether the store has taken the representation in.
    private var canStore = true
    private var isClosed = false
    private var lastID = 0
    let mode: VaultMode

    init(mode: VaultMode) { self.mode = mode }

    /// What a reader does next.
    enum Step {
        /// Take these bytes, which have just come.
        case take(ArraySlice<UInt8>)
        /// Open these bytes of a segment.
        case open(SegmentDescription, ByteRange)
        /// Wait until it is woken.
        case wait
        /// Start this fetch, then wait.
        case fetch(FetchState.ID)
        /// Nothing is left.
        case finished
        /// The byte is missing and may not be fetched.
        case hole(at: Int64, isDamage: Bool)
        /// The fetch it waited for failed.
        case failed(FetchFailure)
        /// The representation it reads is no longer the one there is.
        case changed
    }

    // MARK: Representations

    /// Takes over what the index says.
    mutating func load(_ representation: StoredRepresentation) {
        information = representation.info.information
        map = SegmentMap(representation)
    }

    /// A representation begins: nothing of an earlier one is used any more.
    ///
    /// - Parameters:
    ///   - keeping: the fetch that brought the news, and goes on.
    ///   - refused: why the store does not take it: its bytes only pass through.
    mutating func begin(
        _ information: ContentInformation, keeping: FetchState.ID?, refused: VaultError? = nil
    ) -> Effects {
        var effects = Effects()
        canStore = refused == nil
        storeFailure = refused
        if let keeping { fetches[keeping]?.isStoring = canStore }
        let isFirst = self.information == nil && map.covered.isEmpty
        self.information = information
        map = SegmentMap()
        if !isFirst { edition += 1 }
        effects.merge(letGo(fetches.keys.filter { $0 != keeping }))
        for id in readers.keys {
            setEnd(of: id)
            effects.wake(readers[id]?.signal.raise())
        }
        return effects
    }

    /// Forgets what is known, so that the next answer begins a new representation.
    mutating func forget() -> Effects {
        var effects = Effects()
        information = nil
        map = SegmentMap()
        edition += 1
        effects.merge(letGo(Array(fetches.keys)))
        for id in readers.keys { effects.wake(readers[id]?.signal.raise()) }
        return effects
    }

    /// The vault closes: readers end with an error, and none is served any more.
    mutating func close() -> Effects {
        isClosed = true
        return forget()
    }

    /// More has become known of the representation: its length, or that its origin cannot jump.
    mutating func learn(_ information: ContentInformation) -> Effects {
        var effects = Effects()
        self.information = information
        for id in readers.keys {
            setEnd(of: id)
            effects.wake(readers[id]?.signal.raise())
        }
        return effects
    }

    private mutating func setEnd(of id: ReaderState.ID) {
        guard let length = information?.length, let end = readers[id]?.end else { return }
        readers[id]?.end = min(end, length)
    }

    // MARK: Readers

    /// Adds a reader of `range`; an upper bound of `Int64.max` is "to the end".
    mutating func addReader(_ kind: ReaderState.Kind, _ range: ByteRange) -> ReaderState.ID {
        lastID += 1
        readers[lastID] = ReaderState(
            kind: kind, edition: edition, position: range.lowerBound,
            end: min(range.upperBound, information?.length ?? .max))
        return lastID
    }

    /// Takes a reader out; a fetch that it was the last to want is cancelled.
    mutating func removeReader(_ id: ReaderState.ID) -> Effects {
        var effects = Effects()
        guard var reader = readers.removeValue(forKey: id) else { return effects }
        effects.wake(reader.signal.raise())
        if let fetch = reader.fetch { effects.merge(release(fetch)) }
        return effects
    }

    /// The bytes that are there: in segments, or just come.
    var present: ByteRanges {
        fetches.values.reduce(into: map.covered) { $0.insert(contentsOf: $1.recent.start..<$1.present) }
    }

    /// What a reader does next.
    mutating func step(_ id: ReaderState.ID, now: ContinuousClock.Instant) -> (Step, Effects) {
        var effects = Effects()
        guard var reader = readers[id] else { return (.finished, effects) }
        reader.signal.lower()
        defer { readers[id] = reader }
        guard !isClosed else { return (.failed(.final(VaultError(.closed, "the vault was closed; open it again"))), effects) }
        guard reader.edition == edition else { return (.changed, effects) }
        if let failure = reader.failure {
            reader.failure = nil
            return (.failed(failure), effects)
        }
        let (position, end) = (reader.position, reader.end)
        guard position < end else { return (.finished, effects) }

        if let (fetch, bytes) = recentBytes(at: position, limit: end) {
            effects.merge(attach(&reader, to: fetch))
            return (.take(bytes), effects)
        }
        let supportsRanges = information?.supportsRanges ?? false
        let active = fetches.values.filter(\.isActive)
        // Before the first answer nobody knows what will come: one fetch asks, the others wait.
        if information == nil, let pioneer = active.first {
            effects.merge(attach(&reader, to: pioneer.id))
            return (.wait, effects)
        }
        var inFlight = ByteRanges()
        for fetch in fetches.values {
            // Bytes that came and are not sealed yet need not be fetched again.
            inFlight.insert(contentsOf: fetch.recent.start..<fetch.present)
            if fetch.isActive { inFlight.insert(contentsOf: fetch.near(supportsRanges: supportsRanges)) }
        }
        switch LoadPlan.first(of: position..<end, held: map.covered, inFlight: inFlight) {
        case nil:
            return (.finished, effects)
        case .held(let range):
            guard let (segment, run) = map.segment(at: position) else { return (.wait, effects) }
            return (.open(segment, run.clamped(to: range)), effects)
        case .inFlight:
            guard let fetch = active.first(where: { $0.near(supportsRanges: supportsRanges).contains(position) })
            else { return (.wait, effects) }
            effects.merge(attach(&reader, to: fetch.id))
            return (.wait, effects)
        case .gap(let gap):
            guard mode == .online else {
                return (.hole(at: position, isDamage: map.damaged.contains(position)), effects)
            }
            let fetch = addFetch(gap, now: now)
            effects.merge(attach(&reader, to: fetch))
            return (.fetch(fetch), effects)
        }
    }

    /// A reader begins at byte 0 after all: the origin cannot jump.
    mutating func rewind(_ id: ReaderState.ID) {
        readers[id]?.position = 0
        readers[id]?.end = information?.length ?? .max
    }

    /// A reader has had bytes up to `position`.
    mutating func advance(_ id: ReaderState.ID, to position: Int64) -> Effects {
        var effects = Effects()
        guard readers[id] != nil else { return effects }
        readers[id]?.position = position
        guard let fetch = readers[id]?.fetch else { return effects }
        effects.merge(demand(position, of: fetch))
        return effects
    }

    /// Begins a reader's wait, unless it was woken meanwhile.
    mutating func wait(_ id: ReaderState.ID, _ waiter: Signal.Waiter) -> Bool {
        readers[id]?.signal.wait(waiter) ?? false
    }

    mutating func wake(_ id: ReaderState.ID) -> Effects {
        var effects = Effects()
        effects.wake(readers[id]?.signal.raise())
        return effects
    }

    private func recentBytes(at position: Int64, limit: Int64) -> (FetchState.ID, ArraySlice<UInt8>)? {
        for fetch in fetches.values {
            if let bytes = fetch.recent.bytes(from: position, limit: limit) { return (fetch.id, bytes) }
        }
        return nil
    }

    /// A reader takes its bytes from this fetch now, and no longer from another.
    private mutating func attach(_ reader: inout ReaderState, to fetch: FetchState.ID) -> Effects {
        var effects = Effects()
        let old = reader.fetch
        reader.fetch = fetch
        effects.merge(demand(reader.position, of: fetch))
        if let old, old != fetch { effects.merge(release(old, leaving: reader)) }
        return effects
    }

    private mutating func demand(_ position: Int64, of id: FetchState.ID) -> Effects {
        var effects = Effects()
        guard var fetch = fetches[id], position > fetch.demand else { return effects }
        fetch.demand = position
        fetch.trim()
        if fetch.mayReceive { effects.wake(fetch.receiverSignal.raise()) }
        fetches[id] = fetch
        return effects
    }

    /// Cancels a fetch whose last reader has left. The reader that is leaving may still stand in the table.
    private mutating func release(_ id: FetchState.ID, leaving: ReaderState? = nil) -> Effects {
        var effects = Effects()
        guard let fetch = fetches[id], fetch.isActive else { return effects }
        let remaining = readers.values.count { $0.fetch == id } - (leaving == nil ? 0 : 1)
        if remaining <= 0 {
            fetches[id]?.isLetGo = true
            effects.cancelled.append(id)
        }
        return effects
    }

    // MARK: Fetches

    private mutating func letGo(_ ids: [FetchState.ID]) -> Effects {
        for id in ids { fetches[id]?.isLetGo = true }
        var effects = Effects()
        effects.cancelled = ids
        return effects
    }

    private mutating func addFetch(_ gap: ByteRange, now: ContinuousClock.Instant) -> FetchState.ID {
        lastID += 1
        // A fetch that would come here much later stops before: nothing is fetched twice.
        for (id, fetch) in fetches where fetch.isActive && fetch.remaining.contains(gap.lowerBound) {
            fetches[id]?.end = gap.lowerBound
        }
        fetches[lastID] = FetchState(id: lastID, range: gap, now: now)
        fetches[lastID]?.isStoring = canStore
        return lastID
    }

    /// The head of a fetch's answer is good: bytes up to `end` follow, from byte 0 where `fromZero`.
    mutating func accept(_ id: FetchState.ID, end: Int64?, fromZero: Bool) -> Effects {
        var effects = Effects()
        guard var fetch = fetches[id] else { return effects }
        if fromZero {
            fetch.restartAtZero(end: end ?? .max)
        } else if let end {
            fetch.end = min(fetch.end, end)
        }
        fetch.phase = .flowing
        fetches[id] = fetch
        for reader in readers.keys where readers[reader]?.fetch == id {
            effects.wake(readers[reader]?.signal.raise())
        }
        return effects
    }

    /// Whether a fetch's receiver may go on; nil where it must end.
    mutating func mayReceive(_ id: FetchState.ID, now: ContinuousClock.Instant) -> Bool? {
        guard var fetch = fetches[id], fetch.isActive else { return nil }
        defer { fetches[id] = fetch }
        fetch.receiverSignal.lower()
        guard fetch.present < fetch.end else { return nil }
        fetch.pausedSince = fetch.mayReceive ? nil : fetch.pausedSince ?? now
        return fetch.mayReceive
    }

    mutating func waitToReceive(_ id: FetchState.ID, _ waiter: Signal.Waiter) -> Bool {
        fetches[id]?.receiverSignal.wait(waiter) ?? false
    }

    mutating func wakeReceiver(_ id: FetchState.ID) -> Effects {
        var effects = Effects()
        effects.wake(fetches[id]?.receiverSignal.raise())
        return effects
    }

    /// Bytes came.
    ///
    /// - Returns: how many of them are used.
    mutating func received(
        _ bytes: [UInt8], by id: FetchState.ID, now: ContinuousClock.Instant
    ) -> (used: Int64, effects: Effects) {
        var effects = Effects()
        guard var fetch = fetches[id] else { return (0, effects) }
        let used = fetch.append(bytes, now: now)
        hasFetched = true
        effects.wake(fetch.sealerSignal.raise())
        let present = fetch.present
        fetches[id] = fetch
        for reader in readers.keys where readers[reader]?.fetch == id {
            if let position = readers[reader]?.position, position < present {
                effects.wake(readers[reader]?.signal.raise())
            }
        }
        return (used, effects)
    }

    /// No more bytes come. Readers that waited for them learn why, or plan anew.
    mutating func receiverEnded(_ id: FetchState.ID, _ failure: FetchFailure?) -> Effects {
        var effects = Effects()
        guard var fetch = fetches[id] else { return effects }
        fetch.phase = .ended
        effects.wake(fetch.sealerSignal.raise())
        fetches[id] = fetch
        for reader in readers.keys where readers[reader]?.fetch == id {
            if let position = readers[reader]?.position, position >= fetch.present {
                readers[reader]?.failure = failure
                readers[reader]?.fetch = nil
            }
            effects.wake(readers[reader]?.signal.raise())
        }
        return effects
    }

    /// The fetch is gone: its bytes lie in segments.
    mutating func remove(_ id: FetchState.ID) -> Effects {
        var effects = Effects()
        fetches[id] = nil
        for reader in readers.keys where readers[reader]?.fetch == id {
            readers[reader]?.fetch = nil
            effects.wake(readers[reader]?.signal.raise())
        }
        return effects
    }

    // MARK: Sealing

    /// What a fetch's sealer does next.
    enum SealWork {
        /// Seal these bytes, which begin at this offset.
        case seal(ArraySlice<UInt8>, at: Int64)
        /// Close the segment that is being written; what comes next begins another.
        case close
        /// Wait until woken.
        case wait
        /// Close the segment: nothing comes any more.
        case finish
    }

    mutating func sealWork(_ id: FetchState.ID) -> SealWork {
        guard var fetch = fetches[id] else { return .finish }
        defer { fetches[id] = fetch }
        fetch.sealerSignal.lower()
        guard fetch.isStoring else { return fetch.phase == .ended ? .finish : .wait }
        if fetch.takenTo < fetch.present {
            // An origin that cannot jump sends again what is held: that part is passed over.
            if let (_, run) = map.segment(at: fetch.takenTo) {
                fetch.takenTo = min(run.upperBound, fetch.present)
                fetch.sealedTo = fetch.takenTo
                fetch.trim()
                return .close
            }
            let limit = map.covered.firstHeld(from: fetch.takenTo) ?? .max
            if let bytes = fetch.recent.bytes(from: fetch.takenTo, limit: limit) {
                defer { fetch.takenTo += Int64(bytes.count) }
                return .seal(bytes, at: fetch.takenTo)
            }
        }
        if fetch.phase == .ended { return .finish }
        guard fetch.wantsFlush else { return .wait }
        fetch.wantsFlush = false
        fetch.isDirty = false
        return .close
    }

    mutating func waitToSeal(_ id: FetchState.ID, _ waiter: Signal.Waiter) -> Bool {
        fetches[id]?.sealerSignal.wait(waiter) ?? false
    }

    /// Blocks of a segment are sealed and can be opened.
    mutating func sealed(_ segment: SegmentDescription, by id: FetchState.ID) -> Effects {
        var effects = Effects()
        map.put(segment)
        guard var fetch = fetches[id] else { return effects }
        fetch.sealedTo = max(fetch.sealedTo, segment.range.upperBound)
        fetch.trim()
        if fetch.mayReceive { effects.wake(fetch.receiverSignal.raise()) }
        fetches[id] = fetch
        return effects
    }

    /// The store refused: the segment is gone, and the fetch's bytes only pass through from now on.
    mutating func storeFailed(_ id: FetchState.ID, segment: SegmentID?, _ failure: VaultError) -> Effects {
        var effects = Effects()
        // A late block of a representation that is no longer read is no failure of the store.
        if failure.code != .changed { storeFailure = failure }
        if let segment { map.remove(segment, isDamaged: false) }
        guard var fetch = fetches[id] else { return effects }
        fetch.isStoring = false
        // Nothing waits for the sealer any more.
        fetch.sealedTo = fetch.end
        fetch.trim()
        effects.wake(fetch.receiverSignal.raise())
        fetches[id] = fetch
        return effects
    }

    // MARK: Damage

    /// What reading a segment failed with makes a gap.
    mutating func condemn(_ segment: SegmentID, for failure: SegmentFailure) {
        switch failure {
        case .badBlock(let block): map.markBad(segment, block: block)
        case .missing, .unreadable: map.remove(segment, isDamaged: false)
        case .foreign, .wrongKey: map.remove(segment, isDamaged: true)
        }
    }

    // MARK: Time

    /// What has become due: transfers whose readers stand still are let go, short blocks are sealed.
    mutating func tick(now: ContinuousClock.Instant) -> Effects {
        var effects = Effects()
        for id in fetches.keys {
            guard var fetch = fetches[id], fetch.isActive else { continue }
            if let since = fetch.pausedSince, now - since >= FetchState.patience {
                fetch.isLetGo = true
                effects.wake(fetch.receiverSignal.raise())
            }
            if fetch.isDirty, now - fetch.lastByte >= FetchState.quiet {
                fetch.wantsFlush = true
                effects.wake(fetch.sealerSignal.raise())
            }
            fetches[id] = fetch
        }
        return effects
    }
}
