/// What can be asked under `/api/v1/`, named as the last part of the path.
enum APIRoute: String, CaseIterable, Sendable {
    case status, resources, resource, content, downloads

    /// The path on the service.
    var path: String { Self.folder + rawValue }

    static let folder = "/api/v1/"

    /// The methods that it answers to, HEAD beside each GET.
    var methods: [String] {
        switch self {
        case .status, .resources, .resource, .content: ["GET", "HEAD"]
        case .downloads: ["POST"]
        }
    }
}
