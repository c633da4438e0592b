import VaultModel

// Whether what is held is still what the origin has, and what may be asked.
extension LoaderState {
    /// Whether a representation is known of which nobody has said lately that its origin still has it.
    ///
    /// - Parameter now: by the wall clock.
    func isStale(now: Int64) -> Bool {
        guard information != nil, !isPinned, let freshness else { return false }
        return !freshness.isFresh(now: now)
    }

    /// What opening a representation that is stale begins with.
    enum StaleStep: Equatable {
        /// It can be given: what must be fetched for that will tell.
        case open
        /// It can be given, though nobody may ask.
        case stale(Staleness)
        /// Its origin is asked first.
        case ask
    }

    /// - Parameter position: the first byte wanted; nil where it is not about bytes.
    func staleStep(at position: Int64?) -> StaleStep {
        // The answer that brings a missing first byte says whether it is of the same representation.
        if let position, position < information?.length ?? .max, !present.contains(position) { return .open }
        switch mode {
        case .offline: return .stale(.offline)
        case .preferVault: return .stale(.preferVault)
        case .online, .noStore: return .ask
        }
    }

    /// The origin still has the representation.
    mutating func confirm(_ freshness: Freshness) -> Effects {
        self.freshness = freshness
        return Effects()
    }

    /// What the index should be told; from now on it has been.
    mutating func takeFreshnessNews() -> Freshness? {
        guard mode.stores, canStore, let freshness, freshness.isNews(after: writtenFreshness) else { return nil }
        writtenFreshness = freshness
        return freshness
    }

    /// Another mode counts from now on. Transfers end that it forbids, or that would be kept otherwise; their readers go
    /// on by the new one.
    mutating func setMode(vault: VaultMode? = nil, own: VaultMode?? = nil) -> Effects {
        vaultMode = vault ?? vaultMode
        ownMode = own ?? ownMode
        let before = mode
        mode = VaultMode.inForce(vault: vaultMode, own: ownMode)
        guard mode.asksOrigins != before.asksOrigins || mode.stores != before.stores else { return Effects() }
        // What passed by until now is taken in, if the store takes it.
        if mode.stores, !canStore { refusal = Refusal(error: VaultError(.storage, "the mode was no-store")) }
        var effects = letGo(fetches.keys.filter { fetches[$0]?.isActive == true })
        for id in readers.keys { effects.wake(readers[id]?.signal.raise()) }
        return effects
    }
}
