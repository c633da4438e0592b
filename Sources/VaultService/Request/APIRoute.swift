import VaultModel

/// A route under `/api/v1/`, identified by the rest of its path. In it, `{id}` stands for a resource id.
enum APIRoute: String, CaseIterable, Sendable {
    case status, readiness, resources, resource, content, downloads, imports, removals, pins, unpins, modes, names,
        prunes, evictions, verifications, settings, history, playbacks
    case revocations, links, tokens, tickets, sessions, session, explanation, events
    case reseals, shreds, audit, destructions, keyring, locks
    case subscriptions, syncs
    case viewers, shares, positions
    case keys, rotations, rewraps, retirements
    case resourceByID = "resources/{id}"
    case contentByID = "resources/{id}/content"
    case explanationByID = "resources/{id}/explanation"
    case pinByID = "resources/{id}/pin"
    case nameByID = "resources/{id}/name"
    case modeByID = "resources/{id}/mode"
    case coverByID = "resources/{id}/cover"
    case positionByID = "resources/{id}/position"
    case openAPI = "openapi.json"

    /// The full path, with `{id}` in place of an id.
    var path: String { Self.prefix + rawValue }

    /// Returns the full path for the resource with an id.
    func path(of id: TitleID) -> String { path.replacing(Self.idPlace, with: id.description) }

    private static let prefix = "/api/v1/"
    private static let byID = Self.allCases.filter { $0.rawValue.contains(Self.idPlace) }
    private static let idPlace = "{id}"
    private static let beforeID = prefix + "resources/"

    /// Finds the route for a path; returns nil if there is none.
    init?(path: some StringProtocol) {
        guard path.hasPrefix(Self.prefix) else { return nil }
        if let id = Self.id(inPath: path) {
            let rest = path.dropFirst(Self.beforeID.count + id.description.count)
            guard let route = Self.byID.first(where: { $0.path == Self.beforeID + Self.idPlace + rest }) else {
                return nil
            }
            self = route
        } else {
            guard let route = Self(rawValue: String(path.dropFirst(Self.prefix.count))),
                !Self.byID.contains(route)
            else { return nil }
            self = route
        }
    }

    /// Creates the route that lists and revokes a family's grants.
    init(_ family: AccessGrant.Family) {
        self =
            switch family {
            case .tokens: .tokens
            case .links: .links
            case .sessions: .sessions
            }
    }

    /// Returns the id of the resource that a path names; nil if the path names none.
    static func id(inPath path: some StringProtocol) -> TitleID? {
        guard path.hasPrefix(beforeID) else { return nil }
        return TitleID(String(path.dropFirst(beforeID.count).prefix { $0 != "/" }))
    }

    /// The supported methods. HEAD is supported wherever GET has an answer that ends.
    var methods: [String] {
        switch self {
        case .status, .history, .readiness, .resources, .evictions, .playbacks, .audit, .keys, .contentByID,
            .explanationByID, .openAPI:
            ["GET", "HEAD"]
        case .resourceByID, .session: ["GET", "HEAD", "DELETE"]
        case .pinByID, .nameByID, .modeByID: ["PUT", "DELETE"]
        case .coverByID: ["GET", "HEAD", "PUT", "DELETE"]
        case .imports, .reseals, .shreds, .destructions, .rotations, .rewraps, .retirements, .syncs: ["POST"]
        case .resource, .content, .explanation: ["GET", "HEAD", "POST"]
        case .removals, .pins, .unpins, .modes, .names, .prunes, .verifications, .revocations, .locks, .tickets:
            ["POST"]
        case .links, .tokens, .sessions, .subscriptions: ["GET", "HEAD", "POST", "DELETE"]
        case .downloads: ["GET", "HEAD", "POST", "PATCH", "DELETE"]
        case .settings: ["GET", "HEAD", "PATCH"]
        case .keyring, .shares: ["GET", "HEAD", "POST"]
        case .viewers: ["GET", "HEAD", "POST", "PATCH", "DELETE"]
        case .positions: ["GET", "HEAD"]
        case .positionByID: ["PUT"]
        case .events: ["GET"]
        }
    }

    /// Returns the names that the query of a method may have.
    func parameters(of method: String) -> Set<String> {
        let asks = ["GET", "HEAD"].contains(method)
        return switch self {
        case .readiness: ["until", "verifiedWithin", "titles"]
        case .resources: ["after", "limit", "sort", "filter", "search"]
        case .resource, .content, .explanation: asks ? ["id", "url", "contentID"] : []
        case .events: ["id", "url", "contentID", "ticket"]
        case .audit: ["id", "url"]
        case .evictions: ["limit"]
        case .downloads where asks: ["after", "limit"]
        case .downloads, .viewers: method == "DELETE" ? ["id"] : []
        case .links, .tokens, .sessions: method == "DELETE" ? ["id", "all"] : []
        case .subscriptions: method == "DELETE" ? ["id", "titles", "all"] : []
        case .resourceByID: method == "DELETE" ? ["links"] : []
        default: []
        }
    }

    /// Returns whether a request with a method has a body.
    func hasBody(_ method: String) -> Bool {
        guard ["POST", "PUT", "PATCH"].contains(method) else { return false }
        return switch self {
        case .revocations, .locks, .rewraps, .pinByID: false
        default: true
        }
    }

    /// Returns the least token scope that allows a method; nil if it needs no token. The scope is `admin` unless a
    /// lesser one is known to suffice.
    func scope(for method: String) -> AccessScope? {
        let asks = ["GET", "HEAD"].contains(method)
        return switch self {
        case .status, .history, .readiness, .resources, .resource, .evictions, .explanation, .explanationByID, .events,
            .tickets, .openAPI:
            .read
        case .settings, .downloads, .subscriptions, .resourceByID, .coverByID: asks ? .read : .admin
        case .content, .contentByID, .positions, .positionByID: .play
        // The list reveals who has links. A token with the scope `play` may create links, because they end with the
        // token.
        case .links: method == "POST" ? .play : .admin
        // A browser that signs in has no credential yet.
        case .sessions: method == "POST" ? nil : .admin
        // This route shows and ends only the session whose secret the request presents.
        case .session: .metrics
        default: .admin
        }
    }

    /// Returns whether a signed-in viewer may use a method. The answer is limited to titles that are shared with the
    /// viewer.
    func isForViewers(_ method: String) -> Bool {
        switch self {
        case .resources, .positions, .positionByID, .events, .tickets, .session: true
        case .resourceByID, .coverByID: ["GET", "HEAD"].contains(method)
        case .links: method == "POST"
        default: false
        }
    }
}
