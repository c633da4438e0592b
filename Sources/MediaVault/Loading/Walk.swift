import VaultModel

/// Leads a reader through its bytes without handing them to anybody: what is missing comes into the vault on the way.
struct Walk {
    /// How far one step has come.
    enum Step {
        /// These bytes are behind it; `isNew` where the origin has just sent them.
        case passed(ByteRange, isNew: Bool)
        /// It has waited, and may go on.
        case waited
        /// Nothing is left, or the store refuses: a player goes on without the store, a walk has nothing to go on for.
        case ended
    }

    let loader: ResourceLoader
    let reader: ReaderState.ID
    private(set) var position: Int64

    init(_ loader: ResourceLoader, _ reader: ReaderState.ID, from position: Int64) {
        self.loader = loader
        self.reader = reader
        self.position = position
        loader.change { $0.beginFilling(reader) }
    }

    /// Goes one step on.
    ///
    /// - Parameter note: told of the fetch that the reader takes bytes from, before that is waited for: it has to be
    ///   settled when the walk is over, however that ends.
    /// - Throws: ``VaultError`` with `firstMissing` set where it says so; `CancellationError`.
    mutating func next(noting note: (FetchState.ID) -> Void) async throws -> Step {
        let step = loader.step(reader)
        let (fetch, isStored) = loader.look { ($0.readers[reader]?.fetch, $0.bypass(reader) == nil) }
        if let fetch { note(fetch) }
        guard isStored else { return .ended }
        switch step {
        case .finished: return .ended
        case .take(let bytes): return pass(position + Int64(bytes.count), isNew: true)
        case .open(_, let run): return pass(run.upperBound, isNew: false)
        case .wait, .fetch:
            try await loader.waitForWake(reader)
            return .waited
        case .changed: throw MediaReader.changed(loader.url, position)
        case .hole(_, let isDamage): throw MediaReader.hole(at: position, isDamage: isDamage)
        case .failed(let failure): throw failure.vaultError(for: loader.url, at: position)
        }
    }

    private mutating func pass(_ end: Int64, isNew: Bool) -> Step {
        defer { position = end }
        loader.change { $0.advance(reader, to: end) }
        return .passed(position..<end, isNew: isNew)
    }
}
