import VaultModel
import VaultStorage

extension ResourceLoader {
    /// Whether a closed segment can be put in another's place: the loader knows it, or writes none. While segments are
    /// joined, the index may name one that the loader has yet to hear of.
    func hasTakenOver(_ segment: SegmentDescription) -> Bool {
        guard !joining.withLock(\.isRunning) else { return false }
        return look { $0.map.length(of: segment.id) == segment.length } || !isFetching
    }

    /// Bytes lie in other segments from now on. Who reads the old one just then finds it open still, or looks again.
    func exchange(_ old: [SegmentDescription], for new: [SegmentDescription]) {
        change { state in
            state.map.exchange(old.map(\.id), for: new)
            return Effects()
        }
        for segment in old { opened.drop(segment.id) }
    }
}
