import VaultModel

// How a change of the representation at the origin affects readers and transfers.
extension LoaderState {
    /// Leaves readers on their transfers if these will bring everything that the readers still want.
    ///
    /// Those readers receive the rest of the old version, separately from the new representation; nothing more of the
    /// old version is stored. All other readers lose their transfers.
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
            // Make the sealer close the segment that it was writing.
            fetch.wantsFlush = true
            effects.wake(fetch.sealerSignal.raise())
            effects.wake(fetch.receiverSignal.raise())
            fetches[id] = fetch
        }
        return effects
    }

    /// Returns whether a transfer alone brings everything that its reader still wants.
    private func isServed(_ reader: ReaderState, by fetch: FetchState) -> Bool {
        guard reader.fetch == fetch.id, reader.hasBegun, !reader.isFilling, reader.edition == edition,
            fetch.phase == .receiving || fetch.hasEnded
        else { return false }
        // A transfer brings no more bytes once it has reached the point where another one took over.
        let isRunning = fetch.isActive && fetch.present < fetch.end
        return fetch.recent.start...fetch.present ~= reader.position
            && reader.end <= (isRunning ? fetch.answerEnd : fetch.present)
    }

    /// Moves readers to a representation whose first answer they were waiting for, if that answer brings everything
    /// that they want.
    ///
    /// The other readers must be opened again.
    mutating func follow(_ id: FetchState.ID) {
        fetches[id]?.goOn()
        guard let end = fetches[id]?.end, let information else { return }
        let edition = edition
        for (reader, state) in readers where state.fetch == id && !state.hasBegun && state.end <= end {
            // Without range support, the answer begins at byte 0.
            guard information.supportsRanges || state.position == 0 else { continue }
            readers[reader]?.edition = edition
        }
    }
}
