import VaultModel

// Representations that nothing tells from another version are bound to one connection: they are filled from it alone.
extension LoaderState {
    /// What becomes of the bytes of an answer.
    enum Share {
        /// They are the representation's.
        case fill
        /// They begin another.
        case begin
        /// Others read the representation: they are handed on beside it, unstored.
        case apart
        /// They are of no use to who waits for them: it has had bytes that came otherwise.
        case none
    }

    /// What an answer that came by a connection is to a representation that is bound.
    mutating func share(of id: FetchState.ID, from connection: UInt64?) -> Share {
        guard isBound, fetches[id]?.isApart != true else { return .fill }
        let hasBytes =
            !map.covered.isEmpty
            || fetches.contains { $0.key != id && !$0.value.isApart && $0.value.present > $0.value.start }
        guard hasBytes, connection == nil || connection != self.connection else {
            self.connection = connection
            return .fill
        }
        // What was rounded out begins before the bytes that are waited for, and holds them all.
        let coming = fetches[id].map { $0.start..<$0.end } ?? 0..<0
        let owners = readers.filter { _, reader in
            reader.fetch == id && !reader.hasBegun
                && (reader.position == coming.lowerBound || coming.contains(reader.position) && reader.end <= coming.upperBound)
        }
        guard readers.contains(where: { $0.value.hasBegun && !$0.value.isApart && $0.value.edition == edition }) else {
            return .begin
        }
        guard !owners.isEmpty else { return .none }
        for owner in owners.keys { readers[owner]?.isApart = true }
        fetches[id]?.isApart = true
        fetches[id]?.isStoring = false
        return .apart
    }

    /// What opening a range of a representation that is bound begins with.
    enum BoundStep {
        /// As any other.
        case share
        /// Another representation, from the first byte on.
        case begin
        /// A transfer of its own, beside the representation that others read.
        case apart
    }

    /// A range of which something is held must not have the rest from another connection.
    func boundStep(for wanted: ByteRange) -> BoundStep {
        guard isBound, !present.overlaps(with: wanted).isEmpty else { return .share }
        var coming = present
        for fetch in fetches.values where fetch.isActive && !fetch.isApart {
            coming.insert(contentsOf: fetch.remaining)
        }
        guard !coming.gaps(in: wanted.clamped(to: 0..<(information?.length ?? .max))).isEmpty else { return .share }
        let isRead = readers.values.contains { $0.hasBegun && !$0.isApart && $0.edition == edition }
        return isRead ? .apart : .begin
    }

    /// Adds a reader that takes its bytes from a transfer of its own.
    mutating func addReaderApart(_ range: ByteRange) -> ReaderState.ID {
        let id = addReader(range)
        readers[id]?.isApart = true
        return id
    }

    /// What a reader does next that takes its bytes from one fetch alone.
    mutating func stepApart(
        _ reader: inout ReaderState, after failure: FetchFailure?, _ now: ContinuousClock.Instant
    ) -> (Step, Effects) {
        var effects = Effects()
        guard let id = reader.fetch, let fetch = fetches[id] else {
            if let failure { return (.failed(failure), effects) }
            guard !reader.hasBegun else { return (.failed(Self.brokenOff), effects) }
            guard mode.asksOrigins else { return (.hole(at: reader.position, isDamage: false), effects) }
            let fetch = addFetch(reader.position..<reader.end, now: now, isApart: true)
            effects.merge(attach(&reader, to: fetch))
            return (.fetch(fetch), effects)
        }
        if let bytes = fetch.recent.bytes(from: reader.position, limit: reader.end) {
            reader.source = .unstored
            reader.hasBegun = true
            effects.merge(demand(reader.position, of: id))
            return (.take(bytes), effects)
        }
        guard fetch.isActive else { return (.failed(failure ?? Self.brokenOff), effects) }
        effects.merge(demand(reader.position, of: id))
        fetches[id]?.hunger(at: reader.position)
        return (.wait, effects)
    }

    private static let brokenOff = FetchFailure.origin(
        OriginFailure(.interrupted, "nothing tells whether it has the same still"))

    /// Ends fetches that went on for a reader alone that has left.
    mutating func releaseUnneeded() -> Effects {
        guard isBound else { return Effects() }
        let taken = Set(readers.values.compactMap(\.fetch))
        return letGo(
            fetches.values.filter {
                $0.isActive && !$0.isApart && !taken.contains($0.id) && !isNeeded($0, leaving: nil)
            }.map(\.id))
    }

    /// Whether a fetch that its last reader leaves goes on: another reader will need its bytes, and no other fetch can
    /// bring them.
    func isNeeded(_ fetch: FetchState, leaving: ReaderState?) -> Bool {
        guard isBound, !fetch.isApart else { return false }
        let needing = readers.values.count {
            !$0.isApart && $0.edition == edition && $0.position < fetch.end && $0.end > fetch.present
        }
        return needing > (leaving == nil ? 0 : 1)
    }
}
