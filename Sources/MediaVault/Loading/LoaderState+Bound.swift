import VaultModel

// A representation that no validator distinguishes from another version is bound: one connection alone fills it.
extension LoaderState {
    /// What the bytes of an answer are used for.
    enum Share {
        /// They belong to the representation.
        case fill
        /// They begin another representation.
        case begin
        /// They are passed on unstored, apart from the representation, which other readers are reading.
        case apart
        /// They are of no use to the readers that wait for them, which have had bytes from elsewhere.
        case none
    }

    /// Decides what an answer is to a bound representation, by the connection it came on.
    ///
    /// - Parameter isSource: whether it came from the URL that the bytes so far are from; if not, it is of no use that
    ///   the connection is the same.
    mutating func share(of id: FetchState.ID, from connection: UInt64?, isSource: Bool = true) -> Share {
        guard isBound, fetches[id]?.isSeparate != true else { return .fill }
        let hasBytes =
            !map.covered.isEmpty
            || fetches.contains { other, fetch in
                guard other != id, !fetch.isSeparate else { return false }
                // The first bytes of an answer from elsewhere may be on their way.
                return fetch.present > fetch.start || !isSource && fetch.phase == .receiving
            }
        guard hasBytes, !isSource || connection == nil || connection != self.connection else {
            self.connection = connection
            return .fill
        }
        // A range extended to whole blocks begins before the awaited bytes and contains them all.
        let coming = fetches[id].map { $0.start..<$0.end } ?? 0..<0
        let owners = readers.filter { _, reader in
            reader.fetch == id && !reader.hasBegun
                && (reader.position == coming.lowerBound
                    || coming.contains(reader.position) && reader.end <= coming.upperBound)
        }
        guard readers.contains(where: { $0.value.hasBegun && !$0.value.isSeparate && $0.value.edition == edition })
        else {
            return .begin
        }
        guard !owners.isEmpty else { return .none }
        for owner in owners.keys { readers[owner]?.isSeparate = true }
        fetches[id]?.destination = .ownReaders
        return .apart
    }

    /// How a range of a bound representation is opened.
    enum BoundStep {
        /// Like any other range.
        case share
        /// By beginning another representation.
        case begin
        /// With a transfer of its own, apart from the representation that others are reading.
        case apart
    }

    /// Returns how to open a range.
    ///
    /// If part of a range is held, the rest must not come from another connection.
    func boundStep(for wanted: ByteRange) -> BoundStep {
        guard isBound, !present.overlaps(with: wanted).isEmpty else { return .share }
        var coming = present
        for fetch in fetches.values where fetch.isActive && !fetch.isSeparate {
            coming.insert(contentsOf: fetch.remaining)
        }
        guard !coming.gaps(in: wanted.clamped(to: 0..<(information?.length ?? .max))).isEmpty else { return .share }
        let isRead = readers.values.contains { $0.hasBegun && !$0.isSeparate && $0.edition == edition }
        return isRead ? .apart : .begin
    }

    /// Adds a reader with a transfer of its own.
    mutating func addSeparateReader(_ range: ByteRange) -> ReaderState.ID {
        let id = addReader(range)
        readers[id]?.isSeparate = true
        return id
    }

    /// Returns what a reader with a transfer of its own does next.
    mutating func stepSeparate(
        _ reader: inout ReaderState, after failure: FetchFailure?, _ now: ContinuousClock.Instant
    ) -> (Step, Effects) {
        var effects = Effects()
        guard let id = reader.fetch, let fetch = fetches[id] else {
            if let failure { return (.failed(failure), effects) }
            guard !reader.hasBegun else { return (.failed(Self.brokenOff), effects) }
            guard mode.allowsRequests else { return (.hole(at: reader.position, isDamage: false), effects) }
            let fetch = addFetch(reader.position..<reader.end, now: now, isSeparate: true)
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
        fetches[id]?.noteWaiting(at: reader.position)
        return (.wait, effects)
    }

    private static let brokenOff = FetchFailure.origin(
        OriginFailure(.interrupted, "no validator shows whether the content is unchanged"))

    /// Ends fetches that went on only for a reader that has left.
    mutating func releaseUnneeded() -> Effects {
        guard isBound else { return Effects() }
        let taken = Set(readers.values.compactMap(\.fetch))
        return letGo(
            fetches.values.filter {
                $0.isActive && !$0.isSeparate && !taken.contains($0.id) && !isNeeded($0, leaving: nil)
            }.map(\.id))
    }

    /// Whether a fetch goes on after its last reader has left.
    ///
    /// It does if another reader will need its bytes, and no other fetch can bring them.
    func isNeeded(_ fetch: FetchState, leaving: ReaderState?) -> Bool {
        guard isBound, !fetch.isSeparate else { return false }
        let needing = readers.values.count {
            !$0.isSeparate && $0.edition == edition && $0.position < fetch.end && $0.end > fetch.present
        }
        return needing > (leaving == nil ? 0 : 1)
    }
}
