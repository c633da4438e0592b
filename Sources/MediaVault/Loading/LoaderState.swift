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
    var map = SegmentMap()
    var fetches: [FetchState.ID: FetchState] = [:]
    var readers: [ReaderState.ID: ReaderState] = [:]
    /// Whether bytes of this representation came through this loader.
    var hasFetched = false
    /// What the store last refused with.
    var storeFailure: VaultError?
    /// What it refuses with now; nil while it takes bytes.
    var refusal: Refusal?
    /// Whether the store has taken the representation in.
    var canStore = true
    /// Why all readers end, once they do.
    private(set) var ending: VaultError?
    /// Of readers that have ended, until they are taken.
    var traces: [ByteTrace] = []
    var lastID = 0
    /// What may be asked, and what is kept.
    var mode: VaultMode
    var vaultMode: VaultMode
    /// The mode that the resource has for itself.
    var ownMode: VaultMode?
    /// How long the representation is taken for what the origin has, and what the index knows of that.
    var freshness: Freshness?
    var writtenFreshness: Freshness?
    /// Whether nothing tells the representation from another version: then it is filled from one connection alone.
    var isBound = false
    /// That connection; nil where it has no bytes yet, and where they came in an earlier run.
    var connection: UInt64?
    /// What was heard of versions that may be nodes.
    var nodes = NodeWatch()
    /// Whether the resource is kept, and given, whatever becomes of it at its origin.
    var isPinned = false
    /// When an origin that fails is asked again.
    var retry: RetrySchedule

    init(mode: VaultMode, retry: RetryPolicy = RetryPolicy()) {
        self.mode = mode
        vaultMode = mode
        self.retry = RetrySchedule(retry)
    }

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
        writtenFreshness = representation.info.freshness
        // What was stored before anybody wrote that down is as fresh as what says nothing.
        freshness = writtenFreshness ?? Freshness(HeaderFields(), asked: representation.info.retrieved)
    }

    /// The index was looked at again, which another process changes: what it still holds of the representation, without
    /// a segment that is not there; nothing where it holds another one now.
    mutating func reload(_ representation: StoredRepresentation?, without lost: SegmentID) -> Effects {
        if let representation { load(representation) } else { map = SegmentMap() }
        map.remove(lost, isDamaged: false)
        return Effects()
    }

    /// A representation begins: nothing of an earlier one is used any more.
    ///
    /// - Parameters:
    ///   - keeping: the fetch that brought the news, and goes on.
    ///   - refused: why the store does not take it: its bytes only pass through.
    mutating func begin(
        _ information: ContentInformation, _ freshness: Freshness? = nil, keeping: FetchState.ID?,
        refused: VaultError? = nil
    ) -> Effects {
        var effects = Effects()
        canStore = refused == nil && mode.stores
        (self.freshness, writtenFreshness) = (freshness, freshness)
        storeFailure = refused
        refusal = refused.map { Refusal(error: $0) }
        if let keeping { fetches[keeping]?.isStoring = canStore }
        let isFirst = self.information == nil && map.covered.isEmpty
        self.information = information
        connection = nil
        map = SegmentMap()
        if !isFirst { edition += 1 }
        effects.merge(abandon(fetches.keys.filter { $0 != keeping && fetches[$0]?.isApart != true }))
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
        freshness = nil
        map = SegmentMap()
        connection = nil
        edition += 1
        effects.merge(abandon(fetches.keys.filter { fetches[$0]?.isApart != true }))
        for id in readers.keys { effects.wake(readers[id]?.signal.raise()) }
        return effects
    }

    /// Readers end with an error, none is served any more, and what has come is still sealed.
    mutating func end(with error: VaultError) -> Effects {
        ending = error
        var effects = letGo(Array(fetches.keys))
        for id in readers.keys { effects.wake(readers[id]?.signal.raise()) }
        return effects
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
        guard let length = information?.length, let end = readers[id]?.end, readers[id]?.isApart != true else { return }
        readers[id]?.end = min(end, length)
    }

    /// The bytes that are not sealed, as far as the length is known.
    var missing: [ByteRange] { map.covered.gaps(in: 0..<(information?.length ?? 0)) }

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
        if let refusal, refusal.retryAt == nil { self.refusal?.retryAt = now + Refusal.pause }
        for id in fetches.keys {
            guard var fetch = fetches[id], fetch.isActive else { continue }
            if let since = fetch.pausedSince, now - since >= FetchState.stillness {
                fetch.rest()
                if fetch.takenTo < fetch.present { effects.wake(fetch.sealerSignal.raise()) }
            }
            // What is bound to its connection could not be taken up again.
            if !isBound, !fetch.isApart, let since = fetch.pausedSince, now - since >= FetchState.patience {
                fetch.isLetGo = true
                effects.wake(fetch.receiverSignal.raise())
            }
            if fetch.isRoundedOut {
                let isAwaited = readers.values.contains { $0.fetch == id } || isNeeded(fetch, leaving: nil)
                fetch.leftSince = isAwaited ? nil : fetch.leftSince ?? now
                if let since = fetch.leftSince, now - since >= FetchState.farewell {
                    fetch.isLetGo = true
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

// Whether what is held is still what the origin has, and what may be asked.
extension LoaderState {
    /// Whether a representation is known of which nobody has said lately that its origin still has it.
    ///
    /// - Parameter now: by the wall clock.
    func isStale(now: Int64) -> Bool {
        guard information != nil, !isPinned, let freshness else { return false }
        return !freshness.isFresh(now: now)
    }

    /// What opening a representation that is stale begins with.
    enum StaleStep: Equatable {
        /// It can be given: what must be fetched for that will tell.
        case open
        /// It can be given, though nobody may ask.
        case stale(Staleness)
        /// Its origin is asked first.
        case ask
    }

    /// - Parameter position: the first byte wanted; nil where it is not about bytes.
    func staleStep(at position: Int64?) -> StaleStep {
        // The answer that brings a missing first byte says whether it is of the same representation.
        if let position, position < information?.length ?? .max, !present.contains(position) { return .open }
        switch mode {
        case .offline: return .stale(.offline)
        case .preferVault: return .stale(.preferVault)
        case .online, .noStore: return .ask
        }
    }

    /// The origin still has the representation.
    mutating func confirm(_ freshness: Freshness) -> Effects {
        self.freshness = freshness
        return Effects()
    }

    /// What the index should be told; from now on it has been.
    mutating func takeFreshnessNews() -> Freshness? {
        guard mode.stores, canStore, let freshness, freshness.isNews(after: writtenFreshness) else { return nil }
        writtenFreshness = freshness
        return freshness
    }

    /// Another mode counts from now on. Transfers end that it forbids, or that would be kept otherwise; their readers go
    /// on by the new one.
    mutating func setMode(vault: VaultMode? = nil, own: VaultMode?? = nil) -> Effects {
        vaultMode = vault ?? vaultMode
        ownMode = own ?? ownMode
        let before = mode
        mode = VaultMode.inForce(vault: vaultMode, own: ownMode)
        guard mode.asksOrigins != before.asksOrigins || mode.stores != before.stores else { return Effects() }
        // What passed by until now is taken in, if the store takes it.
        if mode.stores, !canStore { refusal = Refusal(error: VaultError(.storage, "the mode was no-store")) }
        var effects = letGo(fetches.keys.filter { fetches[$0]?.isActive == true })
        for id in readers.keys { effects.wake(readers[id]?.signal.raise()) }
        return effects
    }
}

// Where the bytes of answers came from.
extension LoaderState {
    /// How many that ended are kept until somebody takes them.
    private static let mostTraces = 16

    /// A reader has ended. What a download passes over is no answer.
    mutating func keepTrace(of reader: ReaderState) {
        guard !reader.isFilling, reader.trace.bytes > 0 else { return }
        if traces.count >= Self.mostTraces { traces.removeFirst() }
        traces.append(reader.trace)
    }

    /// Hands over the traces of readers that have ended.
    mutating func takeTraces() -> [ByteTrace] {
        defer { traces = [] }
        return traces
    }

    /// The traces of readers that go on.
    var runningTraces: [ByteTrace] { readers.values.filter { !$0.isFilling && $0.trace.bytes > 0 }.map(\.trace) }

    /// A reader fills the vault and answers nobody.
    mutating func beginFilling(_ id: ReaderState.ID) -> Effects {
        readers[id]?.isFilling = true
        return Effects()
    }
}

/// What is to be done after the loader's state was changed and unlocked.
struct Effects {
    var waiters: [WakeFlag.Waiter] = []
    /// Fetches that nobody wants any more.
    var cancelled: [FetchState.ID] = []
    /// Readers to be woken at a time.
    var alarms: [(reader: ReaderState.ID, time: ContinuousClock.Instant)] = []

    /// Bytes that were handed on and will not be stored.
    var passedThrough: Int64 = 0

    mutating func wake(_ woken: [WakeFlag.Waiter]?) { waiters += woken ?? [] }

    mutating func merge(_ other: Effects) {
        waiters += other.waiters
        cancelled += other.cancelled
        passedThrough += other.passedThrough
        alarms += other.alarms
    }
}
