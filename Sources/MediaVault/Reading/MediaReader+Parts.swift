package import VaultModel

// Several ranges of one representation, of which the reader gives the first.
extension MediaReader {
    /// What can be given of ranges, in their order, and where it lies.
    ///
    /// All of them, where nothing is missing or the origin answers; else each up to what is missing, and none of which the
    /// first byte is.
    package func obtainable(of ranges: [ByteRange]) async throws -> (ranges: [ByteRange], source: Source) {
        let (mode, present) = loader.look { ($0.mode, $0.present) }
        guard ranges.contains(where: { !present.gaps(in: $0).isEmpty }) else { return (ranges, .held) }
        let moment = loader.look { $0.retry.policy.moment }
        if mode.asksOrigins, try await loader.reachOrigin(within: moment) != false {
            return (ranges, ranges.contains { !present.overlaps(with: $0).isEmpty } ? .partial : .fetched)
        }
        return (ranges.compactMap { present.run(at: $0.lowerBound)?.clamped(to: $0) }, .held)
    }
}
