import VaultModel

// What can be opened without waiting for anybody.
extension LoaderState {
    /// Bytes that are all held, and of a representation that need not be asked about.
    struct Held {
        let information: ContentInformation
        let range: ByteRange
        /// The segment that holds the first of them, and the run of good bytes there.
        let segment: SegmentDescription
        let run: ByteRange

        /// The vault's own name for the representation.
        var entityTag: EntityTag { EntityTag(strong: segment.representation.hex) }
    }

    /// What is asked for, where all of it lies in segments and is fresh; nil where anything else has to be found out first.
    ///
    /// - Parameter now: by the wall clock.
    func held(_ requested: RequestedRange, now: Int64) -> Held? {
        guard ending == nil, let information, let length = information.length, !isStale(now: now),
            let range = requested.resolved(length: length), !range.isEmpty, map.holds(range),
            // Where the origin cannot jump and something is missing, everything is given.
            information.supportsRanges || map.holds(0..<length),
            let (segment, run) = map.segment(at: range.lowerBound)
        else { return nil }
        return Held(information: information, range: range, segment: segment, run: run)
    }

    /// Adds a reader of what is held.
    mutating func addReader(of held: Held) -> ReaderState.ID {
        let reader = addReader(held.range)
        readers[reader]?.patience = retry.policy.patience
        return reader
    }
}
