import HTTPTypes
import Hummingbird
import NIOCore
import VaultModel

/// What a request has to pass before anything is looked up for it: the name it came by, and who made it.
struct RequestGate: Sendable {
    enum Verdict {
        /// It is answered with this and nothing else.
        case refused(Answer)
        /// A page asks what it may send.
        case preflight(CORSGrant)
        /// It goes on; what is answered may be had by the page that is named, where one is.
        case admitted(CORSGrant?)
    }

    private let hosts: HostCheck
    private let pages: CrossSiteCheck
    private let isSecure: Bool

    /// - Throws: ``VaultError`` where a host name or an origin is none.
    init(_ configuration: ServiceConfiguration) throws {
        isSecure = configuration.tls != nil
        hosts = try HostCheck(hostNames: configuration.hostNames, isSecure: isSecure)
        pages = try CrossSiteCheck(allowing: configuration.allowedOrigins)
    }

    func verdict(on request: HTTPRequest, about route: Route, at listener: SocketAddress?) -> Verdict {
        let names = request.hosts
        // No page leads to a socket file, so that any one name will do there.
        switch hosts.verdict(on: names, port: listener?.pathname == nil ? listener?.port ?? 0 : nil) {
        case .malformed: return .refused(ErrorAnswer.malformedHost)
        case .foreign: return .refused(ErrorAnswer.foreignHost)
        case .allowed: break
        }
        let fields = request.headerFields
        switch pages.verdict(
            origin: fields[values: .origin], site: HTTPField.Name.secFetchSite.flatMap { fields[$0] },
            referer: fields[.referer], own: "\(isSecure ? "https" : "http")://\((names.first ?? "").lowercased())")
        {
        case .own: break
        case .allowed(let origin) where route.isForPages:
            let grant = CORSGrant(origin: origin)
            let asksFirst = request.method == .options && fields[.accessControlRequestMethod] != nil
            return asksFirst ? .preflight(grant) : .admitted(grant)
        case .allowed, .foreign: return .refused(ErrorAnswer.foreignPage)
        }
        return .admitted(nil)
    }
}

extension Route {
    /// Whether pages of allowed origins may have it.
    fileprivate var isForPages: Bool { self == .media || self == .health }
}

extension HTTPField.Name {
    fileprivate static let secFetchSite = HTTPField.Name("Sec-Fetch-Site")
}

extension HTTPRequest {
    /// The values of all its `Host` fields; the library keeps the first apart.
    fileprivate var hosts: [String] {
        (authority.map { [$0] } ?? []) + headerFields.filter { $0.name.canonicalName == "host" }.map(\.value)
    }

    var hasBody: Bool {
        headerFields[.contentLength].map { $0 != "0" } ?? (headerFields[.transferEncoding] != nil)
    }

    /// Whether what it brings may change something. A form of a page's, which its browser sends without asking, says that it
    /// is something other than JSON.
    var mayChange: Bool {
        method == .get || method == .head || method == .options || !hasBody
            || (headerFields[.contentType] ?? "").prefix { $0 != ";" }.trimmingBlanks()
                .isEqualIgnoringCase("application/json")
    }
}

/// Which `Host` a request may name. Only this stops a page that has its own name lead to this machine (DNS rebinding).
struct HostCheck: Sendable {
    enum Verdict: Hashable {
        case allowed
        /// Missing, empty or repeated.
        case malformed
        /// Another's name, or another port.
        case foreign
    }

    private let names: Set<String>
    private let defaultPort: Int

    /// - Parameters:
    ///   - hostNames: names beside those of this machine, without a port.
    ///   - isSecure: whether the listener speaks TLS.
    init(hostNames: [String] = [], isSecure: Bool = false) throws {
        defaultPort = isSecure ? 443 : 80
        for name in hostNames {
            guard let url = try? MediaURL("http://\(name)/"), url.host.isEqualIgnoringCase(name) else {
                throw VaultError(
                    .invalidArgument, "\(name) is no host name: write the name alone, without scheme, port or path")
            }
        }
        names = Set(["127.0.0.1", "localhost", "[::1]"] + hostNames.map { $0.lowercased() })
    }

    /// Judges the `Host` fields of a request that came to a listener's port; nil is a listener that has none, where any
    /// name will do.
    func verdict(on fields: [String], port: Int?) -> Verdict {
        guard fields.count == 1, let field = fields.first, !field.isEmpty else { return .malformed }
        guard let port else { return .allowed }
        let authority = field.lowercased()
        if port == defaultPort, names.contains(authority) { return .allowed }
        let end = ":\(port)"
        return authority.hasSuffix(end) && names.contains(String(authority.dropLast(end.count))) ? .allowed : .foreign
    }
}

/// Whether a web page has made a request, and whether it may.
///
/// Pages can send a great deal without being allowed to read the answer; what a browser says of who asks is all there is
/// to tell them by. Programs that are no browsers say nothing of it, and are told by their capability alone.
struct CrossSiteCheck: Sendable {
    enum Verdict: Hashable {
        /// No page has made it, or one of the service's own.
        case own
        /// A page of this origin, which the operator allowed, has made it.
        case allowed(String)
        /// Another page has made it.
        case foreign
    }

    private let origins: Set<String>

    /// Whether there are pages that may.
    var allowsAny: Bool { !origins.isEmpty }

    /// - Parameter origins: the allowed ones, such as `https://kiosk.example`.
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidArgument`` where one is no origin.
    init(allowing origins: [String] = []) throws {
        self.origins = Set(
            try origins.map { text in
                guard let url = try? MediaURL(text), !url.hasCredentials, text.isEqualIgnoringCase(url.origin) else {
                    throw VaultError(
                        .invalidArgument,
                        "\(text) is no origin of a web page: write scheme, host and port, such as https://kiosk.example"
                    )
                }
                return url.origin
            })
    }

    /// Judges what a request says of who made it.
    ///
    /// - Parameters:
    ///   - origin: the values of `Origin`.
    ///   - site: `Sec-Fetch-Site`.
    ///   - referer: `Referer`, which a page can leave out and not forge; of `<video src>` nothing else names the page.
    ///   - own: the service's own origin, by the name that the request came by.
    func verdict(
        origin: [String], site: String?, referer: @autoclosure () -> String?, own: @autoclosure () -> String
    ) -> Verdict {
        switch origin.count {
        case 0:
            guard let site, site != "none", site != "same-origin" else { return .own }
            guard let page = referer().flatMap({ try? MediaURL($0) })?.origin, origins.contains(page) else {
                return .foreign
            }
            return .allowed(page)
        case 1 where origin[0] == own(): return .own
        case 1 where origins.contains(origin[0]): return .allowed(origin[0])
        default: return .foreign
        }
    }
}

/// What an answer says so that a page of an allowed origin may have it (Fetch §3.2).
struct CORSGrant: Hashable, Sendable {
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
