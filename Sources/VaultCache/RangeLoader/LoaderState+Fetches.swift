import VaultModel
import VaultStorage

// How transfers start, receive bytes, and end.
extension LoaderState {
    /// Ends transfers, keeping the bytes that they received.
    mutating func letGo(_ ids: [FetchState.ID]) -> Effects {
        for id in ids { fetches[id]?.enter(.released) }
        var effects = Effects()
        effects.cancelled = ids
        return effects
    }

    /// Removes fetches of an earlier representation at once; their bytes are no longer used.
    mutating func discard(_ ids: [FetchState.ID]) -> Effects {
        var effects = Effects()
        effects.cancelled = ids
        for id in ids {
            guard var fetch = fetches.removeValue(forKey: id) else { continue }
            effects.wake(fetch.receiverSignal.raise())
            effects.wake(fetch.sealerSignal.raise())
        }
        effects.merge(wakeWaitingSealers())
        return effects
    }

    mutating func addFetch(
        _ gap: ByteRange, now: ContinuousClock.Instant, isSeparate: Bool = false
    ) -> FetchState.ID {
        lastID += 1
        // Any fetch that would reach the gap much later is shortened to end before it, so that nothing is fetched
        // twice. If the representation is bound to one connection, the earlier fetch continues, because the new fetch's
        // bytes may turn out not to belong to the representation.
        for (id, fetch) in fetches
        where !isBound && !isSeparate && fetch.isActive && !fetch.isSeparate && fetch.remaining.contains(gap.lowerBound)
        {
            fetches[id]?.end = gap.lowerBound
        }
        fetches[lastID] = FetchState(id: lastID, range: gap, now: now)
        let mayStore = canStore && refusal == nil && mode.stores
        fetches[lastID]?.destination = isSeparate ? .ownReaders : mayStore ? .store : .readers
        return lastID
    }

    /// Records that the head of a fetch's answer is valid.
    ///
    /// - Parameters:
    ///   - end: one past the last byte that the body brings; nil if unknown.
    ///   - fromZero: whether the body begins at byte 0, whatever range was requested.
    mutating func accept(
        _ id: FetchState.ID, end: Int64?, fromZero: Bool, of representation: RepresentationID? = nil
    ) -> Effects {
        var effects = Effects()
        guard var fetch = fetches[id] else { return effects }
        fetch.representation = representation
        fetch.statedEnd = end
        if fromZero {
            fetch.restartAtZero(end: end ?? .max)
        } else if let end {
            let wanted = min(fetch.end, information?.length ?? .max)
            if wanted < .max, end - fetch.start < min(wanted - fetch.start, Int64(VaultStore.blockSize)) {
                fetch.requestedOfTinyAnswer = wanted - fetch.start
            }
            fetch.end = min(fetch.end, end)
        }
        fetch.enter(.receiving)
        fetches[id] = fetch
        for reader in readers.keys where readers[reader]?.fetch == id {
            effects.wake(readers[reader]?.signal.raise())
        }
        return effects
    }

    /// Returns whether a fetch's receiver may take more bytes now; nil if it must end.
    mutating func mayReceive(_ id: FetchState.ID, now: ContinuousClock.Instant) -> Bool? {
        guard var fetch = fetches[id], fetch.isActive else { return nil }
        defer { fetches[id] = fetch }
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

    mutating func waitToReceive(_ id: FetchState.ID, _ waiter: WakeFlag.Waiter) -> Bool {
        fetches[id]?.receiverSignal.wait(waiter) ?? false
    }

    mutating func wakeReceiver(_ id: FetchState.ID) -> Effects {
        var effects = Effects()
        effects.wake(fetches[id]?.receiverSignal.raise())
        return effects
    }

    /// Takes bytes that have arrived for a fetch.
    ///
    /// - Returns: the number of bytes to count as fetched, which is 0 if the mode stores nothing.
    mutating func received(
        _ bytes: [UInt8], by id: FetchState.ID, now: ContinuousClock.Instant
    ) -> (used: Int64, effects: Effects) {
        var effects = Effects()
        guard var fetch = fetches[id] else { return (0, effects) }
        if fetch.phase == .released { fetch.end = lateBytesEnd(of: fetch) }
        let isNew = !map.covered.contains(fetch.present)
        let used = fetch.append(bytes, now: now)
        // Tiny answers do not count as progress, because each costs a request, a file and a row.
        if isNew, fetch.requestedOfTinyAnswer == nil { retry.received(used) }
        hasFetched = true
        // A separate transfer's bytes are never offered to the store, so they are not counted here.
        if !fetch.isStoring, !fetch.isSeparate, mode.stores { effects.passedThrough = used }
        if fetch.isWorthSealing { effects.wake(fetch.sealerSignal.raise()) }
        let present = fetch.present
        fetches[id] = fetch
        for reader in readers.keys where readers[reader]?.fetch == id {
            if let position = readers[reader]?.position, position < present {
                effects.wake(readers[reader]?.signal.raise())
            }
        }
        return (mode.stores ? used : 0, effects)
    }

    /// Returns the end of the late bytes that a released fetch may still use.
    ///
    /// Bytes that another fetch brings are left out, so that they do not count twice.
    func lateBytesEnd(of fetch: FetchState) -> Int64 {
        fetches.values.reduce(fetch.end) { end, other in
            guard other.id != fetch.id, !other.isSeparate, other.end > fetch.present else { return end }
            return min(end, max(other.start, fetch.present))
        }
    }

    /// Records that a fetch has stopped receiving. Readers waiting for its bytes get the failure, or plan a new fetch.
    ///
    /// - Parameter chance: a random number from 0 to 1, which varies the time of the next attempt.
    mutating func receiverEnded(
        _ id: FetchState.ID, _ failure: FetchFailure?, now: ContinuousClock.Instant, chance: Double
    ) -> Effects {
        var effects = Effects()
        guard var fetch = fetches[id] else { return effects }
        // The origin is not at fault if it drops a client that takes nothing.
        var failure = fetch.hasStoodStill && failure?.isInterruption ?? false ? nil : failure
        if let asked = fetch.requestedOfTinyAnswer, failure == nil, fetch.present >= fetch.end {
            let given = fetch.end - fetch.start
            failure = .origin(OriginFailure(.interrupted, "it sent \(given) of the \(asked) requested bytes"))
        }
        if let failure { retry.failed(failure, now: now, chance: chance) }
        fetch.enter(.ended)
        effects.wake(fetch.sealerSignal.raise())
        fetches[id] = fetch
        for reader in readers.keys where readers[reader]?.fetch == id {
            if let position = readers[reader]?.position, position >= fetch.present || fetch.hasWrongEnd {
                // If a fetch that had to keep the representation failed, readers without that demand make a new
                // request.
                let isTheirs = !fetch.keepsRepresentation || readers[reader]?.keepsRepresentation == true
                readers[reader]?.failure = isTheirs ? failure : nil
                readers[reader]?.fetch = nil
            }
            effects.wake(readers[reader]?.signal.raise())
        }
        return effects
    }

    /// Forgets the bytes of an answer that continued past its stated end, or that was not proven to be the requested
    /// range.
    ///
    /// - Returns: the segments to discard.
    mutating func forgetBytes(of id: FetchState.ID) -> (Set<SegmentID>, Effects) {
        var effects = Effects()
        guard let fetch = fetches[id] else { return ([], effects) }
        for segment in fetch.segments { map.remove(segment, isDamaged: false) }
        for reader in readers.keys { effects.wake(readers[reader]?.signal.raise()) }
        return (fetch.segments, effects)
    }

    /// Removes a finished fetch, unless readers still need its unstored bytes.
    mutating func remove(_ id: FetchState.ID) -> Effects {
        var effects = Effects()
        guard fetches[id]?.isStoring ?? true || !isWanted(id) else {
            // Keep unstored bytes for the readers that take them from this fetch.
            fetches[id]?.enter(.keptForReaders)
            return effects
        }
        fetches[id] = nil
        effects.merge(wakeWaitingSealers())
        for reader in readers.keys where readers[reader]?.fetch == id {
            readers[reader]?.fetch = nil
            effects.wake(readers[reader]?.signal.raise())
        }
        return effects
    }
}

// Decides what is sealed, and when.
extension LoaderState {
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

    mutating func sealWork(_ id: FetchState.ID) -> (SealWork, Effects) {
        var effects = Effects()
        guard var fetch = fetches[id] else { return (.finish, effects) }
        defer { fetches[id] = fetch }
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
            let others = fetches.values.filter { $0.id != id && $0.isStoring }
                .map { (id: $0.id, bytes: $0.sealedTo..<max($0.sealedTo, $0.id < id ? $0.present : $0.takenTo)) }
                .filter { !$0.bytes.isEmpty }
            if let other = others.first(where: { $0.bytes.contains(fetch.takenTo) }) {
                // Close the current segment first if asked to, so that no two fetches wait for each other.
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
        if fetch.hasEnded { return (.finish, effects) }
        return (fetch.takeFlush() ? .close : .wait, effects)
    }

    /// Wakes the sealers that are waiting for bytes that another fetch is to seal.
    mutating func wakeWaitingSealers() -> Effects {
        var effects = Effects()
        for id in fetches.keys where fetches[id]?.waitsForOther == true {
            effects.wake(fetches[id]?.sealerSignal.raise())
        }
        return effects
    }

    mutating func waitToSeal(_ id: FetchState.ID, _ waiter: WakeFlag.Waiter) -> Bool {
        fetches[id]?.sealerSignal.wait(waiter) ?? false
    }

    /// Records that a segment's blocks are sealed and can be opened.
    mutating func sealed(_ segment: SegmentDescription, by id: FetchState.ID) -> Effects {
        var effects = Effects()
        // An abandoned fetch, or one kept only for its readers, wrote for a representation that is no longer read.
        guard var fetch = fetches[id], !fetch.isSeparate else { return effects }
        map.put(segment)
        fetch.segments.insert(segment.id)
        fetch.sealedTo = max(fetch.sealedTo, segment.range.upperBound)
        fetch.trim()
        if fetch.mayReceive { effects.wake(fetch.receiverSignal.raise()) }
        fetches[id] = fetch
        effects.merge(wakeWaitingSealers())
        return effects
    }

    /// Records that the store refused bytes.
    ///
    /// The segment, if any, is lost, and the fetch's further bytes only pass through.
    mutating func storeFailed(_ id: FetchState.ID, segment: SegmentID?, _ failure: VaultError) -> Effects {
        var effects = Effects()
        // A late block for a representation that is no longer read does not mean that the store has failed.
        if failure.code != .changed { refuse(failure) }
        if let segment {
            effects.passedThrough = map.length(of: segment)
            map.remove(segment, isDamaged: false)
        }
        guard var fetch = fetches[id] else { return effects }
        if fetch.isStoring { effects.passedThrough += fetch.present - fetch.sealedTo }
        if !fetch.isSeparate { fetch.destination = .readers }
        // Count everything as sealed, so that nothing waits for the sealer any more.
        fetch.sealedTo = fetch.end
        fetch.trim()
        effects.wake(fetch.receiverSignal.raise())
        fetches[id] = fetch
        effects.merge(wakeWaitingSealers())
        return effects
    }
}
