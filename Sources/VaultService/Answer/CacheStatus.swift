import MediaVault
import VaultModel

/// How an answer came about, as `Cache-Status` tells it (RFC 9211).
enum CacheStatus: Hashable, Sendable {
    /// All was held.
    case hit
    /// Nothing was.
    case miss
    /// Some was.
    case partial
    /// Handed on without being stored.
    case bypass(StoreRefusal)
    /// Held, and not found to be current.
    case stale(Staleness)
    /// There is no media: why, and the origin's status where it gave one.
    case failed(VaultError.Code, originStatus: Int?)

    /// The field's value.
    var value: String {
        switch self {
        case .hit: "MediaVault; hit"
        case .miss: "MediaVault; fwd=miss; stored"
        case .partial: "MediaVault; fwd=partial; stored"
        case .bypass(let reason): "MediaVault; fwd=bypass; detail=\(reason.rawValue)"
        // Where the mode forbids to ask, nothing was forwarded.
        case .stale(let reason) where reason.isByMode: "MediaVault; hit; detail=stale"
        case .stale(let reason): "MediaVault; fwd=stale; detail=\(reason.rawValue)"
        case .failed(_, let status?): "MediaVault; fwd=miss; fwd-status=\(status)"
        // Its origin was not asked, or could not be.
        case .failed(.notHeld, nil), .failed(.integrity, nil): "MediaVault; detail=not-held"
        case .failed(let code, nil): "MediaVault; fwd=miss; detail=\(code)"
        }
    }

    /// How bytes were come by that the vault did not have: the names after `fwd=`.
    enum Fill: String, Hashable, Sendable, CaseIterable { case miss, partial, stale, bypass }

    /// How the bytes were come by; nil where the vault had them, and nobody else was asked.
    var fill: Fill? {
        switch self {
        case .hit: nil
        case .miss, .failed: .miss
        case .partial: .partial
        case .bypass: .bypass
        case .stale(let reason): reason.isByMode ? nil : .stale
        }
    }

    init(_ source: MediaReader.Source, _ bypass: StoreRefusal?, _ staleness: Staleness? = nil) {
        self =
            switch (source, bypass, staleness) {
            case (.held, _, let reason?): .stale(reason)
            case (_, _, let reason?) where !reason.isByMode: .stale(reason)
            case (.held, _, nil): .hit
            case (_, let reason?, _): .bypass(reason)
            case (.fetched, nil, _): .miss
            case (.partial, nil, _): .partial
            }
    }
}
