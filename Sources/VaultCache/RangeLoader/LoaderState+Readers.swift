import VaultModel
import VaultStorage

// Decides what readers do next, and how their arrival and departure affect fetches.
extension LoaderState {
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

    /// Adds a reader of `range`; an upper bound of `Int64.max` means "to the end".
    mutating func addReader(_ range: ByteRange) -> ReaderState.ID {
        lastID += 1
        readers[lastID] = ReaderState(
            id: lastID, edition: readers.edition, position: range.lowerBound,
            end: min(range.upperBound, known.information?.length ?? .max))
        return lastID
    }

    /// Adds a reader with a transfer of its own.
    mutating func addSeparateReader(_ range: ByteRange) -> ReaderState.ID {
        let id = addReader(range)
        readers[id]?.isSeparate = true
        return id
    }

    /// Removes a reader, and cancels its fetch if no other reader needs it.
    mutating func removeReader(_ id: ReaderState.ID) -> Effects {
        guard var reader = readers.remove(id) else { return Effects() }
        // While the version has readers, its date becoming a usable validator does not count as a change. Once it has
        // no readers, the version begins again with that date.
        if readers.isEmpty { known.unsettledDate = nil }
        var effects = Effects(waking: reader.signal.raise())
        if let fetch = reader.fetch { effects.merge(release(fetch)) }
        effects.merge(releaseUnneeded())
        return effects
    }

    /// Begins a reader's answer. From then on, the reader waits for a failing origin up to a time limit.
    mutating func begin(_ id: ReaderState.ID, isDownload: Bool) {
        readers[id]?.hasBegun = true
        readers[id]?.patience = isDownload ? retry.policy.downloadTimeLimit : retry.policy.patience
        if isDownload { readers[id]?.isWhole = false }
    }

    /// Lets a reader wait before its answer has begun, while connections to a recently reachable origin fail.
    ///
    /// Players treat any error as final, so the origin is asked again before an error is reported.
    mutating func expect(_ id: ReaderState.ID) {
        readers[id]?.openingTimeLimit = min(retry.policy.openingTimeLimit, retry.policy.patience)
    }

    /// Returns what a reader does next.
    mutating func step(_ id: ReaderState.ID, now: ContinuousClock.Instant) -> (Step, Effects) {
        guard var reader = readers[id] else { return (.finished, Effects()) }
        reader.signal.lower()
        defer { readers[id] = reader }
        if let ending { return (.failed(.final(ending)), Effects()) }
        guard reader.isSeparate || reader.edition == readers.edition else { return (.changed, Effects()) }
        // The failure matters only to a reader that still lacks the byte.
        let failure = reader.failure.take()
        guard reader.position < reader.end else { return (.finished, Effects()) }
        return reader.isSeparate ? stepSeparate(&reader, after: failure, now) : stepShared(&reader, after: failure, now)
    }

    /// Returns what a reader of the representation does next.
    private mutating func stepShared(
        _ reader: inout ReaderState, after failure: FetchFailure?, _ now: ContinuousClock.Instant
    ) -> (Step, Effects) {
        let (position, end) = (reader.position, reader.end)
        if let (fetch, bytes) = fetches.recentBytes(at: position, limit: end, of: reader.fetch) {
            let effects = attach(&reader, to: fetch)
            reader.source = fetches[fetch]?.isStoring == false ? .unstored : .origin
            reader.takesTinyAnswer = fetches[fetch]?.requestedOfTinyAnswer != nil
            return (.take(bytes), effects)
        }
        let (map, supportsRanges) = (known.map, known.supportsRanges)
        let active = fetches.values.filter { $0.isActive && !$0.isSeparate }
        // Before the first answer, nothing is known about the resource, so one fetch asks and the other readers wait.
        if known.information == nil, let pioneer = active.first {
            return (.wait, attach(&reader, to: pioneer.id, isDemanding: false))
        }
        // Bytes that are received but not yet sealed need not be fetched again.
        let inFlight = fetches.inFlight(supportsRanges: supportsRanges)
        switch LoadPlan.first(of: position..<end, held: map.covered, inFlight: inFlight) {
        case nil:
            return (.finished, Effects())
        case .held(let range):
            guard let (segment, run) = map.segment(at: position) else { return (.changed, Effects()) }
            reader.source = .vault
            reader.takesTinyAnswer = false
            return (.open(segment, run.clamped(to: range)), Effects())
        case .inFlight:
            let near = active.filter { $0.near(supportsRanges: supportsRanges).contains(position) }
            // Prefer the reader's own fetch, because nothing is known about another fetch's answer until it arrives.
            guard let fetch = near.first(where: { $0.id == reader.fetch }) ?? near.first else {
                return (.wait, Effects())
            }
            let effects = attach(&reader, to: fetch.id)
            fetches[fetch.id]?.noteWaiting(at: position)
            return (.wait, effects)
        case .gap(let gap):
            guard mode.allowsRequests else {
                return (.hole(at: position, isDamage: map.damaged.contains(position)), Effects())
            }
            let wanted = known.extendedToBlocks(gap, between: map.covered.union(inFlight))
            return ask(for: wanted, &reader, after: failure, now)
        }
    }

    /// Decides what a reader does about a missing byte that no fetch is bringing.
    private mutating func ask(
        for gap: ByteRange, _ reader: inout ReaderState, after failure: FetchFailure?,
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
            effects.alarms.append((reader.id, time))
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
            effects.alarms.append((reader.id, time))
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

    /// Returns what a reader with a transfer of its own does next.
    private mutating func stepSeparate(
        _ reader: inout ReaderState, after failure: FetchFailure?, _ now: ContinuousClock.Instant
    ) -> (Step, Effects) {
        var effects = Effects()
        guard let id = reader.fetch, let fetch = fetches[id] else {
            if let failure { return (.failed(failure), effects) }
            guard !reader.hasBegun else { return (.failed(brokenOff), effects) }
            guard mode.allowsRequests else { return (.hole(at: reader.position, isDamage: false), effects) }
            let fetch = addFetch(reader.position..<reader.end, now: now, isSeparate: true)
            effects.merge(attach(&reader, to: fetch))
            return (.fetch(fetch), effects)
        }
        guard reader.position >= fetch.recent.start else {
            // Other readers of the old version got too far ahead, so the bytes that this reader needs are gone.
            reader.fetch = nil
            effects.merge(release(id, leaving: reader))
            return (.changed, effects)
        }
        if let bytes = fetch.recent.bytes(from: reader.position, limit: reader.end) {
            reader.source = .unstored
            reader.hasBegun = true
            effects.merge(demand(reader.position, of: id))
            return (.take(bytes), effects)
        }
        guard fetch.isActive else { return (.failed(failure ?? brokenOff), effects) }
        effects.merge(demand(reader.position, of: id))
        fetches[id]?.noteWaiting(at: reader.position)
        return (.wait, effects)
    }

    private var brokenOff: FetchFailure {
        let cause =
            known.isBound
            ? "no validator shows whether the content is unchanged" : "the content changes while it is being read"
        return .origin(OriginFailure(.interrupted, cause))
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
        guard edition == readers.edition, let reader = readers[id], reader.edition == edition else { return false }
        let end = max(range.lowerBound, min(range.upperBound, known.information?.length ?? .max))
        guard !known.isBound || isCut || reader.isSeparate || presentOrComing.gaps(in: range.lowerBound..<end).isEmpty
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

    /// How to open a range of a bound representation.
    enum BoundStep {
        /// Open it like any other range.
        case share
        /// Begin another representation.
        case begin
        /// Use a separate transfer, apart from the representation that others are reading.
        case apart
    }

    /// Returns how to open a range, whether or not the representation is bound.
    ///
    /// If part of a range is held, the rest must not come from another connection.
    func boundStep(for wanted: ByteRange) -> BoundStep {
        let wanted = wanted.clamped(to: 0..<(known.information?.length ?? .max))
        guard known.isBound, let missing = present.gaps(in: wanted).first?.lowerBound else { return .share }
        let isRead = readers.hasCurrent
        // Unstored bytes are present only as long as other readers need them.
        guard permissions.storeAccepts || !isRead else { return .apart }
        // An answer that has not arrived yet may belong to any version.
        let there = presentOrComing
        guard !there.overlaps(with: wanted).isEmpty else { return .share }
        // A reader that begins with held bytes waits only for a transfer that is near.
        let isAwaited =
            missing == wanted.lowerBound
            || fetches.coming.contains { $0.near(supportsRanges: known.supportsRanges).contains(missing) }
        guard !isAwaited || !there.gaps(in: wanted).isEmpty else { return .share }
        return isRead ? .apart : .begin
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
        guard ending == nil, let information = known.information, let length = information.length,
            !known.isStale(now: now),
            let range = requested.resolved(length: length), !range.isEmpty,
            let (segment, run) = known.map.segment(at: range.lowerBound),
            run.upperBound >= range.upperBound || known.map.holds(range),
            // If the origin does not support ranges and any byte is missing, the whole resource is served instead.
            information.supportsRanges || known.map.holds(0..<length)
        else { return nil }
        return Held(information: information, range: range, segment: segment, run: run, edition: readers.edition)
    }

    /// Adds a reader of held bytes; returns nil if another representation has begun since they were found.
    mutating func addReader(of held: Held) -> ReaderState.ID? {
        guard ending == nil, readers.edition == held.edition else { return nil }
        let reader = addReader(held.range)
        readers[reader]?.patience = retry.policy.patience
        return reader
    }
}
