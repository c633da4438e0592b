import VaultModel
import VaultStorage

// Decides what readers do next, and how their arrival and departure affect fetches.
extension LoaderState {
    /// Adds a reader of `range`; an upper bound of `Int64.max` means "to the end".
    mutating func addReader(_ range: ByteRange) -> ReaderState.ID {
        lastID += 1
        readers[lastID] = ReaderState(
            edition: edition, position: range.lowerBound,
            end: min(range.upperBound, information?.length ?? .max))
        return lastID
    }

    /// Removes a reader, and cancels its fetch if no other reader needs it.
    mutating func removeReader(_ id: ReaderState.ID) -> Effects {
        var effects = Effects()
        guard var reader = readers.removeValue(forKey: id) else { return effects }
        // While the version has readers, its date becoming a usable validator does not count as a change. Once it has
        // no readers, the version begins again with that date.
        if readers.isEmpty { unsettledDate = nil }
        effects.wake(reader.signal.raise())
        keepTrace(of: reader)
        if let fetch = reader.fetch { effects.merge(release(fetch)) }
        effects.merge(releaseUnneeded())
        return effects
    }

    /// The bytes that are present: sealed in segments, or just received.
    var present: ByteRanges {
        fetches.values.reduce(into: map.covered) {
            if !$1.isSeparate { $0.insert(contentsOf: $1.recent.start..<$1.present) }
        }
    }

    /// Returns what a reader does next.
    mutating func step(_ id: ReaderState.ID, now: ContinuousClock.Instant) -> (Step, Effects) {
        var effects = Effects()
        guard var reader = readers[id] else { return (.finished, effects) }
        reader.signal.lower()
        defer { readers[id] = reader }
        if let ending { return (.failed(.final(ending)), effects) }
        guard reader.isSeparate || reader.edition == edition else { return (.changed, effects) }
        // The failure matters only to a reader that still lacks the byte.
        let failure = reader.failure.take()
        let (position, end) = (reader.position, reader.end)
        guard position < end else { return (.finished, effects) }
        if reader.isSeparate { return stepSeparate(&reader, after: failure, now) }

        if let (fetch, bytes) = recentBytes(at: position, limit: end, of: reader.fetch) {
            effects.merge(attach(&reader, to: fetch))
            reader.source = fetches[fetch]?.isStoring == false ? .unstored : .origin
            reader.takesTinyAnswer = fetches[fetch]?.requestedOfTinyAnswer != nil
            return (.take(bytes), effects)
        }
        let supportsRanges = information?.supportsRanges ?? false
        let active = fetches.values.filter { $0.isActive && !$0.isSeparate }
        // Before the first answer, nothing is known about the resource, so one fetch asks and the other readers wait.
        if information == nil, let pioneer = active.first {
            effects.merge(attach(&reader, to: pioneer.id, isDemanding: false))
            return (.wait, effects)
        }
        var inFlight = ByteRanges()
        for fetch in fetches.values where !fetch.isSeparate {
            // Bytes that are received but not yet sealed need not be fetched again.
            inFlight.insert(contentsOf: fetch.recent.start..<fetch.present)
            if fetch.isActive { inFlight.insert(contentsOf: fetch.near(supportsRanges: supportsRanges)) }
        }
        switch LoadPlan.first(of: position..<end, held: map.covered, inFlight: inFlight) {
        case nil:
            return (.finished, effects)
        case .held(let range):
            guard let (segment, run) = map.segment(at: position) else { return (.changed, effects) }
            reader.source = .vault
            reader.takesTinyAnswer = false
            return (.open(segment, run.clamped(to: range)), effects)
        case .inFlight:
            let near = active.filter { $0.near(supportsRanges: supportsRanges).contains(position) }
            // Prefer the reader's own fetch, because nothing is known about another fetch's answer until it arrives.
            guard let fetch = near.first(where: { $0.id == reader.fetch }) ?? near.first else {
                return (.wait, effects)
            }
            effects.merge(attach(&reader, to: fetch.id))
            fetches[fetch.id]?.noteWaiting(at: position)
            return (.wait, effects)
        case .gap(let gap):
            guard mode.allowsRequests else {
                return (.hole(at: position, isDamage: map.damaged.contains(position)), effects)
            }
            let wanted = extendedToBlocks(gap, between: map.covered.union(inFlight))
            return ask(for: wanted, &reader, id, after: failure, now)
        }
    }

    /// Moves a reader to the range that its answer promises.
    ///
    /// The range differs from the requested one if the origin does not support ranges.
    ///
    /// - Parameters:
    ///   - edition: the edition of the representation that the range belongs to.
    ///   - isWhole: whether the client requested the whole resource, without a range.
    ///   - isCut: whether the reader ends where the present bytes end.
    /// - Returns: false if `edition` is no longer the current one, even if the reader is separate from it, or if the
    ///   range lacks bytes that no other transfer may bring.
    mutating func place(
        _ id: ReaderState.ID, _ range: ByteRange, of edition: Int, isWhole: Bool, isCut: Bool = false
    ) -> Bool {
        guard edition == self.edition, let reader = readers[id], reader.edition == edition else { return false }
        let end = max(range.lowerBound, min(range.upperBound, information?.length ?? .max))
        guard !isBound || isCut || reader.isSeparate || presentOrComing.gaps(in: range.lowerBound..<end).isEmpty
        else { return false }
        if range.lowerBound < reader.position, let fetch = reader.fetch.flatMap({ fetches[$0] }), isOnlySource(fetch) {
            // The reader now also wants the bytes that the transfer brought before the awaited byte.
            fetches[fetch.id]?.demand = range.lowerBound
        }
        readers[id]?.isWhole = isWhole
        readers[id]?.position = range.lowerBound
        readers[id]?.end = end
        return true
    }

    /// Records that a reader has received the bytes up to `position`.
    mutating func advance(_ id: ReaderState.ID, to position: Int64) -> Effects {
        var effects = Effects()
        guard readers[id] != nil else { return effects }
        readers[id]?.advance(to: position)
        guard let fetch = readers[id]?.fetch else { return effects }
        effects.merge(demand(position, of: fetch))
        effects.merge(removeKept(fetch))
        return effects
    }

    /// Registers a waiter to resume when the reader is woken; returns false if the reader was already woken or is gone.
    mutating func wait(_ id: ReaderState.ID, _ waiter: WakeFlag.Waiter) -> Bool {
        readers[id]?.signal.wait(waiter) ?? false
    }

    mutating func wake(_ id: ReaderState.ID) -> Effects {
        var effects = Effects()
        effects.wake(readers[id]?.signal.raise())
        return effects
    }

    /// Returns recently received bytes, from the given fetch if it has them, or else from any other.
    private func recentBytes(
        at position: Int64, limit: Int64, of first: FetchState.ID?
    ) -> (FetchState.ID, ArraySlice<UInt8>)? {
        if let fetch = first.flatMap({ fetches[$0] }), !fetch.isSeparate,
            let bytes = fetch.recent.bytes(from: position, limit: limit)
        {
            return (fetch.id, bytes)
        }
        for fetch in fetches.values where !fetch.isSeparate {
            if let bytes = fetch.recent.bytes(from: position, limit: limit) { return (fetch.id, bytes) }
        }
        return nil
    }

    /// Attaches a reader to a fetch, and releases the fetch that it had before.
    ///
    /// - Parameter isDemanding: whether the fetch must run up to the reader's position. Before the first answer it must
    ///   not, because the reader's position may be far ahead.
    mutating func attach(_ reader: inout ReaderState, to fetch: FetchState.ID, isDemanding: Bool = true) -> Effects {
        var effects = Effects()
        let old = reader.fetch
        reader.fetch = fetch
        if isDemanding { effects.merge(demand(reader.position, of: fetch)) }
        guard let old, old != fetch else { return effects }
        // No other transfer may bring the bytes that a bound transfer still owes.
        let goesOn = isBound && reader.hasBegun && coming.contains { $0.id == old && $0.owes(reader) }
        if !goesOn { effects.merge(release(old, leaving: reader)) }
        return effects
    }

    mutating func demand(_ position: Int64, of id: FetchState.ID) -> Effects {
        var effects = Effects()
        guard var fetch = fetches[id] else { return effects }
        let slowest = isOnlySource(fetch) ? slowest(of: fetch, besides: position) : .max
        guard position > fetch.demand || slowest != fetch.slowest else { return effects }
        fetch.demand = max(fetch.demand, position)
        fetch.slowest = slowest
        fetch.trim()
        if fetch.mayReceive { effects.wake(fetch.receiverSignal.raise()) }
        fetches[id] = fetch
        return effects
    }

    /// Cancels a fetch whose last reader has left, unless its bytes are still needed.
    ///
    /// - Parameter leaving: the reader that is leaving, if the table still has it; otherwise nil.
    mutating func release(_ id: FetchState.ID, leaving: ReaderState? = nil) -> Effects {
        var effects = removeKept(id, leaving: leaving)
        guard let fetch = fetches[id], fetch.isActive, !fetch.awaitsEnd else { return effects }
        let remaining = readers.values.count { $0.fetch == id } - (leaving == nil ? 0 : 1)
        // A fetch extended to whole blocks is short, so it may run to its end. Otherwise, requests for single bytes
        // would each leave a file of their own.
        let endsSoon =
            fetch.isExtendedToBlocks && fetch.isStoring && fetch.phase == .receiving && mayFinishWithoutReader
        guard remaining <= 0, !endsSoon else { return effects }
        if let heir = heir(to: fetch) {
            readers[heir]?.fetch = id
        } else if !isNeeded(fetch, leaving: leaving) {
            fetches[id]?.enter(.released)
            effects.cancelled.append(id)
        }
        return effects
    }

    /// Whether a fetch may run to its end without a reader. Few may do so at once, because each uses a connection to
    /// the origin.
    private var mayFinishWithoutReader: Bool {
        let taken = Set(readers.values.compactMap(\.fetch))
        return fetches.values.count { $0.isActive && $0.isExtendedToBlocks && !taken.contains($0.id) }
            <= FetchState.mostLeft
    }

    /// Returns a reader that is reading sealed bytes now and will reach bytes that the fetch still owes.
    ///
    /// There is one only if the origin does not support ranges, because a new request to it would bring everything
    /// again.
    private func heir(to fetch: FetchState) -> ReaderState.ID? {
        guard information?.supportsRanges == false, !fetch.isSeparate else { return nil }
        return readers.first { _, reader in
            reader.fetch == nil && !reader.isSeparate && reader.edition == edition && fetch.owes(reader)
        }?.key
    }
}

/// The loader's view of one reader of a resource.
struct ReaderState {
    /// Identifies a reader within its loader.
    typealias ID = Int

    /// The edition of the representation that the reader reads.
    var edition: Int
    /// The offset of the next byte that the reader wants.
    var position: Int64
    /// One past the last byte that the reader wants; `Int64.max` while the end is unknown.
    var end: Int64
    /// Whether the reader's fetches must bring the representation being read, so that an answer with another one is an
    /// error.
    var keepsRepresentation = false
    /// The fetch that the reader takes bytes from. A transfer lives as long as a reader needs it.
    var fetch: FetchState.ID?
    /// Whether the reader takes all its bytes from one fetch, separately from the representation.
    var isSeparate = false
    /// Why the last fetch that the reader waited for failed; nil if it did not.
    var failure: FetchFailure?
    /// How long the reader waits for a byte while the origin is failing; zero before its answer has begun.
    var patience: Duration = .zero
    /// How long the reader waits before its answer has begun, while connections to a recently reachable origin fail.
    var openingTimeLimit: Duration = .zero
    /// Whether the answer to the reader's client promised the whole resource rather than a range.
    var isWhole = false
    /// When the reader, whose answer has not begun, stops waiting for a briefly busy origin; in the past once it has
    /// waited.
    var busyUntil: ContinuousClock.Instant?
    /// When the reader began to wait for a failing origin; nil if it is not waiting.
    var failingSince: ContinuousClock.Instant?
    /// Where the bytes that the reader has received came from. `source` is where its current bytes come from.
    var trace = ByteTrace()
    var source = ByteTrace.Source.vault
    /// Whether the reader's answer has begun. From then on, all its bytes must belong to one version.
    var hasBegun = false
    /// Whether the reader's current bytes came from a tiny answer, which does not show that the origin has recovered.
    var takesTinyAnswer = false
    /// Whether the reader fills the vault and answers no client.
    var isFilling = false
    var signal = WakeFlag()

    /// Records that the reader has received the bytes up to `position`.
    mutating func advance(to position: Int64) {
        trace.note(self.position..<max(self.position, position), source)
        hasBegun = hasBegun || position > self.position
        self.position = position
        if !takesTinyAnswer { failingSince = nil }
    }
}

// Finds bytes that can be opened without waiting.
extension LoaderState {
    /// A range that is entirely held, of a representation that needs no revalidation.
    struct Held {
        let information: ContentInformation
        let range: ByteRange
        /// The segment that holds the range's first byte; `run` is the run of good bytes around that byte.
        let segment: SegmentDescription
        let run: ByteRange
        /// The edition of the representation.
        let edition: Int

        /// The vault's own entity tag for the representation.
        var entityTag: EntityTag { EntityTag(strong: segment.representation.hex) }
    }

    /// Returns the requested range if it is fresh and entirely held; nil otherwise.
    ///
    /// - Parameter now: the wall-clock time, in seconds since 1970.
    func held(_ requested: RequestedRange, now: Int64) -> Held? {
        guard ending == nil, let information, let length = information.length, !isStale(now: now),
            let range = requested.resolved(length: length), !range.isEmpty,
            let (segment, run) = map.segment(at: range.lowerBound),
            run.upperBound >= range.upperBound || map.holds(range),
            // If the origin does not support ranges and any byte is missing, the whole resource is served instead.
            information.supportsRanges || map.holds(0..<length)
        else { return nil }
        return Held(information: information, range: range, segment: segment, run: run, edition: edition)
    }

    /// Adds a reader of held bytes; returns nil if another representation has begun since they were found.
    mutating func addReader(of held: Held) -> ReaderState.ID? {
        guard ending == nil, edition == held.edition else { return nil }
        let reader = addReader(held.range)
        readers[reader]?.patience = retry.policy.patience
        return reader
    }
}

// How readers react to a failing origin.
extension LoaderState {
    /// Begins a reader's answer. From then on, the reader waits for a failing origin up to a time limit.
    mutating func begin(_ id: ReaderState.ID, isDownload: Bool) -> Effects {
        readers[id]?.hasBegun = true
        readers[id]?.patience = isDownload ? retry.policy.downloadTimeLimit : retry.policy.patience
        if isDownload { readers[id]?.isWhole = false }
        return Effects()
    }

    /// Lets a reader wait before its answer has begun, while connections to a recently reachable origin fail.
    ///
    /// Players treat any error as final, so the origin is asked again before an error is reported.
    mutating func expect(_ id: ReaderState.ID) -> Effects {
        readers[id]?.openingTimeLimit = min(retry.policy.openingTimeLimit, retry.policy.patience)
        return Effects()
    }

    /// Returns what to fetch for a gap: whole blocks if the origin supports ranges.
    func extendedToBlocks(_ gap: ByteRange, between there: ByteRanges) -> ByteRange {
        guard let information, information.supportsRanges, let length = information.length else { return gap }
        return LoadPlan.extendedToBlocks(gap, block: Int64(VaultStore.blockSize), there: there, length: length)
    }

    /// Decides what a reader does about a missing byte that no fetch is bringing.
    mutating func ask(
        for gap: ByteRange, _ reader: inout ReaderState, _ id: ReaderState.ID, after failure: FetchFailure?,
        _ now: ContinuousClock.Instant
    ) -> (Step, Effects) {
        var effects = Effects()
        var failure = failure
        // A reader whose answer has not begun waits once for a briefly busy origin; the next failure is reported.
        if reader.patience == .zero, reader.busyUntil == nil,
            let time = failure.flatMap({ retry.openingWait(after: $0) })
        {
            reader.busyUntil = time
            failure = nil
        }
        if let time = reader.busyUntil, now < time {
            effects.alarms.append((id, time))
            return (.wait, effects)
        }
        if failure != nil || retry.isFailing { reader.failingSince = reader.failingSince ?? now }
        let isOpening = failure?.isOfConnection ?? retry.isOfConnection
        let patience = max(reader.patience, isOpening ? reader.openingTimeLimit : .zero)
        switch retry.advice(
            after: failure, patience: patience, since: reader.failingSince ?? now, isWhole: reader.isWhole, now: now)
        {
        case .giveUp(let failure): return (.failed(failure), effects)
        case .wait(let time):
            effects.alarms.append((id, time))
            return (.wait, effects)
        case .ask: break
        }
        // While the origin is failing, one fetch asks, and the other readers wait for its result.
        if retry.isFailing,
            let asking = fetches.values.first(where: { !$0.isSeparate && $0.phase == .requesting })
        {
            effects.merge(attach(&reader, to: asking.id, isDemanding: false))
            return (.wait, effects)
        }
        let fetch = addFetch(gap, now: now)
        fetches[fetch]?.isExtendedToBlocks = gap.lowerBound < reader.position || gap.upperBound > reader.end
        fetches[fetch]?.keepsRepresentation = reader.keepsRepresentation
        effects.merge(attach(&reader, to: fetch))
        return (.fetch(fetch), effects)
    }
}
