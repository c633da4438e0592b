import VaultModel
import VaultStorage

/// The knowledge and the decisions of a loader: a value without I/O, changed under one lock.
///
/// Methods return what is to be done after unlocking: waiters to resume, fetches to start or to cancel.
struct LoaderState {
    /// What is known of the representation being read; nil before the first answer.
    private(set) var information: ContentInformation?
    /// Counts the representations that this loader has read. Readers of an earlier one end.
    private(set) var edition = 0
    var map = SegmentMap()
    var fetches: [FetchState.ID: FetchState] = [:]
    var readers: [ReaderState.ID: ReaderState] = [:]
    /// Whether this loader has received any bytes.
    var hasFetched = false
    /// The error with which the store last refused bytes.
    var storeFailure: VaultError?
    /// The current refusal of the store; nil while it takes bytes.
    var refusal: Refusal?
    /// Whether the store has accepted the representation.
    var canStore = true
    /// The error that all readers end with; nil while they may read.
    private(set) var ending: VaultError?
    /// The traces of ended readers, until they are taken.
    var traces: [ByteTrace] = []
    var lastID = 0
    /// The mode in force: whether the origin may be asked, and whether bytes are stored.
    var mode: VaultMode
    var vaultMode: VaultMode
    /// The mode set for this resource alone.
    var ownMode: VaultMode?
    /// How long the representation counts as current, and the value that the index has for it.
    var freshness: Freshness?
    var writtenFreshness: Freshness?
    /// Whether no validator distinguishes the representation from another version; then one connection alone fills it.
    var isBound = false
    /// The connection that fills the representation; nil if it has brought no bytes yet, or if they came in an earlier
    /// run.
    var connection: UInt64?
    /// Whether the origin's entity tags identify versions.
    var entityTags = EntityTagReliability()
    /// The `Last-Modified` of the answer that began the representation, if it names the second in which the answer was
    /// sent.
    var unsettledDate: String?
    /// Whether the origin states that the resource never ends, as a web radio does.
    var isEndless = false
    /// Whether the resource is kept and served whatever happens to it at its origin.
    var isPinned = false
    /// When a failing origin is asked again.
    var retry: RetrySchedule

    init(mode: VaultMode, retry: RetryPolicy = RetryPolicy()) {
        self.mode = mode
        vaultMode = mode
        self.retry = RetrySchedule(retry)
    }

    /// The next step of a reader.
    enum Step {
        /// Take these bytes, which have just arrived.
        case take(ArraySlice<UInt8>)
        /// Open these bytes of a segment.
        case open(SegmentDescription, ByteRange)
        /// Wait until woken.
        case wait
        /// Start this fetch, then wait.
        case fetch(FetchState.ID)
        /// The reader has had all its bytes.
        case finished
        /// The byte is missing and may not be fetched.
        case hole(at: Int64, isDamage: Bool)
        /// The fetch that the reader waited for failed.
        case failed(FetchFailure)
        /// The representation being read is no longer the current one.
        case changed
    }

    // MARK: Representations

    /// Loads the state from the index.
    mutating func load(_ representation: StoredRepresentation) {
        information = representation.info.information
        map = SegmentMap(representation)
        writtenFreshness = representation.info.freshness
        // A representation stored before freshness was recorded gets the default for answers that state none. One
        // imported without asking the origin was never current.
        let retrieved = representation.info.retrieved
        freshness =
            writtenFreshness
            ?? (information?.isImported == true
                ? Freshness(checked: retrieved, lifetime: 0) : Freshness(HeaderFields(), asked: retrieved))
    }

    /// Loads what the index has now, because another process changes it.
    ///
    /// - Parameters:
    ///   - representation: what the index still holds of the representation; nil if it now has another one.
    ///   - lost: a segment whose file is missing.
    mutating func reload(_ representation: StoredRepresentation?, without lost: SegmentID) -> Effects {
        // A forgotten representation stays forgotten.
        guard information != nil else { return Effects() }
        if let representation { load(representation) } else { map = SegmentMap() }
        map.remove(lost, isDamaged: false)
        return Effects()
    }

    /// Begins a representation. Bytes of an earlier one reach only readers whose own transfers bring it to its end.
    ///
    /// - Parameters:
    ///   - keeping: the fetch whose answer begins the representation, and which continues.
    ///   - refused: why the store does not accept the representation; its bytes then only pass through.
    mutating func begin(
        _ information: ContentInformation, _ freshness: Freshness? = nil, keeping: FetchState.ID?, isBound: Bool,
        connection: UInt64? = nil, unsettledDate: String? = nil, refused: VaultError? = nil
    ) -> Effects {
        var effects = Effects()
        self.unsettledDate = unsettledDate
        canStore = refused == nil && mode.stores
        (self.freshness, writtenFreshness) = (freshness, freshness)
        storeFailure = refused
        refusal = refused.map { Refusal(error: $0) }
        // Set now, so that no new reader cuts short the only fetch that can fill a bound representation.
        (self.isBound, self.connection) = (isBound, connection)
        if let keeping {
            fetches[keeping]?.destination = canStore ? .store : .readers
            if isBound { fetches[keeping]?.goOn() }
        }
        let isFirst = self.information == nil && map.covered.isEmpty
        self.information = information
        map = SegmentMap()
        if !isFirst {
            effects.merge(keepTransfers(except: keeping))
            edition += 1
            if let keeping { follow(keeping) }
        }
        effects.merge(discard(fetches.keys.filter { $0 != keeping && fetches[$0]?.isSeparate != true }))
        for id in readers.keys {
            setEnd(of: id)
            if isBound, isFirst, let keeping { detach(id, from: keeping) }
            effects.wake(readers[id]?.signal.raise())
        }
        if isBound, !canStore, let keeping { leaveToOne(keeping) }
        return effects
    }

    /// Forgets the representation, so that the next answer begins a new one.
    ///
    /// - Parameter keeping: the fetch of that answer, if it has come. Readers that wait for it keep waiting.
    mutating func forget(keeping: FetchState.ID? = nil) -> Effects {
        var effects = Effects()
        information = nil
        freshness = nil
        map = SegmentMap()
        (connection, unsettledDate) = (nil, nil)
        edition += 1
        effects.merge(discard(fetches.keys.filter { $0 != keeping && fetches[$0]?.isSeparate != true }))
        for id in readers.keys {
            if let keeping, readers[id]?.fetch == keeping { readers[id]?.edition = edition }
            effects.wake(readers[id]?.signal.raise())
        }
        return effects
    }

    /// Ends all current and future readers with an error. Bytes that have arrived are still sealed.
    mutating func end(with error: VaultError) -> Effects {
        ending = error
        var effects = letGo(Array(fetches.keys))
        for id in readers.keys { effects.wake(readers[id]?.signal.raise()) }
        return effects
    }

    /// Records more about the representation: its length, or that its origin does not support ranges.
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
        guard let length = information?.length, let end = readers[id]?.end, readers[id]?.isSeparate != true else {
            return
        }
        readers[id]?.end = min(end, length)
    }

    /// The ranges that are not sealed; empty while the length is unknown.
    var missing: [ByteRange] { map.covered.gaps(in: 0..<(information?.length ?? 0)) }

    /// Whether the length is known, and all bytes are sealed.
    var isHeldWhole: Bool { information?.length != nil && missing.isEmpty }

    // MARK: Damage

    /// Turns the unreadable bytes of a segment into a gap.
    mutating func invalidate(_ segment: SegmentID, for failure: SegmentFailure) {
        switch failure {
        case .badBlock(let block): map.markBad(segment, block: block)
        case .missing, .unreadable: map.remove(segment, isDamaged: false)
        case .foreign, .wrongKey: map.remove(segment, isDamaged: true)
        }
    }

    // MARK: Time

    /// Does what is due: ends transfers whose readers have stalled, and makes sealers close short blocks.
    mutating func tick(now: ContinuousClock.Instant) -> Effects {
        var effects = Effects()
        if let refusal, refusal.retryAt == nil { self.refusal?.retryAt = now + Refusal.pause }
        for id in fetches.keys {
            guard var fetch = fetches[id], fetch.isActive else { continue }
            if let since = fetch.pausedSince, now - since >= FetchState.stallTime {
                fetch.rest()
                if fetch.takenTo < fetch.present { effects.wake(fetch.sealerSignal.raise()) }
            }
            // A transfer bound to its connection could not be resumed.
            if !isBound, !fetch.isSeparate, let since = fetch.pausedSince, now - since >= FetchState.patience {
                fetch.enter(.released)
                effects.wake(fetch.receiverSignal.raise())
            }
            if fetch.isExtendedToBlocks {
                let isAwaited = readers.values.contains { $0.fetch == id } || isNeeded(fetch, leaving: nil)
                fetch.leftSince = isAwaited ? nil : fetch.leftSince ?? now
                if let since = fetch.leftSince, now - since >= FetchState.unreadTimeLimit {
                    fetch.enter(.released)
                    effects.cancelled.append(id)
                }
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

// Whether held bytes are still what the origin has, and whether it may be asked.
extension LoaderState {
    /// Whether the origin has not confirmed the known representation recently enough.
    ///
    /// - Parameter now: the wall-clock time, in seconds since 1970.
    func isStale(now: Int64) -> Bool {
        guard information != nil, !isPinned, let freshness else { return false }
        return !freshness.isFresh(now: now)
    }

    /// The first step in opening a stale representation.
    enum StaleStep: Equatable {
        /// It can be served: fetching its missing bytes will show whether it has changed.
        case open
        /// It can be served, although the origin may not be asked.
        case stale(Staleness)
        /// The origin is asked first.
        case ask
    }

    /// Returns how to open a stale representation.
    ///
    /// - Parameter position: the first byte wanted; nil if the request is not about bytes.
    func staleStep(at position: Int64?) -> StaleStep {
        // The answer that brings a missing first byte shows whether it is of the same representation.
        if let position, position < information?.length ?? .max, !present.contains(position) { return .open }
        switch mode {
        case .offline: return .stale(.offline)
        case .preferVault: return .stale(.preferVault)
        case .online, .noStore: return .ask
        }
    }

    /// Records that the origin still has the representation.
    mutating func confirm(_ freshness: Freshness) -> Effects {
        self.freshness = freshness
        return Effects()
    }

    /// Returns freshness that must be written to the index, and counts it as written.
    mutating func takeUnwrittenFreshness() -> Freshness? {
        guard mode.stores, canStore, let freshness, freshness.isWorthStoring(after: writtenFreshness) else {
            return nil
        }
        writtenFreshness = freshness
        return freshness
    }

    /// Changes the mode.
    ///
    /// Transfers end if the new mode forbids them or stores their bytes differently; their readers continue under it.
    mutating func setMode(vault: VaultMode? = nil, own: VaultMode?? = nil) -> Effects {
        vaultMode = vault ?? vaultMode
        ownMode = own ?? ownMode
        let before = mode
        mode = VaultMode.inForce(vault: vaultMode, own: ownMode)
        guard mode.allowsRequests != before.allowsRequests || mode.stores != before.stores else { return Effects() }
        // A representation that has only passed through so far is stored now, if the store accepts it.
        if mode.stores, !canStore { refusal = Refusal(error: VaultError(.storage, "the mode was no-store")) }
        var effects = letGo(fetches.keys.filter { fetches[$0]?.isActive == true })
        for id in readers.keys { effects.wake(readers[id]?.signal.raise()) }
        return effects
    }
}

// Where the bytes of answers came from.
extension LoaderState {
    /// Maximum traces of ended readers kept until they are taken.
    private static let mostTraces = 16

    /// Keeps the trace of an ended reader, unless it was a download's, which answers no client.
    mutating func keepTrace(of reader: ReaderState) {
        guard !reader.isFilling, reader.trace.bytes > 0 else { return }
        if traces.count >= Self.mostTraces { traces.removeFirst() }
        traces.append(reader.trace)
    }

    /// Returns the traces of ended readers, and forgets them.
    mutating func takeTraces() -> [ByteTrace] {
        defer { traces = [] }
        return traces
    }

    /// The traces of current readers that answer clients.
    var runningTraces: [ByteTrace] { readers.values.filter { !$0.isFilling && $0.trace.bytes > 0 }.map(\.trace) }

    /// Marks a reader as one that fills the vault and answers no client.
    mutating func beginFilling(_ id: ReaderState.ID) -> Effects {
        readers[id]?.isFilling = true
        return Effects()
    }
}

/// What is to be done after the loader's state was changed and unlocked.
struct Effects {
    var waiters: [WakeFlag.Waiter] = []
    /// Fetches that are no longer needed.
    var cancelled: [FetchState.ID] = []
    /// Readers to wake at a given time.
    var alarms: [(reader: ReaderState.ID, time: ContinuousClock.Instant)] = []

    /// The number of bytes that passed through and will not be stored.
    var passedThrough: Int64 = 0

    mutating func wake(_ woken: [WakeFlag.Waiter]?) { waiters += woken ?? [] }

    mutating func merge(_ other: Effects) {
        waiters += other.waiters
        cancelled += other.cancelled
        passedThrough += other.passedThrough
        alarms += other.alarms
    }
}
