package import VaultModel
import VaultStorage

// Passes bytes through while the store refuses them, and decides when the store is asked again.
extension LoaderState {
    /// A refusal by the store, which gets no bytes until it is asked again.
    struct Refusal {
        let error: VaultError
        /// When the store is asked again; nil until the next tick sets it.
        var retryAt: ContinuousClock.Instant?

        /// How long the store is left alone after it refused.
        static let pause: Duration = .seconds(3)
    }

    /// Returns why bytes for a reader are passed on unstored; nil if they are stored.
    func bypass(_ id: ReaderState.ID) -> BypassReason? {
        if readers[id]?.isSeparate == true { return isBound ? .unverifiable : .changing }
        guard let fetch = readers[id]?.fetch, let isStoring = fetches[fetch]?.isStoring, !isStoring else { return nil }
        return bypass
    }

    /// Why bytes that arrive now are passed on unstored; nil if they are stored.
    var bypass: BypassReason? { mode.stores ? (refusal?.error ?? storeFailure).map { BypassReason($0) } : .mode }

    /// Whether bytes are passing through that should be stored.
    var isPassingThrough: Bool {
        mode.stores && fetches.values.contains { $0.isActive && !$0.isStoring && !$0.isSeparate }
    }

    /// Whether no bytes are stored, whichever transfer brings them.
    var refusesAll: Bool { refusal != nil || !mode.stores }

    /// Returns the error with which the store refused bytes, if it is time to ask the store again; otherwise nil.
    func refusalToRetry(now: ContinuousClock.Instant) -> VaultError? {
        guard let refusal, let time = refusal.retryAt, time <= now else { return nil }
        return refusal.error
    }

    /// Returns whether a fetch has received bytes that its readers have not taken yet, apart from a reader that is
    /// leaving.
    func isWanted(_ id: FetchState.ID, leaving: ReaderState? = nil) -> Bool {
        guard let present = fetches[id]?.present else { return false }
        let waiting = readers.values.count { $0.fetch == id && $0.position < present }
        return waiting > (leaving.map { $0.position < present ? 1 : 0 } ?? 0)
    }

    /// Removes a fetch that was kept for its readers, once they have taken its bytes or left.
    mutating func removeKept(_ id: FetchState.ID, leaving: ReaderState? = nil) -> Effects {
        guard fetches[id]?.phase == .keptForReaders, !isWanted(id, leaving: leaving) else { return Effects() }
        return remove(id)
    }

    mutating func refuse(_ error: VaultError) {
        storeFailure = error
        refusal = Refusal(error: error)
    }

    /// Extends the refusal, so that the store is left alone for longer.
    mutating func extendRefusal() { refusal?.retryAt = nil }

    /// Lets the store take bytes again, including those of a representation that it had refused.
    mutating func storeAgain() -> Effects {
        var effects = Effects()
        (refusal, storeFailure) = (nil, nil)
        canStore = true
        for id in fetches.keys {
            guard var fetch = fetches[id], fetch.isActive, !fetch.isStoring, !fetch.isSeparate else { continue }
            fetch.destination = .store
            // Bytes that arrived during the refusal were passed on, and may no longer be in memory.
            fetch.takenTo = fetch.present
            fetch.sealedTo = fetch.present
            fetch.unstoredTo = fetch.present
            effects.wake(fetch.sealerSignal.raise())
            fetches[id] = fetch
        }
        return effects
    }

    /// Makes the sealer retry bytes that could not be written, after space was freed for them.
    ///
    /// - Parameter lost: the segment that was lost in the failure; nil if none was.
    /// - Returns: false if the fetch does not store its bytes, or if this was already tried at the same byte.
    mutating func rewind(_ id: FetchState.ID, lost: SegmentID?) -> (Bool, Effects) {
        var effects = Effects()
        guard var fetch = fetches[id], fetch.isStoring, fetch.rewoundAt != fetch.sealedTo else {
            return (false, effects)
        }
        if let lost {
            effects.passedThrough = map.length(of: lost)
            map.remove(lost, isDamaged: false)
        }
        fetch.rewoundAt = fetch.sealedTo
        fetch.takenTo = fetch.sealedTo
        fetches[id] = fetch
        return (true, effects)
    }
}

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
            (state.mode.stores ? state.refusal?.error : nil, state.information, state.freshness, state.canStore)
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
                state.extendRefusal()
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
        change { $0.reload(serving?.id == before ? serving : nil, without: segment.id) }
        if serving?.segments.contains(where: { $0.id == segment.id }) ?? false, store.isOwner {
            await invalidate(segment, for: .missing)
        }
    }

    /// Loads a resource that was unknown before, if the index has it by now.
    package func reloadUnknown() async {
        let record = record
        _ = try? await answers.exclusively {
            guard look({ $0.information == nil }), let serving = try await pool.run({ try record.load() }) else {
                return
            }
            change { state in
                state.load(serving)
                state.isPinned = record.isPinned
                return state.learn(serving.info.information)
            }
        }
    }
}

/// Why bytes are passed on without being stored.
public enum BypassReason: String, Sendable {
    /// The vault's own limits leave no space.
    case capacity = "room"
    /// The disk is full.
    case diskFull = "disk-full"
    /// The store failed for another reason.
    case store
    /// The origin sends no validator, and other readers are reading bytes from another connection.
    case unverifiable = "no-validator"
    /// The origin changed the resource, and the reader stays on its own transfer to the end.
    case changing
    /// The mode is ``VaultMode/noStore``.
    case mode = "no-store"
    /// The resource is a manifest that may change at any moment.
    case live

    init(_ error: VaultError) {
        self =
            switch error.code {
            case .quotaExceeded: .capacity
            case .diskFull: .diskFull
            default: .store
            }
    }
}
