import Foundation
import VaultModel

/// The route of a request target, parsed from its raw text because a router would lose empty path segments.
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
        } else if let route = APIRoute(path: Substring(path)) {
            self = .api(route)
        } else {
            self = .unknown
        }
    }

    /// The name of the route in the log and in the metrics.
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

    /// The least scope of a token that allows a method; nil if none is needed.
    func scope(for method: String) -> AccessScope? {
        switch self {
        case .media, .health, .readiness, .unknown: nil
        case .metrics: .metrics
        case .api(let route): route.scope(for: method)
        }
    }
}

/// What a request presents to be allowed.
enum RequestCredential: Hashable {
    case none
    /// A token in the `Authorization` field.
    case token(String)
    /// A ticket in the query, for the feed of events.
    case ticket(String)

    /// - Parameters:
    ///   - authorization: the values of the `Authorization` fields.
    ///   - target: the target of the request; only that of a feed has a ticket.
    init(authorization: [String], target: String, route: Route) {
        if authorization.count == 1, let token = BearerToken.read(authorization[0]) {
            self = .token(token)
        } else if authorization.isEmpty, route == .api(.events),
            let ticket = URLComponents(string: target)?.queryItems?.first(where: { $0.name == "ticket" })?.value
        {
            self = .ticket(ticket)
        } else {
            self = authorization.isEmpty ? .none : .token("")
        }
    }
}

/// The token of an `Authorization` field (RFC 6750 §2.1).
enum BearerToken {
    /// Returns the token; nil if there is no field, or it contains something else.
    static func read(_ authorization: String?) -> String? {
        guard let authorization, let blank = authorization.firstIndex(of: " "),
            authorization[..<blank].isEqualIgnoringCase("Bearer")
        else { return nil }
        return String(authorization[blank...].trimmingBlanks())
    }
}
