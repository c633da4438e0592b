import VaultModel
import VaultStorage

// What readers do next, and what their coming and going does to fetches.
extension LoaderState {
    /// Adds a reader of `range`; an upper bound of `Int64.max` is "to the end".
    mutating func addReader(_ range: ByteRange) -> ReaderState.ID {
        lastID += 1
        readers[lastID] = ReaderState(
            edition: edition, position: range.lowerBound,
            end: min(range.upperBound, information?.length ?? .max))
        return lastID
    }

    /// Takes a reader out; a fetch that it was the last to want is cancelled.
    mutating func removeReader(_ id: ReaderState.ID) -> Effects {
        var effects = Effects()
        guard var reader = readers.removeValue(forKey: id) else { return effects }
        effects.wake(reader.signal.raise())
        keepTrace(of: reader)
        if let fetch = reader.fetch { effects.merge(release(fetch)) }
        effects.merge(releaseUnneeded())
        return effects
    }

    /// The bytes that are there: in segments, or just come.
    var present: ByteRanges {
        fetches.values.reduce(into: map.covered) {
            if !$1.isApart { $0.insert(contentsOf: $1.recent.start..<$1.present) }
        }
    }

    /// What a reader does next.
    mutating func step(_ id: ReaderState.ID, now: ContinuousClock.Instant) -> (Step, Effects) {
        var effects = Effects()
        guard var reader = readers[id] else { return (.finished, effects) }
        reader.signal.lower()
        defer { readers[id] = reader }
        if let ending { return (.failed(.final(ending)), effects) }
        guard reader.isApart || reader.edition == edition else { return (.changed, effects) }
        // It matters only to who still misses the byte.
        let failure = reader.failure.take()
        let (position, end) = (reader.position, reader.end)
        guard position < end else { return (.finished, effects) }
        if reader.isApart { return stepApart(&reader, after: failure, now) }

        if let (fetch, bytes) = recentBytes(at: position, limit: end) {
            effects.merge(attach(&reader, to: fetch))
            reader.source = fetches[fetch]?.isStoring == false ? .unstored : .origin
            reader.takesCrumbs = fetches[fetch]?.askedInVain != nil
            return (.take(bytes), effects)
        }
        let supportsRanges = information?.supportsRanges ?? false
        let active = fetches.values.filter { $0.isActive && !$0.isApart }
        // Before the first answer nobody knows what will come: one fetch asks, the others wait.
        if information == nil, let pioneer = active.first {
            effects.merge(attach(&reader, to: pioneer.id, isDemanding: false))
            return (.wait, effects)
        }
        var inFlight = ByteRanges()
        for fetch in fetches.values where !fetch.isApart {
            // Bytes that came and are not sealed yet need not be fetched again.
            inFlight.insert(contentsOf: fetch.recent.start..<fetch.present)
            if fetch.isActive { inFlight.insert(contentsOf: fetch.near(supportsRanges: supportsRanges)) }
        }
        switch LoadPlan.first(of: position..<end, held: map.covered, inFlight: inFlight) {
        case nil:
            return (.finished, effects)
        case .held(let range):
            guard let (segment, run) = map.segment(at: position) else { return (.changed, effects) }
            reader.source = .vault
            reader.takesCrumbs = false
            return (.open(segment, run.clamped(to: range)), effects)
        case .inFlight:
            guard let fetch = active.first(where: { $0.near(supportsRanges: supportsRanges).contains(position) })
            else { return (.wait, effects) }
            effects.merge(attach(&reader, to: fetch.id))
            fetches[fetch.id]?.hunger(at: position)
            return (.wait, effects)
        case .gap(let gap):
            guard mode.asksOrigins else {
                return (.hole(at: position, isDamage: map.damaged.contains(position)), effects)
            }
            let wanted = roundedOut(gap, between: map.covered.union(inFlight))
            return ask(for: wanted, &reader, id, after: failure, now)
        }
    }

    /// A reader gets what its answer promises: another range than it asked for, where the origin cannot jump.
    ///
    /// - Parameter isWhole: whether it asked for everything, without a range.
    mutating func place(_ id: ReaderState.ID, _ range: ByteRange, isWhole: Bool = false) {
        let end = min(range.upperBound, information?.length ?? .max)
        readers[id]?.isWhole = isWhole
        readers[id]?.position = range.lowerBound
        readers[id]?.end = end
    }

    /// A reader has had bytes up to `position`.
    mutating func advance(_ id: ReaderState.ID, to position: Int64) -> Effects {
        var effects = Effects()
        guard readers[id] != nil else { return effects }
        readers[id]?.advance(to: position)
        guard let fetch = readers[id]?.fetch else { return effects }
        effects.merge(demand(position, of: fetch))
        effects.merge(removeLeftOver(fetch))
        return effects
    }

    /// Begins a reader's wait, unless it was woken meanwhile.
    mutating func wait(_ id: ReaderState.ID, _ waiter: WakeFlag.Waiter) -> Bool {
        readers[id]?.signal.wait(waiter) ?? false
    }

    mutating func wake(_ id: ReaderState.ID) -> Effects {
        var effects = Effects()
        effects.wake(readers[id]?.signal.raise())
        return effects
    }

    func recentBytes(at position: Int64, limit: Int64) -> (FetchState.ID, ArraySlice<UInt8>)? {
        for fetch in fetches.values where !fetch.isApart {
            if let bytes = fetch.recent.bytes(from: position, limit: limit) { return (fetch.id, bytes) }
        }
        return nil
    }

    /// A reader takes its bytes from this fetch now, and no longer from another.
    ///
    /// - Parameter isDemanding: whether the fetch shall run to where the reader is; not before the first answer, which
    ///   the reader may be far from.
    mutating func attach(_ reader: inout ReaderState, to fetch: FetchState.ID, isDemanding: Bool = true) -> Effects {
        var effects = Effects()
        let old = reader.fetch
        reader.fetch = fetch
        if isDemanding { effects.merge(demand(reader.position, of: fetch)) }
        if let old, old != fetch { effects.merge(release(old, leaving: reader)) }
        return effects
    }

    mutating func demand(_ position: Int64, of id: FetchState.ID) -> Effects {
        var effects = Effects()
        guard var fetch = fetches[id], position > fetch.demand else { return effects }
        fetch.demand = position
        fetch.trim()
        if fetch.mayReceive { effects.wake(fetch.receiverSignal.raise()) }
        fetches[id] = fetch
        return effects
    }

    /// Cancels a fetch whose last reader has left. The reader that is leaving may still stand in the table.
    mutating func release(_ id: FetchState.ID, leaving: ReaderState? = nil) -> Effects {
        var effects = removeLeftOver(id, leaving: leaving)
        guard let fetch = fetches[id], fetch.isActive else { return effects }
        let remaining = readers.values.count { $0.fetch == id } - (leaving == nil ? 0 : 1)
        // What was rounded out is a block or two: it comes to its end, or each byte asked for would be a file.
        let endsSoon = fetch.isRoundedOut && fetch.isStoring && fetch.phase == .flowing && maySeeOffOneMore
        guard remaining <= 0, !endsSoon else { return effects }
        if let heir = heir(to: fetch) {
            readers[heir]?.fetch = id
        } else if !isNeeded(fetch, leaving: leaving) {
            fetches[id]?.isLetGo = true
            effects.cancelled.append(id)
        }
        return effects
    }

    /// Whether there are few fetches that come to their end without a reader: each has a connection of its origin's.
    private var maySeeOffOneMore: Bool {
        let taken = Set(readers.values.compactMap(\.fetch))
        return fetches.values.count { $0.isActive && $0.isRoundedOut && !taken.contains($0.id) } <= FetchState.mostLeft
    }

    /// One who reads what is sealed and will come to what a fetch has still to bring, where the origin cannot jump: it
    /// would send everything once more.
    private func heir(to fetch: FetchState) -> ReaderState.ID? {
        guard information?.supportsRanges == false, !fetch.isApart else { return nil }
        return readers.first { _, reader in
            reader.fetch == nil && !reader.isApart && reader.edition == edition
                && reader.position < fetch.end && reader.end > fetch.present
        }?.key
    }
}

/// One reader of a resource as the loader sees it.
struct ReaderState {
    /// Names one reader of a loader.
    typealias ID = Int

    /// Which representation it reads: they are counted.
    var edition: Int
    /// The next byte it wants.
    var position: Int64
    /// One past the last byte it wants; `Int64.max` while the length is unknown.
    var end: Int64
    /// Whether what it causes to be fetched must be of the representation that is read: another one begins nothing.
    var keepsRepresentation = false
    /// The fetch it takes bytes from, whose transfer lives as long as somebody does.
    var fetch: FetchState.ID?
    /// Whether it takes its bytes from one fetch alone, which is apart from the representation.
    var isApart = false
    /// What the last fetch it waited for ended with.
    var failure: FetchFailure?
    /// How long it waits for a byte that an origin does not give; nothing before it has begun.
    var patience: Duration = .zero
    /// The same before it has begun, where the connection fails of an origin that answered lately.
    var openingPatience: Duration = .zero
    /// Whether its answer promised all there is, without a range.
    var isWhole = false
    /// Until when it waits, before it has begun, for an origin that is busy for a moment; in the past where it has waited.
    var busyUntil: ContinuousClock.Instant?
    /// Since when it waits for one; nil while all is well.
    var troubledSince: ContinuousClock.Instant?
    /// Where the bytes it has had came from, and where those come from that it has now.
    var trace = ByteTrace()
    var source = ByteTrace.Source.vault
    /// Whether its answer has begun: what it gives from then on must be of one version.
    var hasBegun = false
    /// Whether what it has now came from an answer that gave next to nothing: that ends no trouble.
    var takesCrumbs = false
    /// Whether it fills the vault and answers nobody.
    var isFilling = false
    var signal = WakeFlag()

    /// It has had bytes up to `position`.
    mutating func advance(to position: Int64) {
        trace.note(self.position..<max(self.position, position), source)
        hasBegun = hasBegun || position > self.position
        self.position = position
        if !takesCrumbs { troubledSince = nil }
    }
}

// What can be opened without waiting for anybody.
extension LoaderState {
    /// Bytes that are all held, and of a representation that need not be asked about.
    struct Held {
        let information: ContentInformation
        let range: ByteRange
        /// The segment that holds the first of them, and the run of good bytes there.
        let segment: SegmentDescription
        let run: ByteRange

        /// The vault's own name for the representation.
        var entityTag: EntityTag { EntityTag(strong: segment.representation.hex) }
    }

    /// What is asked for, where all of it lies in segments and is fresh; nil where anything else has to be found out first.
    ///
    /// - Parameter now: by the wall clock.
    func held(_ requested: RequestedRange, now: Int64) -> Held? {
        guard ending == nil, let information, let length = information.length, !isStale(now: now),
            let range = requested.resolved(length: length), !range.isEmpty, map.holds(range),
            // Where the origin cannot jump and something is missing, everything is given.
            information.supportsRanges || map.holds(0..<length),
            let (segment, run) = map.segment(at: range.lowerBound)
        else { return nil }
        return Held(information: information, range: range, segment: segment, run: run)
    }

    /// Adds a reader of what is held.
    mutating func addReader(of held: Held) -> ReaderState.ID {
        let reader = addReader(held.range)
        readers[reader]?.patience = retry.policy.patience
        return reader
    }
}

// What readers do about an origin that fails.
extension LoaderState {
    /// A reader has its answer's head: from now on it waits for an origin that fails, within reason.
    mutating func begin(_ id: ReaderState.ID, isDownload: Bool) -> Effects {
        readers[id]?.hasBegun = true
        readers[id]?.patience = isDownload ? retry.policy.downloadPatience : retry.policy.patience
        if isDownload { readers[id]?.isWhole = false }
        return Effects()
    }

    /// A reader has no answer yet, of an origin that answered lately: while connections fail it is asked again before
    /// anything is said. Players take an error for final.
    mutating func expect(_ id: ReaderState.ID) -> Effects {
        readers[id]?.openingPatience = min(retry.policy.openingPatience, retry.policy.patience)
        return Effects()
    }

    /// What is fetched for a gap: whole blocks where the origin can be asked for them.
    func roundedOut(_ gap: ByteRange, between there: ByteRanges) -> ByteRange {
        guard let information, information.supportsRanges, let length = information.length else { return gap }
        return LoadPlan.roundedOut(gap, block: Int64(VaultStore.blockSize), there: there, length: length)
    }

    /// A reader misses a byte that nobody is fetching.
    mutating func ask(
        for gap: ByteRange, _ reader: inout ReaderState, _ id: ReaderState.ID, after failure: FetchFailure?,
        _ now: ContinuousClock.Instant
    ) -> (Step, Effects) {
        var effects = Effects()
        var failure = failure
        // An origin that is busy for a moment is waited for once by who has not begun; then that one is told.
        if reader.patience == .zero, reader.busyUntil == nil,
            let time = failure.flatMap({ retry.waitAtFirst(after: $0) })
        {
            reader.busyUntil = time
            failure = nil
        }
        if let time = reader.busyUntil, now < time {
            effects.alarms.append((id, time))
            return (.wait, effects)
        }
        if failure != nil || retry.isInTrouble { reader.troubledSince = reader.troubledSince ?? now }
        let isOpening = failure?.isOfConnection ?? retry.isOfConnection
        let patience = max(reader.patience, isOpening ? reader.openingPatience : .zero)
        switch retry.advice(
            after: failure, patience: patience, since: reader.troubledSince ?? now, isWhole: reader.isWhole, now: now)
        {
        case .giveUp(let failure): return (.failed(failure), effects)
        case .wait(let time):
            effects.alarms.append((id, time))
            return (.wait, effects)
        case .ask: break
        }
        // While the origin is in trouble one asks, and the others wait for what it hears.
        if retry.isInTrouble, let asking = fetches.values.first(where: { $0.isActive && !$0.isApart && $0.phase == .asking })
        {
            effects.merge(attach(&reader, to: asking.id, isDemanding: false))
            return (.wait, effects)
        }
        let fetch = addFetch(gap, now: now)
        fetches[fetch]?.isRoundedOut = gap.lowerBound < reader.position || gap.upperBound > reader.end
        fetches[fetch]?.keepsRepresentation = reader.keepsRepresentation
        effects.merge(attach(&reader, to: fetch))
        return (.fetch(fetch), effects)
    }
}
