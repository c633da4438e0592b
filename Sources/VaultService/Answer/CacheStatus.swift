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
    /// Held, no longer fresh, and confirmed by an answer of the origin's with this status.
    case confirmed(originStatus: Int)
    /// Held, and not found to be current: why, and the status of the origin's answer where it gave one.
    case stale(Staleness, originStatus: Int? = nil)
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
        case .stale(let reason, _) where reason.isByMode: "MediaVault; hit; detail=stale"
        case .stale(let reason, nil): "MediaVault; fwd=stale; detail=\(reason.rawValue)"
        // Without its own status the origin's would be taken for the answer's (RFC 9211 §2.3).
        case .stale(let reason, let status?): "MediaVault; fwd=stale; fwd-status=\(status); detail=\(reason.rawValue)"
        case .confirmed(let status): "MediaVault; fwd=stale; fwd-status=\(status)"
        case .failed(_, let status?): "MediaVault; fwd=miss; fwd-status=\(status)"
        // Its origin was not asked, or could not be.
        case .failed(.notHeld, nil), .failed(.integrity, nil): "MediaVault; detail=not-held"
        case .failed(let code, nil): "MediaVault; fwd=miss; detail=\(code)"
        }
    }

    /// How an answer was come by that the vault could not give by itself: the names after `fwd=`.
    enum Fill: String, Hashable, Sendable, CaseIterable { case miss, partial, stale, bypass }

    /// How the answer was come by; nil where the vault had the bytes, and nobody else was asked.
    var fill: Fill? {
        switch self {
        case .hit: nil
        case .miss, .failed: .miss
        case .partial: .partial
        case .bypass: .bypass
        case .stale(let reason, _): reason.isByMode ? nil : .stale
        case .confirmed: .stale
        }
    }

    /// - Parameter originStatus: what the origin answered when it was asked whether what is held is still its own.
    init(
        _ source: MediaReader.Source, _ bypass: StoreRefusal?, _ staleness: Staleness? = nil, originStatus: Int? = nil
    ) {
        self =
            switch (source, bypass, staleness) {
            case (.held, _, let reason?): .stale(reason, originStatus: originStatus)
            case (_, _, let reason?) where !reason.isByMode: .stale(reason, originStatus: originStatus)
            case (.held, _, nil): originStatus.map { .confirmed(originStatus: $0) } ?? .hit
            case (_, let reason?, _): .bypass(reason)
            case (.fetched, nil, _): .miss
            case (.partial, nil, _): .partial
            }
    }
}
