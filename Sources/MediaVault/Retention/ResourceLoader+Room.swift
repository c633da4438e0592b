import VaultModel
import VaultStorage

extension ResourceLoader {
    /// Has the store take bytes again, where there is room by now.
    func storeAgain() async {
        let (refusal, information, freshness, isTaken) = look { state in
            (state.mode.stores ? state.refusal?.error : nil, state.information, state.freshness, state.canStore)
        }
        guard let refusal else { return }
        let (store, record, source) = (store, record, addresses.current)
        let isTakingAgain = try? await pool.run {
            guard store.hasRoom(after: refusal, length: information?.length) else { return false }
            if !isTaken, let information { try record.takeIn(information, freshness, of: source) }
            return true
        }
        change { state in
            guard isTakingAgain == true else {
                state.refuseOn()
                return Effects()
            }
            return state.storeAgain()
        }
    }

    /// Whether another process may evict what this one reads.
    var isBesideOwner: Bool { !store.isOwner }

    /// A segment's file was gone: its row may be, too. What the index says now counts, without that segment.
    func lookAgain(without segment: SegmentDescription) async {
        let record = record
        let before = record.representation
        let serving = (try? await pool.run { try record.load() }) ?? nil
        change { $0.reload(serving?.id == before ? serving : nil, without: segment.id) }
    }
}
