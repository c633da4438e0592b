import MediaVault
import VaultModel

/// How an answer was obtained, for `Cache-Status` (RFC 9211).
///
/// The values are written without a serializer for structured fields. They are fixed tokens and whole numbers, so a
/// serializer would have nothing to escape.
enum CacheStatus: Hashable, Sendable {
    /// All bytes were held.
    case hit
    /// No bytes were held.
    case miss
    /// Some bytes were held.
    case partial
    /// The bytes were passed through without being stored.
    case bypass(BypassReason)
    /// The bytes were held but no longer fresh, and the origin confirmed them with this status code.
    case confirmed(originStatus: Int)
    /// The bytes were held, but not confirmed as current. The values are the reason, and the origin's status code if it
    /// answered.
    case stale(Staleness, originStatus: Int? = nil)
    /// There was no media to send. The values are the error, and the origin's status code if it answered.
    case failed(VaultError.Code, originStatus: Int?)

    /// The field's value.
    var value: String {
        switch self {
        case .hit: "MediaVault; hit"
        case .miss: "MediaVault; fwd=miss; stored"
        case .partial: "MediaVault; fwd=partial; stored"
        case .bypass(let reason): "MediaVault; fwd=bypass; detail=\(reason.rawValue)"
        // If the mode forbids requests to the origin, no request was forwarded.
        case .stale(let reason, _) where reason.isByMode: "MediaVault; hit; detail=stale"
        case .stale(let reason, nil): "MediaVault; fwd=stale; detail=\(reason.rawValue)"
        // Without `fwd-status`, clients would take the answer's own status for the origin's (RFC 9211 §2.3).
        case .stale(let reason, let status?): "MediaVault; fwd=stale; fwd-status=\(status); detail=\(reason.rawValue)"
        case .confirmed(let status): "MediaVault; fwd=stale; fwd-status=\(status)"
        case .failed(_, let status?): "MediaVault; fwd=miss; fwd-status=\(status)"
        // The origin was not contacted, or could not be.
        case .failed(.notHeld, nil), .failed(.integrity, nil): "MediaVault; detail=not-held"
        case .failed(let code, nil): "MediaVault; fwd=miss; detail=\(code)"
        }
    }

    /// The reasons why the vault alone could not supply an answer. Their names are the values after `fwd=`.
    enum Fill: String, Hashable, Sendable, CaseIterable { case miss, partial, stale, bypass }

    /// The reason why the vault alone could not supply the answer; nil if it could.
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

    /// - Parameter originStatus: the status code that the origin sent if the vault asked it to revalidate held bytes.
    init(
        _ source: MediaReader.Source, _ bypass: BypassReason?, _ staleness: Staleness? = nil, originStatus: Int? = nil
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
