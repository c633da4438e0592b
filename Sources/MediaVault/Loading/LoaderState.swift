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
