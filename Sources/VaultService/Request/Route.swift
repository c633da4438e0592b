import VaultModel

/// What a request target is about, read from its raw text: a router would lose empty path segments.
enum Route: Hashable, Sendable {
    case media, health, readiness, metrics, unknown
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
        } else if let route = APIRoute.allCases.first(where: { path.elementsEqual($0.path.utf8) }) {
            self = .api(route)
        } else {
            self = .unknown
        }
    }

    /// The word that stands for it in the log and in the metrics.
    var word: String {
        switch self {
        case .media: "media"
        case .health: "healthz"
        case .readiness: "readyz"
        case .metrics: "metrics"
        case .unknown: "none"
        case .api(let route): route.rawValue
        }
    }
}

/// The token of an `Authorization` field (RFC 6750 §2.1).
enum BearerToken {
    /// The token; nil where there is no field, or it carries something else.
    static func read(_ authorization: String?) -> String? {
        guard let authorization, let blank = authorization.firstIndex(of: " "),
            authorization[..<blank].isEqualIgnoringCase("Bearer")
        else { return nil }
        return String(authorization[blank...].trimmingBlanks())
    }
}
