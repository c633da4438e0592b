import VaultModel
import VaultStorage

// What is sealed, and when.
extension LoaderState {
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

    mutating func sealWork(_ id: FetchState.ID) -> (SealWork, Effects) {
        var effects = Effects()
        guard var fetch = fetches[id] else { return (.finish, effects) }
        defer { fetches[id] = fetch }
        fetch.sealerSignal.lower()
        fetch.waitsForOther = false
        guard fetch.isStoring else { return (fetch.phase == .ended ? .finish : .wait, effects) }
        if fetch.takenTo < fetch.present {
            // An origin that cannot jump sends again what is held: that part is passed over.
            if let (_, run) = map.segment(at: fetch.takenTo) {
                fetch.takenTo = min(run.upperBound, fetch.present)
                fetch.sealedTo = fetch.takenTo
                fetch.trim()
                if fetch.mayReceive { effects.wake(fetch.receiverSignal.raise()) }
                return (.close, effects)
            }
            // What an earlier fetch has yet to seal is left to it, and what any has in hand.
            let others = fetches.values.filter { $0.id != id && $0.isStoring }
                .map { (id: $0.id, bytes: $0.sealedTo..<max($0.sealedTo, $0.id < id ? $0.present : $0.takenTo)) }
                .filter { !$0.bytes.isEmpty }
            if let other = others.first(where: { $0.bytes.contains(fetch.takenTo) }) {
                // What is in hand here is sealed first: no two wait for each other.
                if fetch.takeFlush() { return (.close, effects) }
                fetch.waitsForOther = true
                fetches[other.id]?.wantsFlush = true
                effects.wake(fetches[other.id]?.sealerSignal.raise())
                return (.wait, effects)
            }
            let limit = others.map(\.bytes.lowerBound).filter { $0 > fetch.takenTo }
                .reduce(map.covered.firstHeld(from: fetch.takenTo) ?? .max, min)
            if let bytes = fetch.recent.bytes(from: fetch.takenTo, limit: limit) {
                defer { fetch.takenTo += Int64(bytes.count) }
                return (.seal(bytes, at: fetch.takenTo), effects)
            }
        }
        if fetch.phase == .ended { return (.finish, effects) }
        return (fetch.takeFlush() ? .close : .wait, effects)
    }

    /// Wakes the sealers that wait for what another fetch was to seal.
    mutating func wakeWaitingSealers() -> Effects {
        var effects = Effects()
        for id in fetches.keys where fetches[id]?.waitsForOther == true {
            effects.wake(fetches[id]?.sealerSignal.raise())
        }
        return effects
    }

    mutating func waitToSeal(_ id: FetchState.ID, _ waiter: Signal.Waiter) -> Bool {
        fetches[id]?.sealerSignal.wait(waiter) ?? false
    }

    /// Blocks of a segment are sealed and can be opened.
    mutating func sealed(_ segment: SegmentDescription, by id: FetchState.ID) -> Effects {
        var effects = Effects()
        // A fetch that was abandoned writes for a representation that is no longer read.
        guard var fetch = fetches[id] else { return effects }
        map.put(segment)
        fetch.sealedTo = max(fetch.sealedTo, segment.range.upperBound)
        fetch.trim()
        if fetch.mayReceive { effects.wake(fetch.receiverSignal.raise()) }
        fetches[id] = fetch
        effects.merge(wakeWaitingSealers())
        return effects
    }

    /// The store refused: the segment is gone, and the fetch's bytes only pass through from now on.
    mutating func storeFailed(_ id: FetchState.ID, segment: SegmentID?, _ failure: VaultError) -> Effects {
        var effects = Effects()
        // A late block of a representation that is no longer read is no failure of the store.
        if failure.code != .changed { refuse(failure) }
        if let segment {
            effects.passedThrough = map.length(of: segment)
            map.remove(segment, isDamaged: false)
        }
        guard var fetch = fetches[id] else { return effects }
        if fetch.isStoring { effects.passedThrough += fetch.present - fetch.sealedTo }
        fetch.isStoring = false
        // Nothing waits for the sealer any more.
        fetch.sealedTo = fetch.end
        fetch.trim()
        effects.wake(fetch.receiverSignal.raise())
        fetches[id] = fetch
        effects.merge(wakeWaitingSealers())
        return effects
    }
}
