import VaultModel

/// The readers of one loader: what each of them wants, and which fetch it takes its bytes from.
struct ReaderTable {
    private var states: [ReaderState.ID: ReaderState] = [:]
    /// A counter that increases when the representation is replaced or forgotten. Readers of an earlier edition end,
    /// unless they have a transfer of their own.
    private(set) var edition = 0
    /// The traces of ended readers, kept until ``takeTraces()`` returns them.
    private var traces: [ByteTrace] = []

    /// The maximum number of ended readers' traces that are kept until they are taken.
    private static let mostTraces = 16

    subscript(id: ReaderState.ID) -> ReaderState? {
        get { states[id] }
        // Without this, each change through an optional chain would copy the state.
        _modify { yield &states[id] }
    }

    var values: some Collection<ReaderState> { states.values }
    var isEmpty: Bool { states.isEmpty }

    // MARK: Waking

    /// Wakes one reader.
    mutating func wake(_ id: ReaderState.ID) -> Effects { Effects(waking: states[id]?.signal.raise()) }

    /// Changes some of the readers, and wakes them.
    mutating func wake(
        _ readers: some Sequence<ReaderState>, after change: (inout ReaderState) -> Void = { _ in }
    ) -> Effects {
        readers.reduce(into: Effects()) { effects, reader in
            guard var state = states[reader.id] else { return }
            change(&state)
            effects.wake(state.signal.raise())
            states[reader.id] = state
        }
    }

    // MARK: The representation

    /// Begins another edition, which no reader reads yet.
    mutating func beginEdition() { edition += 1 }

    /// Returns whether a reader reads the representation, rather than an earlier one or a transfer of its own.
    func isCurrent(_ reader: ReaderState) -> Bool { !reader.isSeparate && reader.edition == edition }

    /// Whether the representation has readers. Those whose answers have not begun count as well: if the representation
    /// were replaced, they would have to start over, and might never finish.
    var hasCurrent: Bool { states.values.contains(where: isCurrent) }

    /// Ends readers of the representation at its end.
    mutating func limit(to length: Int64?) {
        guard let length else { return }
        for (id, reader) in states where !reader.isSeparate { states[id]?.end = min(reader.end, length) }
    }

    // MARK: Fetches

    /// Returns the readers that take their bytes from a fetch, or wait for them.
    func takers(of fetch: FetchState.ID) -> [ReaderState] { states.values.filter { $0.fetch == fetch } }

    /// Returns the readers that wait for a fetch's first byte, the earliest first.
    func awaiting(_ fetch: FetchState.ID) -> [ReaderState] {
        takers(of: fetch).filter { !$0.hasBegun }.sorted { $0.id < $1.id }
    }

    /// The fetches that have readers.
    var taken: Set<FetchState.ID> { Set(states.values.compactMap(\.fetch)) }

    /// Returns whether a fetch has a reader.
    func isTaken(_ fetch: FetchState.ID) -> Bool { states.values.contains { $0.fetch == fetch } }

    /// Returns whether a fetch has received bytes that its readers have not taken yet, apart from a reader that is
    /// leaving.
    func isWanted(_ fetch: FetchState, leaving: ReaderState?) -> Bool {
        let waiting = takers(of: fetch.id).count { $0.position < fetch.present }
        return waiting > (leaving.map { $0.position < fetch.present ? 1 : 0 } ?? 0)
    }

    /// Returns the lowest position among `position` and those of a fetch's readers whose next bytes are still in
    /// memory.
    func slowest(of fetch: FetchState, besides position: Int64) -> Int64 {
        states.values.reduce(position) { slowest, reader in
            reader.fetch == fetch.id && reader.position >= fetch.recent.start ? min(slowest, reader.position) : slowest
        }
    }

    /// Gives a reader its own transfer if the transfer that it is waiting for, or would join, will not bring everything
    /// that it wants.
    mutating func detach(_ reader: ReaderState, from fetch: FetchState) {
        guard !reader.hasBegun, isCurrent(reader), reader.end > fetch.end,
            reader.fetch == fetch.id || reader.fetch == nil && reader.position < fetch.end
        else { return }
        states[reader.id]?.separate()
    }

    // MARK: Traces

    /// Removes a reader, and keeps its trace, unless the reader answered no client or received no bytes.
    mutating func remove(_ id: ReaderState.ID) -> ReaderState? {
        guard let reader = states.removeValue(forKey: id) else { return nil }
        if reader.isTraced {
            if traces.count >= Self.mostTraces { traces.removeFirst() }
            traces.append(reader.trace)
        }
        return reader
    }

    /// Returns the traces of ended readers, and forgets them.
    mutating func takeTraces() -> [ByteTrace] {
        defer { traces = [] }
        return traces
    }

    /// The traces of current readers that answer clients.
    var runningTraces: [ByteTrace] { states.values.filter(\.isTraced).map(\.trace) }
}
