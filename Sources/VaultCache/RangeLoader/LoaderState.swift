import VaultModel
import VaultStorage

/// The value that holds a loader's knowledge and makes its decisions. It does no I/O, and changes only under the
/// loader's lock.
///
/// Its methods return what the caller must do after unlocking, such as waking waiters, or starting or cancelling
/// fetches.
struct LoaderState {
    /// The content information of the representation being read; nil while no representation is known.
    private(set) var information: ContentInformation?
    /// A counter that increases when the representation is replaced or forgotten. Readers of an earlier edition end,
    /// unless they have a transfer of their own.
    private(set) var edition = 0
    var map = SegmentMap()
    var fetches: [FetchState.ID: FetchState] = [:]
    var readers: [ReaderState.ID: ReaderState] = [:]
    /// Whether this loader has received any bytes from the origin.
    var hasFetched = false
    /// The error with which the store last refused bytes.
    var storeFailure: VaultError?
    /// The store's current refusal; nil while the store takes bytes.
    var refusal: Refusal?
    /// Whether the store has accepted the representation.
    var canStore = true
    /// The error that all readers end with; nil while they may read.
    private(set) var ending: VaultError?
    /// The traces of ended readers, kept until ``takeTraces()`` returns them.
    var traces: [ByteTrace] = []
    var lastID = 0
    /// The mode in force. It determines whether the origin may be asked, and whether bytes are stored.
    var mode: VaultMode
    var vaultMode: VaultMode
    /// The mode set for this resource alone; nil if none is set.
    var ownMode: VaultMode?
    /// How long the representation counts as current. `writtenFreshness` is the value that the index has.
    var freshness: Freshness?
    var writtenFreshness: Freshness?
    /// Whether the representation is bound: no validator distinguishes it from another version, so one connection alone
    /// must fill it.
    var isBound = false
    /// The connection that fills a bound representation; nil if no bytes have arrived yet, or if they arrived in an
    /// earlier run.
    var connection: UInt64?
    /// The evidence for whether the origin's entity tags identify versions.
    var entityTags = EntityTagReliability()
    /// The `Last-Modified` of the answer that began the representation, if that date is the second in which the answer
    /// was sent; otherwise nil.
    var unsettledDate: String?
    /// Whether the origin indicates that the resource never ends, as a web radio stream does.
    var isEndless = false
    /// Whether the resource is pinned: kept, and served whatever happens to it at its origin.
    var isPinned = false
    /// The schedule by which a failing origin is asked again.
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
        /// The reader has received all its bytes.
        case finished
        /// The byte at this offset is missing and must not be fetched.
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
        // A representation stored before the vault recorded freshness gets the default for answers that state none. A
        // representation that was imported without asking the origin was never current.
        let retrieved = representation.info.retrieved
        freshness =
            writtenFreshness
            ?? (information?.isImported == true
                ? Freshness(checked: retrieved, lifetime: 0) : Freshness(HeaderFields(), asked: retrieved))
    }

    /// Reloads the state from the index, because another process may have changed the index.
    ///
    /// - Parameters:
    ///   - representation: the representation as the index has it now; nil if the index no longer has it.
    ///   - lost: the segment whose file is missing.
    mutating func reload(_ representation: StoredRepresentation?, without lost: SegmentID) -> Effects {
        // Do not bring back a representation that was forgotten.
        guard information != nil else { return Effects() }
        if let representation { load(representation) } else { map = SegmentMap() }
        map.remove(lost, isDamaged: false)
        return Effects()
    }

    /// Begins a representation. From then on, an earlier one's bytes reach only readers whose own transfers bring the
    /// rest of it.
    ///
    /// - Parameters:
    ///   - keeping: the fetch whose answer begins the representation; this fetch continues.
    ///   - refused: the error with which the store refused the representation, whose bytes then only pass through; nil
    ///     if the store accepted it.
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
        // Set this now, so that no new reader cuts short the only fetch that can fill a bound representation.
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
    /// - Parameter keeping: the fetch that received this next answer, if it has already arrived. Readers waiting for
    ///   this fetch keep waiting.
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

    /// Ends all current and future readers with an error. Bytes that have already arrived are still sealed.
    mutating func end(with error: VaultError) -> Effects {
        ending = error
        var effects = letGo(Array(fetches.keys))
        for id in readers.keys { effects.wake(readers[id]?.signal.raise()) }
        return effects
    }

    /// Records newly learned facts about the representation, such as its length, or that its origin does not support
    /// ranges.
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
    var isHeldWhole: Bool { information?.isWhole(in: map.covered) ?? false }

    // MARK: Damage

    /// Turns a segment's unreadable bytes into a gap.
    mutating func invalidate(_ segment: SegmentID, for failure: SegmentFailure) {
        switch failure {
        case .badBlock(let block): map.markBad(segment, block: block)
        case .missing, .unreadable: map.remove(segment, isDamaged: false)
        case .foreign, .wrongKey: map.remove(segment, isDamaged: true)
        }
    }

    // MARK: Time

    /// Does the periodic work: ends transfers whose readers have stalled or left, and makes sealers close short blocks.
    mutating func tick(now: ContinuousClock.Instant) -> Effects {
        var effects = Effects()
        if let refusal, refusal.retryAt == nil { self.refusal?.retryAt = now + Refusal.pause }
        for id in fetches.keys {
            guard var fetch = fetches[id], fetch.isActive else { continue }
            if let since = fetch.pausedSince, now - since >= FetchState.stallTime {
                fetch.rest()
                if fetch.takenTo < fetch.present { effects.wake(fetch.sealerSignal.raise()) }
            }
            // Do not release a bound transfer: it could not be resumed on another connection.
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

// Decides whether held bytes are still current, and whether the origin may be asked.
extension LoaderState {
    /// Returns whether too much time has passed since the origin last confirmed the known representation.
    ///
    /// - Parameter now: the wall-clock time, in seconds since 1970.
    func isStale(now: Int64) -> Bool {
        guard information != nil, !isPinned, let freshness else { return false }
        return !freshness.isFresh(now: now)
    }

    /// The first step in opening a stale representation.
    enum StaleStep: Equatable {
        /// Open it at once: the fetch of its missing bytes will show whether it has changed.
        case open
        /// Serve it without confirmation, because the mode does not let the origin be asked.
        case stale(Staleness)
        /// Ask the origin first.
        case ask
    }

    /// Returns how to open a stale representation.
    ///
    /// - Parameter position: the offset of the first byte wanted; nil if the request is not for bytes.
    func staleStep(at position: Int64?) -> StaleStep {
        // If the first byte is missing, the answer that brings it will show whether the representation has changed.
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

    /// Returns the freshness if it must be written to the index, and counts it as written; otherwise returns nil.
    mutating func takeUnwrittenFreshness() -> Freshness? {
        guard mode.stores, canStore, let freshness, freshness.isWorthStoring(after: writtenFreshness) else {
            return nil
        }
        writtenFreshness = freshness
        return freshness
    }

    /// Changes the mode.
    ///
    /// If the new mode treats requests or storage differently, all transfers end, and their readers continue under the
    /// new mode.
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

// Records where the bytes of answers came from.
extension LoaderState {
    /// The maximum number of ended readers' traces that are kept until they are taken.
    private static let mostTraces = 16

    /// Keeps an ended reader's trace, unless the reader answered no client or received no bytes.
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

/// What remains to be done once the loader's state has been changed and unlocked.
struct Effects {
    var waiters: [WakeFlag.Waiter] = []
    /// Fetches to cancel because they are no longer needed.
    var cancelled: [FetchState.ID] = []
    /// Readers to wake, each at a given time.
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
