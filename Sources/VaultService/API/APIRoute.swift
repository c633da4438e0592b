/// What can be asked under `/api/v1/`, named as the last part of the path.
enum APIRoute: String, CaseIterable, Sendable {
    case status, resources, resource, content, downloads, removals, pins, unpins, modes, prunes, verifications, settings
    case revocations, locks, links, explanation, events
    case reseals, shreds, audit, destructions, keyring
    case openAPI = "openapi.json"

    /// The path on the service.
    var path: String { "/api/v1/" + rawValue }

    /// The methods that it answers to, HEAD beside each GET whose answer has an end.
    var methods: [String] {
        switch self {
        case .status, .resources, .audit, .openAPI: ["GET", "HEAD"]
        case .reseals, .shreds, .destructions: ["POST"]
        case .resource, .content, .explanation: ["GET", "HEAD", "POST"]
        case .removals, .pins, .unpins, .modes, .prunes, .verifications, .links, .revocations, .locks: ["POST"]
        case .downloads: ["GET", "HEAD", "POST", "DELETE"]
        case .settings: ["GET", "HEAD", "PATCH"]
        case .keyring: ["GET", "HEAD", "POST"]
        case .events: ["GET"]
        }
    }
}
