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
    /// There is no media: why, and the origin's status where it gave one.
    case failed(VaultError.Code, originStatus: Int?)

    /// The field's value.
    var value: String {
        switch self {
        case .hit: "MediaVault; hit"
        case .miss: "MediaVault; fwd=miss; stored"
        case .partial: "MediaVault; fwd=partial; stored"
        case .bypass(let reason): "MediaVault; fwd=bypass; detail=\(reason.rawValue)"
        case .failed(_, let status?): "MediaVault; fwd=miss; fwd-status=\(status)"
        // Its origin was not asked, or could not be.
        case .failed(.notHeld, nil), .failed(.integrity, nil): "MediaVault; detail=not-held"
        case .failed(let code, nil): "MediaVault; fwd=miss; detail=\(code)"
        }
    }

    init(_ source: MediaReader.Source, _ bypass: StoreRefusal?) {
        self =
            switch (source, bypass) {
            case (.held, _): .hit
            case (_, let reason?): .bypass(reason)
            case (.fetched, nil): .miss
            case (.partial, nil): .partial
            }
    }
}
