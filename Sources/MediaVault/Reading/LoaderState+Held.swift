import VaultModel

// What can be opened without waiting for anybody.
extension LoaderState {
    /// Bytes that are all held, and of a representation that need not be asked about.
    struct Held {
        let reader: ReaderState.ID
        let information: ContentInformation
        let representation: RepresentationID
        let range: ByteRange
    }

    /// Adds a reader where everything that is asked for lies in segments and is fresh; nil, and nothing is added, where
    /// anything else has to be found out first.
    ///
    /// - Parameter now: by the wall clock.
    mutating func addReaderOfHeld(_ requested: RequestedRange, now: Int64) -> Held? {
        guard ending == nil, let information, let length = information.length, !isStale(now: now),
            let range = requested.resolved(length: length), !range.isEmpty, map.holds(range),
            // Where the origin cannot jump and something is missing, everything is given.
            information.supportsRanges || map.holds(0..<length),
            let (segment, _) = map.segment(at: range.lowerBound)
        else { return nil }
        let reader = addReader(range)
        readers[reader]?.patience = retry.policy.patience
        return Held(
            reader: reader, information: information, representation: segment.representation, range: range)
    }
}
