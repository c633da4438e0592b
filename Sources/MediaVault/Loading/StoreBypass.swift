import VaultModel
import VaultStorage

// What passes through because the store refuses, and when it is asked again.
extension LoaderState {
    /// The store has refused: nothing is given to it until it is asked again.
    struct Refusal {
        let error: VaultError
        /// Nil until time is looked at.
        var retryAt: ContinuousClock.Instant?

        /// How long the store is left alone.
        static let pause: Duration = .seconds(3)
    }

    /// Why bytes for this reader are handed on unstored; nil where they are stored.
    func bypass(_ id: ReaderState.ID) -> StoreRefusal? {
        if readers[id]?.isApart == true { return .unverifiable }
        guard let fetch = readers[id]?.fetch, let isStoring = fetches[fetch]?.isStoring, !isStoring else { return nil }
        return bypass
    }

    /// Why bytes that come now are handed on unstored; nil where they are stored.
    var bypass: StoreRefusal? { mode.stores ? (refusal?.error ?? storeFailure).map { StoreRefusal($0) } : .mode }

    /// Whether bytes are being handed on that the store should have had.
    var isPassingThrough: Bool { mode.stores && fetches.values.contains { $0.isActive && !$0.isStoring && !$0.isApart } }

    /// Whether it is known without a look at a reader's transfer that nothing is stored.
    var refusesAll: Bool { refusal != nil || !mode.stores }

    /// What the store refused with, where it is time to ask it again.
    func refusalToRetry(now: ContinuousClock.Instant) -> VaultError? {
        guard let refusal, let time = refusal.retryAt, time <= now else { return nil }
        return refusal.error
    }

    /// Whether readers take their bytes from a fetch and have not had all that came.
    func isWanted(_ id: FetchState.ID, leaving: ReaderState? = nil) -> Bool {
        guard let present = fetches[id]?.present else { return false }
        let waiting = readers.values.count { $0.fetch == id && $0.position < present }
        return waiting > (leaving.map { $0.position < present ? 1 : 0 } ?? 0)
    }

    /// Lets go of a fetch that was kept for its readers, once they have had its bytes or left.
    mutating func removeLeftOver(_ id: FetchState.ID, leaving: ReaderState? = nil) -> Effects {
        guard fetches[id]?.isLeftOver == true, !isWanted(id, leaving: leaving) else { return Effects() }
        return remove(id)
    }

    mutating func refuse(_ error: VaultError) {
        storeFailure = error
        refusal = Refusal(error: error)
    }

    /// The store is left alone for a while longer.
    mutating func refuseOn() { refusal?.retryAt = nil }

    /// The store takes bytes again, and where it had refused it, the representation.
    mutating func storeAgain() -> Effects {
        var effects = Effects()
        refusal = nil
        canStore = true
        for id in fetches.keys {
            guard var fetch = fetches[id], fetch.isActive, !fetch.isStoring, !fetch.isApart else { continue }
            fetch.isStoring = true
            // What came meanwhile was handed on, and may be gone.
            fetch.takenTo = fetch.present
            fetch.sealedTo = fetch.present
            fetch.unstoredTo = fetch.present
            effects.wake(fetch.sealerSignal.raise())
            fetches[id] = fetch
        }
        return effects
    }

    /// Bytes that could not be written are tried once more: room was made for them.
    ///
    /// - Parameter lost: a segment that is gone for it.
    /// - Returns: false where that was tried at the same byte before.
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

/// Why bytes are handed on without being stored.
public enum StoreRefusal: String, Sendable {
    /// The vault's own limits leave no room.
    case room
    /// The disk is full.
    case diskFull = "disk-full"
    /// The store failed otherwise.
    case store
    /// The origin says nothing that tells one version from another, and others read what came by another connection.
    case unverifiable = "no-validator"
    /// The mode is ``VaultMode/noStore``.
    case mode = "no-store"

    init(_ error: VaultError) {
        self =
            switch error.code {
            case .noRoom: .room
            case .diskFull: .diskFull
            default: .store
            }
    }
}
