import Foundation
import VaultModel

/// The route of a request's target. It is parsed from the raw target, because a router would drop empty path segments.
enum Route: Hashable, Sendable {
    case media, health, readiness, metrics, page, unknown
    case api(APIRoute)

    init(target: String) {
        let path = target.utf8.prefix { $0 != UInt8(ascii: "?") }
        if path.starts(with: "/media/".utf8) {
            self = .media
        } else if path.elementsEqual("/healthz".utf8) {
            self = .health
        } else if path.elementsEqual("/readyz".utf8) {
            self = .readiness
        } else if path.elementsEqual("/metrics".utf8) {
            self = .metrics
        } else if path.elementsEqual("/".utf8) || path.starts(with: "/pages/".utf8) {
            self = .page
        } else if let route = APIRoute(path: Substring(path)) {
            self = .api(route)
        } else {
            self = .unknown
        }
    }

    /// The route's name in the log and the metrics.
    var word: String {
        switch self {
        case .media: "media"
        case .health: "healthz"
        case .readiness: "readyz"
        case .metrics: "metrics"
        case .page: "page"
        case .unknown: "none"
        case .api(let route): route.rawValue
        }
    }

    /// Returns the least token scope that allows a method; nil if it needs no token.
    func scope(for method: String) -> AccessScope? {
        switch self {
        case .media, .health, .readiness, .page, .unknown: nil
        case .metrics: .metrics
        case .api(let route): route.scope(for: method)
        }
    }
}
