import VaultModel

/// How a client requests an operation, and who may do so.
package struct Endpoint: Hashable, Sendable {
    /// The methods of the API, in the order in which an answer lists them.
    enum Method: String, CaseIterable, Sendable {
        case get = "GET", post = "POST", put = "PUT", patch = "PATCH", delete = "DELETE"
    }

    let method: Method
    let route: APIRoute
    /// The least token scope that allows the operation; nil if it needs no token.
    let scope: AccessScope?
    /// Whether a signed-in viewer may request the operation, which then returns only what is shared with the viewer.
    let isForViewers: Bool
    /// The names that the query may have.
    let parameters: Set<String>
    /// Whether the request has a body.
    let hasBody: Bool
    /// Whether the answer ends without the client disconnecting, so that HEAD makes sense.
    let ends: Bool

    init(
        _ method: Method, _ path: String, scope: AccessScope?, isForViewers: Bool = false,
        parameters: Set<String> = [], hasBody: Bool = false, ends: Bool = true
    ) {
        (self.method, route, self.scope) = (method, APIRoute(rawValue: path), scope)
        (self.isForViewers, self.parameters, self.hasBody, self.ends) = (isForViewers, parameters, hasBody, ends)
    }

    /// Whether HEAD is supported.
    var supportsHead: Bool { method == .get && ends }

    /// All endpoints, by their route.
    static let byRoute = Dictionary(grouping: Operations.all.map(\.endpoint) + others, by: \.route)

    private static let named: Set = ["id", "url", "contentID"]

    /// The endpoints that do more than exchange documents: they return media, pictures, cookies or a feed, return less
    /// to viewers than to the owner, or use state that the service itself keeps.
    private static let others = [
        Endpoint(.get, "openapi.json", scope: .read),
        Endpoint(
            .get, "resources", scope: .read, isForViewers: true,
            parameters: ["after", "limit", "sort", "filter", "search", "ids"]),
        Endpoint(.get, "resources/{id}", scope: .read, isForViewers: true),
        Endpoint(.get, "resources/{id}/content", scope: .play),
        Endpoint(.get, "resources/{id}/explanation", scope: .read),
        Endpoint(.get, "resources/{id}/cover", scope: .read, isForViewers: true),
        Endpoint(.put, "resources/{id}/cover", scope: .admin, hasBody: true),
        Endpoint(
            .get, "resources/{id}/subtitles", scope: .read, isForViewers: true, parameters: ["language"]),
        Endpoint(.get, "resource", scope: .read, parameters: named),
        Endpoint(.post, "resource", scope: .read, hasBody: true),
        Endpoint(.get, "content", scope: .play, parameters: named),
        Endpoint(.post, "content", scope: .play, hasBody: true),
        Endpoint(.get, "explanation", scope: .read, parameters: named),
        Endpoint(.post, "explanation", scope: .read, hasBody: true),
        Endpoint(.post, "imports", scope: .admin, hasBody: true),
        Endpoint(.get, "downloads", scope: .read, parameters: ["after", "limit"]),
        Endpoint(.post, "downloads", scope: .admin, hasBody: true),
        Endpoint(.delete, "downloads", scope: .admin, parameters: ["id"]),
        Endpoint(.get, "history", scope: .read), Endpoint(.get, "playbacks", scope: .admin),
        Endpoint(.get, "log", scope: .admin),
        Endpoint(.post, "locks", scope: .admin),
        // The list of links reveals who has them. A token with the scope `play` may create links, because they end with
        // the token.
        Endpoint(.post, "links", scope: .play, isForViewers: true, hasBody: true),
        Endpoint(.post, "tickets", scope: .read, isForViewers: true, hasBody: true),
        // A browser that signs in has no credential yet.
        Endpoint(.post, "sessions", scope: nil, hasBody: true),
        // This route shows and ends only the session whose secret the request presents.
        Endpoint(.get, "session", scope: .metrics, isForViewers: true),
        Endpoint(.delete, "session", scope: .metrics, isForViewers: true),
        Endpoint(
            .get, "events", scope: .read, isForViewers: true, parameters: named.union(["ticket"]), ends: false),
    ]
}
