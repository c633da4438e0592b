package import VaultModel

/// Moves a reader through its bytes without delivering them; missing bytes are fetched into the vault on the way.
package struct GapCursor {
    /// The outcome of one step.
    enum Step {
        /// The reader has passed these bytes. `isNew` is true if the origin has just sent them.
        case passed(ByteRange, isNew: Bool)
        /// The reader has waited and can continue.
        case waited
        /// Nothing is left, or the store refuses bytes. A player can continue without the store, but a cursor cannot.
        case ended
    }

    let loader: ResourceLoader
    let reader: ReaderState.ID
    private(set) var position: Int64

    init(_ loader: ResourceLoader, _ reader: ReaderState.ID, from position: Int64) {
        self.loader = loader
        self.reader = reader
        self.position = position
        loader.update { $0.readers[reader]?.isFilling = true }
    }

    /// Advances by one step.
    ///
    /// - Parameter note: called, before any waiting, with the fetch from which the reader takes bytes. The caller must
    ///   settle that fetch when it is done with the cursor, whatever the outcome.
    /// - Throws: ``VaultError``, with `firstMissing` set if the position is known; `CancellationError`.
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

// Fetches what a check of held bytes found to be missing.
extension GapCursor {
    /// Fetches ranges of a loader's representation again, and returns when they are durable.
    ///
    /// - Returns: the number of bytes that were missing and have been fetched.
    /// - Throws: ``VaultError`` whose message says why the ranges cannot be fetched, and what to do.
    package static func refetch(_ gaps: ByteRanges, by loader: ResourceLoader) async throws -> Int64 {
        // Other readers may have fetched some of these ranges since the check; those bytes must not be counted.
        let missing = loader.look { state in gaps.subtracting(state.known.map.covered) }
        for range in missing.ranges { try await refetch(range, by: loader) }
        let (rest, failure) = loader.look { state in
            (gaps.subtracting(state.known.map.covered), state.permissions.storeFailure)
        }
        guard rest.isEmpty else {
            throw failure ?? VaultError(.storage, "\(loader.url) could not be stored; free some space and verify again")
        }
        return missing.byteCount
    }

    private static func refetch(_ range: ByteRange, by loader: ResourceLoader) async throws {
        let reader = loader.update { state in
            let id = state.addReader(range)
            state.readers[id]?.keepsRepresentation = true
            return id
        }
        var fetches: Set<FetchState.ID> = []
        var failure: (any Error)?
        do {
            var cursor = GapCursor(loader, reader, from: range.lowerBound)
            while true {
                if case .ended = try await cursor.next(noting: { fetches.insert($0) }) { break }
            }
        } catch {
            failure = error
        }
        loader.change { $0.removeReader(reader) }
        await loader.settle(fetches)
        guard let failure else { return }
        guard (failure as? VaultError)?.code == .changed else { throw failure }
        throw VaultError(
            .changed,
            "\(loader.url) has changed at its origin, so it cannot be repaired; remove it and fetch it again")
    }
}
