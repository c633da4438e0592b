import VaultModel
import VaultStorage

// What readers do about an origin that fails.
extension LoaderState {
    /// A reader has its answer's head: from now on it waits for an origin that fails, within reason.
    mutating func begin(_ id: ReaderState.ID, isDownload: Bool) -> Effects {
        readers[id]?.hasBegun = true
        readers[id]?.patience = isDownload ? retry.policy.downloadPatience : retry.policy.patience
        if isDownload { readers[id]?.isWhole = false }
        return Effects()
    }

    /// A reader has no answer yet, of an origin that answered lately: while connections fail it is asked again before
    /// anything is said. Players take an error for final.
    mutating func expect(_ id: ReaderState.ID) -> Effects {
        readers[id]?.openingPatience = min(retry.policy.openingPatience, retry.policy.patience)
        return Effects()
    }

    /// What is fetched for a gap: whole blocks where the origin can be asked for them.
    func roundedOut(_ gap: ByteRange, between there: ByteRanges) -> ByteRange {
        guard let information, information.supportsRanges, let length = information.length else { return gap }
        return LoadPlan.roundedOut(gap, block: Int64(VaultStore.blockSize), there: there, length: length)
    }

    /// A reader misses a byte that nobody is fetching.
    mutating func ask(
        for gap: ByteRange, _ reader: inout ReaderState, _ id: ReaderState.ID, after failure: FetchFailure?,
        _ now: ContinuousClock.Instant
    ) -> (Step, Effects) {
        var effects = Effects()
        var failure = failure
        // An origin that is busy for a moment is waited for once by who has not begun; then that one is told.
        if reader.patience == .zero, reader.busyUntil == nil,
            let time = failure.flatMap({ retry.waitAtFirst(after: $0) })
        {
            reader.busyUntil = time
            failure = nil
        }
        if let time = reader.busyUntil, now < time {
            effects.alarms.append((id, time))
            return (.wait, effects)
        }
        if failure != nil || retry.isInTrouble { reader.troubledSince = reader.troubledSince ?? now }
        let isOpening = failure?.isOfConnection ?? retry.isOfConnection
        let patience = max(reader.patience, isOpening ? reader.openingPatience : .zero)
        switch retry.advice(
            after: failure, patience: patience, since: reader.troubledSince ?? now, isWhole: reader.isWhole, now: now)
        {
        case .giveUp(let failure): return (.failed(failure), effects)
        case .wait(let time):
            effects.alarms.append((id, time))
            return (.wait, effects)
        case .ask: break
        }
        // While the origin is in trouble one asks, and the others wait for what it hears.
        if retry.isInTrouble, let asking = fetches.values.first(where: { $0.isActive && !$0.isApart && $0.phase == .asking })
        {
            effects.merge(attach(&reader, to: asking.id, isDemanding: false))
            return (.wait, effects)
        }
        let fetch = addFetch(gap, now: now)
        fetches[fetch]?.isRoundedOut = gap.lowerBound < reader.position || gap.upperBound > reader.end
        fetches[fetch]?.keepsRepresentation = reader.keepsRepresentation
        effects.merge(attach(&reader, to: fetch))
        return (.fetch(fetch), effects)
    }
}
