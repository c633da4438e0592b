import VaultModel

// A bound representation has no validator that distinguishes it from another version, so one connection alone must fill
// it.
extension LoaderState {
    /// What an answer's bytes are used for.
    enum Share {
        /// They fill the representation being read.
        case fill
        /// They begin another representation.
        case begin
        /// They pass unstored to one reader, separately from the representation that other readers are reading.
        case apart
        /// No reader is waiting for them any more, because the readers that were waiting now have their own transfers.
        case nobodys
        /// The waiting readers cannot use them, because these readers have received bytes from elsewhere.
        case none
    }

    /// Decides how to use an answer's bytes for a bound representation, depending on the connection that brought them.
    ///
    /// A reader takes all its bytes from one transfer. If the answer brings fewer bytes than the reader wants, the
    /// reader gets a transfer of its own.
    ///
    /// - Parameter isSource: whether the answer came from the same URL as the bytes so far. If not, the same connection
    ///   does not count.
    mutating func share(of id: FetchState.ID, from connection: UInt64?, isSource: Bool = true) -> (Share, Effects) {
        var effects = Effects()
        guard isBound, let fetch = fetches[id], !fetch.isSeparate else { return (.fill, effects) }
        guard fetch.isActive else { return (.nobodys, effects) }
        let reading = readers.values.filter { !$0.isSeparate && $0.edition == edition }
        let hasBytes =
            !map.covered.isEmpty || reading.contains(where: \.hasBegun)
            || fetches.contains { other, fetch in
                guard other != id, !fetch.isSeparate else { return false }
                // Another answer's first bytes may be on their way.
                return fetch.present > fetch.start || fetch.phase == .receiving
            }
        guard hasBytes, !isSource || connection == nil || connection != self.connection else {
            self.connection = connection
            // Other fetches may have cut this one short when they were added. Now only this fetch may bring the bytes
            // that they were to bring.
            fetches[id]?.goOn()
            let awaiting = readers.filter { $0.value.fetch == id }.keys
            for reader in awaiting {
                detach(reader, from: id)
                effects.wake(readers[reader]?.signal.raise())
            }
            return (awaiting.isEmpty || isAwaited(id) ? .fill : .nobodys, effects)
        }
        let waiting = readers.filter { $0.value.fetch == id && !$0.value.hasBegun }.sorted { $0.key < $1.key }
        guard !waiting.isEmpty else { return (isAwaited(id) ? .none : .nobodys, effects) }
        // Count readers whose answers have not begun as well. If the representation were replaced, they would have to
        // start over, and might never finish.
        guard reading.contains(where: { $0.hasBegun || $0.fetch != id }) else {
            // Forget the representation at once. Storing the new one takes time, and a reader that arrives meanwhile
            // must not read the old one.
            effects.merge(forget(keeping: id))
            return (.begin, effects)
        }
        // A fetch extended to whole blocks starts before the awaited bytes, so test whether its range contains them
        // all.
        let owner = waiting.first { fetch.start <= $0.value.position && $0.value.end <= fetch.end }?.key
        for (reader, _) in waiting {
            readers[reader]?.isSeparate = true
            guard reader != owner else { continue }
            readers[reader]?.fetch = nil
            effects.wake(readers[reader]?.signal.raise())
        }
        guard let owner else { return (isAwaited(id) ? .none : .nobodys, effects) }
        fetches[id]?.destination = .ownReaders
        // Other readers may have demanded later bytes, but this reader also needs the bytes before those.
        fetches[id]?.demand = readers[owner]?.position ?? fetch.start
        return (.apart, effects)
    }

    /// Returns whether only this transfer can bring its bytes, because other connections may bring another version and
    /// these bytes are not stored.
    func isOnlySource(_ fetch: FetchState) -> Bool { fetch.isSeparate || isBound && !fetch.isStoring }

    /// Returns the lowest position among `position` and those of the transfer's readers whose next bytes are still in
    /// memory.
    func slowest(of fetch: FetchState, besides position: Int64) -> Int64 {
        readers.values.reduce(position) { slowest, reader in
            reader.fetch == fetch.id && reader.position >= fetch.recent.start ? min(slowest, reader.position) : slowest
        }
    }

    private func isAwaited(_ id: FetchState.ID) -> Bool { readers.values.contains { $0.fetch == id } }

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
        let wanted = wanted.clamped(to: 0..<(information?.length ?? .max))
        guard isBound, let missing = present.gaps(in: wanted).first?.lowerBound else { return .share }
        // Count readers whose answers have not begun as well, as in `share`.
        let isRead = readers.values.contains { !$0.isSeparate && $0.edition == edition }
        // Unstored bytes are present only as long as other readers need them.
        guard canStore && refusal == nil || !isRead else { return .apart }
        // An answer that has not arrived yet may belong to any version.
        let coming = coming, there = presentOrComing
        guard !there.overlaps(with: wanted).isEmpty else { return .share }
        // A reader that begins with held bytes waits only for a transfer that is near.
        let supportsRanges = information?.supportsRanges ?? false
        let isAwaited =
            missing == wanted.lowerBound
            || coming.contains { $0.near(supportsRanges: supportsRanges).contains(missing) }
        guard !isAwaited || !there.gaps(in: wanted).isEmpty else { return .share }
        return isRead ? .apart : .begin
    }

    /// The transfers whose answers have begun, except separate ones.
    var coming: [FetchState] { fetches.values.filter { $0.phase == .receiving && !$0.isSeparate } }

    /// The bytes that are present, or that will come from answers that have begun.
    var presentOrComing: ByteRanges { coming.reduce(into: present) { $0.insert(contentsOf: $1.remaining) } }

    /// Adds a reader with a transfer of its own.
    mutating func addSeparateReader(_ range: ByteRange) -> ReaderState.ID {
        let id = addReader(range)
        readers[id]?.isSeparate = true
        return id
    }

    /// Gives a reader its own transfer if the transfer that it is waiting for, or would join, will not bring everything
    /// that it wants.
    mutating func detach(_ id: ReaderState.ID, from fetch: FetchState.ID) {
        guard let reader = readers[id], !reader.hasBegun, !reader.isSeparate, reader.edition == edition,
            let end = fetches[fetch]?.end, reader.end > end,
            reader.fetch == fetch || reader.fetch == nil && reader.position < end
        else { return }
        readers[id]?.isSeparate = true
        readers[id]?.fetch = nil
    }

    /// Gives every reader waiting for a transfer, except the first, its own transfer. Because nothing is stored, a
    /// reader that fell behind the others could not continue.
    mutating func leaveToOne(_ fetch: FetchState.ID) {
        for id in readers.filter({ $0.value.fetch == fetch && !$0.value.hasBegun }).keys.sorted().dropFirst() {
            readers[id]?.isSeparate = true
            readers[id]?.fetch = nil
        }
    }

    /// Ends a separate transfer's readers at the end of its body, whose length was unknown.
    ///
    /// - Returns: whether the transfer is separate.
    mutating func endSeparateReaders(of id: FetchState.ID) -> (Bool, Effects) {
        var effects = Effects()
        guard let fetch = fetches[id], fetch.isSeparate else { return (false, effects) }
        for reader in readers.keys where readers[reader]?.fetch == id {
            readers[reader]?.end = fetch.present
            effects.wake(readers[reader]?.signal.raise())
        }
        return (true, effects)
    }

    /// Returns what a reader with a transfer of its own does next.
    mutating func stepSeparate(
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
            isBound
            ? "no validator shows whether the content is unchanged" : "the content changes while it is being read"
        return .origin(OriginFailure(.interrupted, cause))
    }

    /// Ends fetches that were continuing only for a reader that has left.
    mutating func releaseUnneeded() -> Effects {
        guard isBound else { return Effects() }
        let taken = Set(readers.values.compactMap(\.fetch))
        return letGo(
            fetches.values.filter {
                $0.isActive && !$0.isSeparate && !taken.contains($0.id) && !isNeeded($0, leaving: nil)
            }.map(\.id))
    }

    /// Returns whether a fetch must continue after its last reader has left.
    ///
    /// It must if another reader will need its bytes and no other fetch may bring them.
    func isNeeded(_ fetch: FetchState, leaving: ReaderState?) -> Bool {
        guard isBound, !fetch.isSeparate else { return false }
        let needs = { (reader: ReaderState) in
            !reader.isSeparate && reader.edition == edition && fetch.owes(reader)
        }
        // The leaving reader is still in the table, so subtract it if it would need the bytes.
        return readers.values.count(where: needs) > (leaving.map(needs) ?? false ? 1 : 0)
    }
}
