/// What can be asked under `/api/v1/`, named as the last part of the path.
enum APIRoute: String, CaseIterable, Sendable {
    case status, resources, resource, content, downloads, removals, pins, unpins, modes, prunes, verifications, settings
    case revocations

    /// The path on the service.
    var path: String { "/api/v1/" + rawValue }

    /// The methods that it answers to, HEAD beside each GET.
    var methods: [String] {
        switch self {
        case .status, .resources: ["GET", "HEAD"]
        case .resource, .content: ["GET", "HEAD", "POST"]
        case .downloads, .removals, .pins, .unpins, .modes, .prunes, .verifications, .revocations: ["POST"]
        case .settings: ["GET", "HEAD", "PATCH"]
        }
    }
}
