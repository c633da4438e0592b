package import VaultModel
import VaultStorage

extension ResourceLoader {
    /// Sets the vault's mode, the resource's own mode, or removes the latter. It takes effect at once, even for current
    /// readers.
    package func setMode(vault: VaultMode? = nil, own: VaultMode?? = nil) async {
        change { $0.setMode(vault: vault, own: own) }
        await storeAgain()
    }

    /// Lets the store accept bytes again, if it has space by now.
    func storeAgain() async {
        let (refusal, information, freshness, isTaken) = look { state in
            (
                state.mode.stores ? state.permissions.refusal?.error : nil, state.known.information,
                state.known.freshness, state.permissions.hasStoreAccepted
            )
        }
        guard let refusal else { return }
        let (store, record, source) = (store, record, urls.current)
        let isTakingAgain = try? await pool.run {
            guard store.quota.canStore(after: refusal, length: information?.length) else { return false }
            if !isTaken, let information { try record.takeIn(information, freshness, of: source) }
            return true
        }
        change { state in
            guard isTakingAgain == true else {
                state.permissions.extendRefusal()
                return Effects()
            }
            return state.storeAgain()
        }
    }

    /// Whether another process may evict the bytes that this one reads.
    var isBesideOwner: Bool { !store.isOwner }

    /// Reloads the resource from the index, without a segment whose file was missing. The segment's row may be gone as
    /// well.
    ///
    /// The owner can need this as well, because it reseals and joins a pack's segments through another loader than
    /// those of the pack's parts.
    func reloadIndex(without segment: SegmentDescription) async {
        let record = record
        let before = record.representation
        let serving = (try? await pool.run { try record.load() }) ?? nil
        update { $0.known.reload(serving?.id == before ? serving : nil, without: segment.id) }
        if serving?.segments.contains(where: { $0.id == segment.id }) ?? false, store.isOwner {
            await invalidate(segment, for: .missing)
        }
    }

    /// Loads a resource that was unknown before, if the index has it by now.
    package func reloadUnknown() async {
        let record = record
        _ = try? await answers.exclusively {
            guard look({ $0.known.information == nil }), let serving = try await pool.run({ try record.load() }) else {
                return
            }
            change { state in
                state.known.load(serving)
                state.known.isPinned = record.isPinned
                return state.learn(serving.info.information)
            }
        }
    }
}
