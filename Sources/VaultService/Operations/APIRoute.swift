import VaultModel

/// A route under `/api/v1/`, identified by the rest of its path. In it, `{id}` stands for a resource id.
struct APIRoute: Hashable, Sendable {
    let rawValue: String

    init(rawValue: String) { self.rawValue = rawValue }

    /// The full path, with `{id}` in place of an id.
    var path: String { Self.prefix + rawValue }

    /// Whether the path has a place for an id.
    var hasID: Bool { rawValue.contains(Self.idPlace) }

    /// Returns the full path for the resource with an id.
    func path(of id: TitleID) -> String { path.replacing(Self.idPlace, with: id.description) }

    private static let prefix = "/api/v1/"
    private static let idPlace = "{id}"
    private static let beforeID = prefix + "resources/"

    /// Finds the route for a path; returns nil if there is none.
    init?(path: some StringProtocol) {
        guard path.hasPrefix(Self.prefix) else { return nil }
        var rest = String(path.dropFirst(Self.prefix.count))
        if let id = Self.id(inPath: path) {
            rest = "resources/" + Self.idPlace + path.dropFirst(Self.beforeID.count + id.description.count)
        } else if rest.contains(Self.idPlace) {
            return nil
        }
        self.init(rawValue: rest)
        guard Endpoint.byRoute[self] != nil else { return nil }
    }

    /// Returns the id of the resource that a path names; nil if the path names none.
    static func id(inPath path: some StringProtocol) -> TitleID? {
        guard path.hasPrefix(beforeID) else { return nil }
        return TitleID(String(path.dropFirst(beforeID.count).prefix { $0 != "/" }))
    }
}

// The properties of a route's endpoints.
extension APIRoute {
    private var endpoints: [Endpoint] { Endpoint.byRoute[self] ?? [] }

    /// Returns the endpoint that answers a method; nil if the route does not support the method.
    func endpoint(for method: String) -> Endpoint? {
        let asked = method == "HEAD" ? "GET" : method
        return endpoints.first { $0.method.rawValue == asked && (method != "HEAD" || $0.supportsHead) }
    }

    /// The supported methods. HEAD is supported wherever GET has an answer that ends.
    var methods: [String] {
        Endpoint.Method.allCases.flatMap { method in
            guard let endpoint = endpoints.first(where: { $0.method == method }) else { return [String]() }
            return endpoint.supportsHead ? ["GET", "HEAD"] : [method.rawValue]
        }
    }

    /// Returns the least token scope that allows a method; nil if it needs no token. Anyone who may read the route may
    /// learn which methods it has.
    func scope(for method: String) -> AccessScope? {
        guard let endpoint = endpoint(for: method) ?? endpoint(for: "GET") else { return .admin }
        return endpoint.scope
    }
}

// The routes that other code refers to.
extension APIRoute {
    static let content = APIRoute(rawValue: "content")
    static let contentByID = APIRoute(rawValue: "resources/{id}/content")
    static let coverByID = APIRoute(rawValue: "resources/{id}/cover")
    static let downloads = APIRoute(rawValue: "downloads")
    static let events = APIRoute(rawValue: "events")
    static let explanation = APIRoute(rawValue: "explanation")
    static let explanationByID = APIRoute(rawValue: "resources/{id}/explanation")
    static let history = APIRoute(rawValue: "history")
    static let imports = APIRoute(rawValue: "imports")
    static let keyring = APIRoute(rawValue: "keyring")
    static let links = APIRoute(rawValue: "links")
    static let log = APIRoute(rawValue: "log")
    static let locks = APIRoute(rawValue: "locks")
    static let openAPI = APIRoute(rawValue: "openapi.json")
    static let playbacks = APIRoute(rawValue: "playbacks")
    static let resource = APIRoute(rawValue: "resource")
    static let resourceByID = APIRoute(rawValue: "resources/{id}")
    static let resources = APIRoute(rawValue: "resources")
    static let rotations = APIRoute(rawValue: "rotations")
    static let session = APIRoute(rawValue: "session")
    static let sessions = APIRoute(rawValue: "sessions")
    static let subtitlesByID = APIRoute(rawValue: "resources/{id}/subtitles")
    static let tickets = APIRoute(rawValue: "tickets")
}
