import MediaVault

extension ResourceSummary {
    /// Whether every byte asked for is held; false where the length is not known.
    func holds(_ range: RequestedRange) -> Bool {
        guard let size, let wanted = range.resolved(length: size) else { return false }
        return ByteRanges(held).gaps(in: wanted).isEmpty
    }
}
