import VaultModel

/// What a loader may do: ask the origin, which the mode determines, and store bytes, which the store may also refuse.
///
/// While the store refuses bytes, they only pass through. The store is asked again after a while.
struct LoaderPermissions {
    /// The mode in force. It determines whether the origin may be asked, and whether bytes are stored.
    private(set) var mode: VaultMode
    private var vaultMode: VaultMode
    /// The mode set for this resource alone; nil if none is set.
    private var ownMode: VaultMode?
    /// Whether the store has accepted the representation.
    private(set) var hasStoreAccepted = true
    /// The error with which the store last refused bytes.
    private(set) var storeFailure: VaultError?
    /// The store's current refusal; nil while the store takes bytes.
    private(set) var refusal: Refusal?

    /// A refusal by the store, which gets no bytes until it is asked again.
    struct Refusal {
        let error: VaultError
        /// When the store is asked again; nil until the next tick sets it.
        var retryAt: ContinuousClock.Instant?

        /// How long the store is left alone after it refused.
        static let pause: Duration = .seconds(3)
    }

    init(mode: VaultMode) { (self.mode, vaultMode) = (mode, mode) }

    /// Changes the mode.
    ///
    /// - Returns: whether the new mode treats requests or storage differently.
    mutating func setMode(vault: VaultMode?, own: VaultMode??) -> Bool {
        vaultMode = vault ?? vaultMode
        ownMode = own ?? ownMode
        let before = mode
        mode = VaultMode.inForce(vault: vaultMode, own: ownMode)
        guard mode.allowsRequests != before.allowsRequests || mode.stores != before.stores else { return false }
        // A representation that has only passed through so far is stored now, if the store accepts it.
        if mode.stores, !hasStoreAccepted {
            refusal = Refusal(error: VaultError(.storage, "the mode was no-store"))
        }
        return true
    }

    /// Begins a representation.
    ///
    /// - Parameter error: the error with which the store refused the representation; nil if the store accepted it.
    mutating func begin(refused error: VaultError?) {
        hasStoreAccepted = error == nil && mode.stores
        (storeFailure, refusal) = (error, error.map { Refusal(error: $0) })
    }

    /// Records that the store refused bytes.
    mutating func refuse(_ error: VaultError) { (storeFailure, refusal) = (error, Refusal(error: error)) }

    /// Extends the refusal, so that the store is left alone for longer.
    mutating func extendRefusal() { refusal?.retryAt = nil }

    /// Lets the store take bytes again, including those of a representation that it had refused.
    mutating func storeAgain() { (refusal, storeFailure, hasStoreAccepted) = (nil, nil, true) }

    /// Does the periodic work: determines when the store is asked again.
    mutating func tick(now: ContinuousClock.Instant) {
        if let refusal, refusal.retryAt == nil { self.refusal?.retryAt = now + Refusal.pause }
    }

    /// Returns the error with which the store refused bytes, if it is time to ask the store again; otherwise nil.
    func refusalToRetry(now: ContinuousClock.Instant) -> VaultError? {
        guard let refusal, let time = refusal.retryAt, time <= now else { return nil }
        return refusal.error
    }

    /// Whether the store takes the representation's bytes.
    var storeAccepts: Bool { hasStoreAccepted && refusal == nil }

    /// Whether no bytes are stored, whichever transfer brings them.
    var refusesAll: Bool { refusal != nil || !mode.stores }

    /// Why bytes that arrive now are passed on unstored; nil if they are stored.
    var bypass: BypassReason? { mode.stores ? (refusal?.error ?? storeFailure).map { BypassReason($0) } : .mode }
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
