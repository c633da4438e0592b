import HTTPTypes
import Hummingbird

/// What an answer says so that a page of an allowed origin may have it (Fetch §3.2).
struct PageGrant: Hashable, Sendable {
    /// The page's.
    let origin: String

    private static let readable = "Accept-Ranges, Cache-Status, Content-Length, Content-Range, ETag, Server-Timing"
    private static let sendable =
        "If-Match, If-Modified-Since, If-None-Match, If-Range, If-Unmodified-Since, Range"
    /// Seconds for which a browser need not ask again.
    private static let validity = "600"

    /// Lets the page read an answer, and show the media in it.
    func mark(_ fields: inout HTTPFields) {
        set("Access-Control-Allow-Origin", origin, in: &fields)
        set("Access-Control-Expose-Headers", Self.readable, in: &fields)
        set("Cross-Origin-Resource-Policy", "cross-origin", in: &fields)
        set("Vary", "Origin, Referer, Sec-Fetch-Site", in: &fields)
    }

    /// The answer to the question that a browser asks before it sends fields of a page's.
    func preflight(of request: Request, context: ServiceContext) -> Response {
        context.log(status: 204, bytes: 0)
        var response = Response(status: .noContent)
        mark(&response.headers)
        set("Access-Control-Allow-Methods", "GET, HEAD", in: &response.headers)
        set("Access-Control-Allow-Headers", Self.sendable, in: &response.headers)
        set("Access-Control-Max-Age", Self.validity, in: &response.headers)
        set("Cache-Control", "no-store", in: &response.headers)
        // Browsers ask apart for leave to reach from a public page into this network.
        if HTTPField.Name("Access-Control-Request-Private-Network").map({ request.headers[$0] }) == "true" {
            set("Access-Control-Allow-Private-Network", "true", in: &response.headers)
        }
        return response
    }

    private func set(_ name: String, _ value: String, in fields: inout HTTPFields) {
        guard let name = HTTPField.Name(name) else { return }
        fields[name] = value
    }
}
