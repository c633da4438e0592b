import VaultModel
import VaultStorage

/// The fetches of one loader: which transfers run, which bytes they bring, and who receives and seals them.
struct FetchTable {
    private var states: [FetchState.ID: FetchState] = [:]

    subscript(id: FetchState.ID) -> FetchState? {
        get { states[id] }
        // Without this, each change through an optional chain would copy the state.
        _modify { yield &states[id] }
    }

    var values: some Collection<FetchState> { states.values }
    var count: Int { states.count }
    var isEmpty: Bool { states.isEmpty }

    // MARK: Coming and leaving

    /// Adds a fetch.
    ///
    /// - Parameter isCutting: whether any fetch that would reach the new one much later is shortened to end before it,
    ///   so that nothing is fetched twice.
    mutating func add(_ fetch: FetchState, isCutting: Bool) {
        for (id, other) in states
        where isCutting && other.isActive && !other.isSeparate && other.remaining.contains(fetch.start) {
            states[id]?.end = fetch.start
        }
        states[fetch.id] = fetch
    }

    /// Ends transfers, keeping the bytes that they received.
    mutating func letGo(_ fetches: some Sequence<FetchState>) -> Effects {
        let ids = fetches.map(\.id)
        for id in ids { states[id]?.enter(.released) }
        return Effects(cancelling: ids)
    }

    /// Removes fetches of an earlier representation at once; their bytes are no longer used.
    mutating func discard(where isUnused: (FetchState) -> Bool) -> Effects {
        let discarded = states.values.filter(isUnused)
        var effects = Effects(cancelling: discarded.map(\.id))
        for var fetch in discarded {
            states[fetch.id] = nil
            effects.wake(fetch.receiverSignal.raise())
            effects.wake(fetch.sealerSignal.raise())
        }
        effects.merge(wakeWaitingSealers())
        return effects
    }

    // MARK: Bytes

    /// The transfers whose answers have begun, except separate ones.
    var coming: [FetchState] { states.values.filter { $0.phase == .receiving && !$0.isSeparate } }

    /// Returns the bytes that are received but not necessarily sealed, and those still to come that a reader should
    /// wait for.
    func inFlight(supportsRanges: Bool) -> ByteRanges {
        states.values.reduce(into: ByteRanges()) { bytes, fetch in
            guard !fetch.isSeparate else { return }
            bytes.insert(contentsOf: fetch.recent.start..<fetch.present)
            if fetch.isActive { bytes.insert(contentsOf: fetch.near(supportsRanges: supportsRanges)) }
        }
    }

    /// Returns recently received bytes, from the given fetch if it has them, or else from any other.
    func recentBytes(
        at position: Int64, limit: Int64, of first: FetchState.ID?
    ) -> (FetchState.ID, ArraySlice<UInt8>)? {
        if let fetch = first.flatMap({ states[$0] }), !fetch.isSeparate,
            let bytes = fetch.recent.bytes(from: position, limit: limit)
        {
            return (fetch.id, bytes)
        }
        for fetch in states.values where !fetch.isSeparate {
            if let bytes = fetch.recent.bytes(from: position, limit: limit) { return (fetch.id, bytes) }
        }
        return nil
    }

    /// Returns the end of the late bytes that a released fetch may still use.
    ///
    /// Bytes that another fetch brings are left out, so that they do not count twice.
    func lateBytesEnd(of fetch: FetchState) -> Int64 {
        states.values.reduce(fetch.end) { end, other in
            guard other.id != fetch.id, !other.isSeparate, other.end > fetch.present else { return end }
            return min(end, max(other.start, fetch.present))
        }
    }

    // MARK: Receivers

    /// Returns whether a fetch's receiver may take more bytes now; nil if it must end.
    mutating func mayReceive(_ id: FetchState.ID, now: ContinuousClock.Instant) -> Bool? {
        guard var fetch = states[id], fetch.isActive else { return nil }
        defer { states[id] = fetch }
        fetch.receiverSignal.lower()
        guard fetch.present < fetch.end else { return nil }
        if let since = fetch.pausedSince, now - since >= FetchState.stallTime { fetch.hasStoodStill = true }
        guard fetch.mayReceive else {
            fetch.holdBack(now: now)
            return false
        }
        fetch.pausedSince = nil
        return true
    }

    // MARK: Sealers

    /// The next task of a fetch's sealer.
    enum SealWork {
        /// Seal these bytes, which begin at this offset.
        case seal(ArraySlice<UInt8>, at: Int64)
        /// Close the segment that is being written; the next bytes begin a new one.
        case close
        /// Wait until woken.
        case wait
        /// Close the segment and end, because no more bytes will come.
        case finish
    }

    /// Decides what a fetch's sealer does next, given what is sealed already.
    mutating func sealWork(_ id: FetchState.ID, beside map: SegmentMap) -> (SealWork, Effects) {
        var effects = Effects()
        guard var fetch = states[id] else { return (.finish, effects) }
        defer { states[id] = fetch }
        fetch.sealerSignal.lower()
        fetch.waitsForOther = false
        guard fetch.isStoring else {
            return (fetch.hasEnded ? .finish : fetch.takeFlush() ? .close : .wait, effects)
        }
        if fetch.takenTo < fetch.present {
            // An origin without range support resends bytes that are already held; skip them.
            if let (_, run) = map.segment(at: fetch.takenTo) {
                fetch.takenTo = min(run.upperBound, fetch.present)
                fetch.sealedTo = fetch.takenTo
                fetch.trim()
                if fetch.mayReceive { effects.wake(fetch.receiverSignal.raise()) }
                return (.close, effects)
            }
            // Leave to an earlier fetch the bytes that it has yet to seal, and to any fetch the bytes that it is
            // sealing now.
            let others = states.values.filter { $0.id != id && $0.isStoring }
                .map { (id: $0.id, bytes: $0.sealedTo..<max($0.sealedTo, $0.id < id ? $0.present : $0.takenTo)) }
                .filter { !$0.bytes.isEmpty }
            if let other = others.first(where: { $0.bytes.contains(fetch.takenTo) }) {
                // Close the current segment first if asked to, so that no two fetches wait for each other.
                if fetch.takeFlush() { return (.close, effects) }
                fetch.waitsForOther = true
                states[other.id]?.wantsFlush = true
                effects.wake(states[other.id]?.sealerSignal.raise())
                return (.wait, effects)
            }
            let limit = others.map(\.bytes.lowerBound).filter { $0 > fetch.takenTo }
                .reduce(map.covered.firstHeld(from: fetch.takenTo) ?? .max, min)
            if let bytes = fetch.recent.bytes(from: fetch.takenTo, limit: limit) {
                defer { fetch.takenTo += Int64(bytes.count) }
                return (.seal(bytes, at: fetch.takenTo), effects)
            }
        }
        if fetch.hasEnded { return (.finish, effects) }
        return (fetch.takeFlush() ? .close : .wait, effects)
    }

    /// Wakes the sealers that are waiting for bytes that another fetch is to seal.
    mutating func wakeWaitingSealers() -> Effects {
        var effects = Effects()
        for (id, fetch) in states where fetch.waitsForOther { effects.wake(states[id]?.sealerSignal.raise()) }
        return effects
    }

    /// Stores the bytes of running transfers from here on, because the store accepts bytes again.
    mutating func storeAgain() -> Effects {
        var effects = Effects()
        for (id, fetch) in states where fetch.isPassingThrough {
            states[id]?.storeAgain()
            effects.wake(states[id]?.sealerSignal.raise())
        }
        return effects
    }
}
