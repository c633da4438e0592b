import VaultModel

/// A route under `/api/v1/`, named by the last part of its path.
enum APIRoute: String, CaseIterable, Sendable {
    case status, resources, resource, content, downloads, removals, pins, unpins, modes, names, prunes, verifications,
        settings
    case revocations, links, tokens, tickets, explanation, events
    case reseals, shreds, audit, destructions, keyring, locks
    case keys, rotations, rewraps, retirements
    case openAPI = "openapi.json"

    /// The path on the service.
    var path: String { "/api/v1/" + rawValue }

    /// The methods that it supports, with HEAD for each GET whose answer has an end.
    var methods: [String] {
        switch self {
        case .status, .resources, .audit, .keys, .openAPI: ["GET", "HEAD"]
        case .reseals, .shreds, .destructions, .rotations, .rewraps, .retirements: ["POST"]
        case .resource, .content, .explanation: ["GET", "HEAD", "POST"]
        case .removals, .pins, .unpins, .modes, .names, .prunes, .verifications, .revocations, .locks, .tickets:
            ["POST"]
        case .downloads, .links, .tokens: ["GET", "HEAD", "POST", "DELETE"]
        case .settings: ["GET", "HEAD", "PATCH"]
        case .keyring: ["GET", "HEAD", "POST"]
        case .events: ["GET"]
        }
    }

    /// The least scope of a token that allows a method: admin, unless it is known to need less.
    func scope(for method: String) -> AccessScope {
        let asks = ["GET", "HEAD"].contains(method)
        return switch self {
        case .status, .resources, .resource, .explanation, .events, .tickets, .openAPI: .read
        case .settings, .downloads: asks ? .read : .admin
        case .content: .play
        // The list says who has links. A token for playing creates links that end with it.
        case .links: method == "POST" ? .play : .admin
        default: .admin
        }
    }
}
