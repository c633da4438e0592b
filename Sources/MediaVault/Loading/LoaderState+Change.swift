import VaultModel

// How a change of the representation at the origin affects readers and transfers.
extension LoaderState {
    /// Leaves readers on the transfers that they began with, if those bring everything they still want.
    ///
    /// These readers get the old version to its end, apart from the new representation; nothing more of the old one is
    /// stored. The other readers lose their transfers.
    ///
    /// - Parameter keeping: the fetch whose answer begins the new representation.
    mutating func keepTransfers(except keeping: FetchState.ID?) -> Effects {
        var effects = Effects()
        for id in fetches.keys where id != keeping {
            guard var fetch = fetches[id], !fetch.isSeparate else { continue }
            let positions = readers.values.filter { isServed($0, by: fetch) }.map(\.position)
            guard let slowest = positions.min(), let fastest = positions.max() else { continue }
            for (reader, state) in readers where state.fetch == id {
                if isServed(state, by: fetch) {
                    readers[reader]?.isSeparate = true
                } else {
                    readers[reader]?.fetch = nil
                    effects.wake(readers[reader]?.signal.raise())
                }
            }
            fetch.goOn()
            fetch.destination = .ownReaders
            (fetch.slowest, fetch.demand) = (slowest, fastest)
            // The segment that it was sealing is closed.
            fetch.wantsFlush = true
            effects.wake(fetch.sealerSignal.raise())
            effects.wake(fetch.receiverSignal.raise())
            fetches[id] = fetch
        }
        return effects
    }

    /// Whether a transfer alone brings everything that its reader still wants.
    private func isServed(_ reader: ReaderState, by fetch: FetchState) -> Bool {
        guard reader.fetch == fetch.id, reader.hasBegun, !reader.isFilling, reader.edition == edition,
            fetch.phase == .receiving || fetch.hasEnded
        else { return false }
        // A transfer that has reached the point where another took over brings no more.
        let isRunning = fetch.isActive && fetch.present < fetch.end
        return fetch.recent.start...fetch.present ~= reader.position
            && reader.end <= (isRunning ? fetch.answerEnd : fetch.present)
    }

    /// Moves the readers that waited for a representation's first answer to it, if the answer brings everything they
    /// want.
    ///
    /// The other readers are opened again.
    mutating func follow(_ id: FetchState.ID) {
        fetches[id]?.goOn()
        guard let end = fetches[id]?.end, let information else { return }
        let edition = edition
        for (reader, state) in readers where state.fetch == id && !state.hasBegun && state.end <= end {
            // An answer without ranges begins at byte 0.
            guard information.supportsRanges || state.position == 0 else { continue }
            readers[reader]?.edition = edition
        }
    }
}
