import VaultModel
import VaultStorage

// Transfers: begun, taken from, let go and ended.
extension LoaderState {
    /// Ends transfers; what they brought is kept.
    mutating func letGo(_ ids: [FetchState.ID]) -> Effects {
        for id in ids { fetches[id]?.isLetGo = true }
        var effects = Effects()
        effects.cancelled = ids
        return effects
    }

    /// Takes fetches of an earlier representation out at once: nothing they bring is used any more.
    mutating func abandon(_ ids: [FetchState.ID]) -> Effects {
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
        _ gap: ByteRange, now: ContinuousClock.Instant, isApart: Bool = false
    ) -> FetchState.ID {
        lastID += 1
        // A fetch that would come here much later stops before: nothing is fetched twice. What is bound to its connection
        // does not, as the other may turn out to be none of it.
        for (id, fetch) in fetches
        where !isBound && !isApart && fetch.isActive && !fetch.isApart && fetch.remaining.contains(gap.lowerBound) {
            fetches[id]?.end = gap.lowerBound
        }
        fetches[lastID] = FetchState(id: lastID, range: gap, now: now)
        fetches[lastID]?.isApart = isApart
        fetches[lastID]?.isStoring = canStore && refusal == nil && mode.stores && !isApart
        return lastID
    }

    /// The head of a fetch's answer is good: bytes up to `end` follow, from byte 0 where `fromZero`.
    mutating func accept(
        _ id: FetchState.ID, end: Int64?, fromZero: Bool, of representation: RepresentationID? = nil
    ) -> Effects {
        var effects = Effects()
        guard var fetch = fetches[id] else { return effects }
        fetch.representation = representation
        if fromZero {
            fetch.restartAtZero(end: end ?? .max)
        } else if let end {
            let wanted = min(fetch.end, information?.length ?? .max)
            if wanted < .max, end - fetch.start < min(wanted - fetch.start, Int64(VaultStore.blockSize)) {
                fetch.askedInVain = wanted - fetch.start
            }
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
        if let since = fetch.pausedSince, now - since >= FetchState.stillness { fetch.hasStoodStill = true }
        guard fetch.mayReceive else {
            fetch.holdBack(now: now)
            return false
        }
        fetch.pausedSince = nil
        return true
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
    /// - Returns: how many of them are used, and counted; those that leave no trace are not.
    mutating func received(
        _ bytes: [UInt8], by id: FetchState.ID, now: ContinuousClock.Instant
    ) -> (used: Int64, effects: Effects) {
        var effects = Effects()
        guard var fetch = fetches[id] else { return (0, effects) }
        if fetch.isLetGo { fetch.end = endOfLateBytes(of: fetch) }
        let isNews = !map.covered.contains(fetch.present)
        let used = fetch.append(bytes, now: now)
        // Crumbs are no progress: each would be a request, a file and a row.
        if isNews, fetch.askedInVain == nil { retry.received(used) }
        hasFetched = true
        if !fetch.isStoring, mode.stores { effects.passedThrough = used }
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

    /// Up to where bytes are used that come from a fetch which was let go: what another fetch brings is not counted twice.
    func endOfLateBytes(of fetch: FetchState) -> Int64 {
        fetches.values.reduce(fetch.end) { end, other in
            guard other.id != fetch.id, !other.isApart, other.end > fetch.present else { return end }
            return min(end, max(other.start, fetch.present))
        }
    }

    /// No more bytes come. Readers that waited for them learn why, or plan anew.
    ///
    /// - Parameter chance: from 0 to 1, for the time of the next try.
    mutating func receiverEnded(
        _ id: FetchState.ID, _ failure: FetchFailure?, now: ContinuousClock.Instant, chance: Double
    ) -> Effects {
        var effects = Effects()
        guard var fetch = fetches[id] else { return effects }
        // An origin that drops who takes nothing has done nothing wrong.
        var failure = fetch.hasStoodStill && failure?.isInterruption ?? false ? nil : failure
        if let asked = fetch.askedInVain, failure == nil, fetch.present >= fetch.end {
            let given = fetch.end - fetch.start
            failure = .origin(OriginFailure(.interrupted, "it gave \(given) of the \(asked) bytes asked for"))
        }
        if let failure { retry.failed(failure, now: now, chance: chance) }
        fetch.phase = .ended
        effects.wake(fetch.sealerSignal.raise())
        fetches[id] = fetch
        for reader in readers.keys where readers[reader]?.fetch == id {
            if let position = readers[reader]?.position, position >= fetch.present {
                // What a stricter fetch refused, others ask for again on their own.
                let isTheirs = !fetch.keepsRepresentation || readers[reader]?.keepsRepresentation == true
                readers[reader]?.failure = isTheirs ? failure : nil
                readers[reader]?.fetch = nil
            }
            effects.wake(readers[reader]?.signal.raise())
        }
        return effects
    }

    /// The fetch is gone: its bytes lie in segments.
    mutating func remove(_ id: FetchState.ID) -> Effects {
        var effects = Effects()
        guard fetches[id]?.isStoring ?? true || !isWanted(id) else {
            // What is not stored stays for those who take their bytes from it.
            fetches[id]?.isLeftOver = true
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
