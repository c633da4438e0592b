import HTTPTypes
import Hummingbird
import MediaVault
import NIOCore
import VaultModel

/// Checks a request's host, sender and capability before anything is looked up for the request.
struct RequestGate: Sendable {
    /// The result of checking a request's host and sender.
    enum Verdict {
        /// The request is refused with this answer.
        case refused(Answer)
        /// The request is a preflight, with which a browser asks what a page may send.
        case preflight(CORSGrant)
        /// The request continues. If there is a grant, the page that it names may read the answer.
        case admitted(CORSGrant?)
    }

    private let hosts: HostCheck
    private let pages: CrossSiteCheck
    private let isSecure: Bool
    private let strictTransport: StrictTransport
    /// Whether the service may serve its pages. It may not over plain HTTP that other machines can reach, because a
    /// machine on the network between could read and change them.
    let servesPages: Bool
    /// Whether an answer that has begun continues to its end even if its viewer loses the right to it.
    let letsFinish: Bool
    /// The vault that issued the capabilities.
    let vault: Vault

    /// - Throws: ``VaultError`` if a host name or an origin is invalid.
    init(_ configuration: ServiceConfiguration, of vault: Vault) throws {
        self.vault = vault
        isSecure = configuration.tls != nil
        strictTransport = StrictTransport(
            hostNames: configuration.hostNames, isSecure: isSecure, choice: configuration.requiresTLSOfBrowsers)
        letsFinish = configuration.letsFinish
        servesPages = isSecure || configuration.address.isLoopback
        hosts = try HostCheck(hostNames: configuration.hostNames, isSecure: isSecure)
        pages = try CrossSiteCheck(allowing: configuration.allowedOrigins)
    }

    /// Returns the service's scheme, host and port, as a request names them.
    func origin(of request: HTTPRequest) -> String {
        "\(isSecure ? "https" : "http")://\((request.hosts.first ?? "").lowercased())"
    }

    /// Returns whether the answer to a request tells browsers to use only TLS.
    func requiresTLS(_ request: HTTPRequest, at listener: SocketAddress?) -> Bool {
        listener?.pathname == nil
            && strictTransport.applies(to: request.hosts.first ?? "", port: listener?.port)
    }

    /// Returns the session cookie; nil on a listener without a port, or if the service may not serve its pages.
    func cookie(at listener: SocketAddress?) -> SessionCookie? {
        guard servesPages, listener?.pathname == nil, let port = listener?.port else { return nil }
        return SessionCookie(port: port, isSecure: isSecure)
    }

    /// Returns whether a browser states that a page of this service sent the request.
    func isFromOwnPage(_ request: HTTPRequest) -> Bool {
        let origins = request.headerFields[values: .origin]
        guard origins.isEmpty else { return origins == [origin(of: request)] }
        return HTTPField.Name.secFetchSite.flatMap { request.headerFields[$0] } == "same-origin"
    }

    /// The destinations at which a browser would run content or apply it to a page (Fetch Metadata). They are never
    /// valid destinations for media.
    private static let running: Set<String> = [
        "audioworklet", "paintworklet", "script", "serviceworker", "sharedworker", "style", "worker", "xslt",
    ]

    func verdict(on request: HTTPRequest, about route: Route, at listener: SocketAddress?) -> Verdict {
        let names = request.hosts
        // No web page can reach a socket file, so any single host name is accepted there.
        switch hosts.verdict(on: names, port: listener?.pathname == nil ? listener?.port ?? 0 : nil) {
        case .malformed: return .refused(ErrorAnswer.malformedHost)
        case .foreign: return .refused(ErrorAnswer.misdirectedHost)
        case .allowed: break
        }
        let fields = request.headerFields
        let destination = HTTPField.Name.secFetchDest.flatMap { fields[$0] }
        if route == .media, let destination, Self.running.contains(destination) {
            return .refused(ErrorAnswer.notToRun)
        }
        switch pages.verdict(
            origin: fields[values: .origin], site: HTTPField.Name.secFetchSite.flatMap { fields[$0] },
            referer: fields[.referer], own: origin(of: request))
        {
        case .own: break
        // Any site may link to the service's pages, which are the same for everyone.
        case .allowed where route == .page, .foreign where route == .page: break
        case .allowed(let origin) where route.isAllowedForPages:
            let grant = CORSGrant(origin: origin)
            let asksFirst = request.method == .options && fields[.accessControlRequestMethod] != nil
            return asksFirst ? .preflight(grant) : .admitted(grant)
        case .allowed, .foreign: return .refused(ErrorAnswer.crossSitePage)
        }
        return .admitted(nil)
    }
}

extension Route {
    /// Whether pages of allowed origins may request the route.
    fileprivate var isAllowedForPages: Bool { self == .media || self == .health }
}

extension HTTPField.Name {
    fileprivate static let secFetchSite = HTTPField.Name("Sec-Fetch-Site")
    fileprivate static let secFetchDest = HTTPField.Name("Sec-Fetch-Dest")
}

extension HTTPRequest {
    /// The values of all of the request's `Host` fields. The HTTP library stores the first one separately.
    fileprivate var hosts: [String] {
        (authority.map { [$0] } ?? []) + headerFields.filter { $0.name.canonicalName == "host" }.map(\.value)
    }

    var hasBody: Bool {
        headerFields[.contentLength].map { $0 != "0" } ?? (headerFields[.transferEncoding] != nil)
    }

    /// Whether the request cannot change anything, has no body, or declares its body as JSON.
    ///
    /// A web page's form, which a browser sends without a preflight, has a body of another type.
    var hasAcceptableBody: Bool {
        method == .get || method == .head || method == .options || !hasBody
            || (headerFields[.contentType] ?? "").prefix { $0 != ";" }.trimmingBlanks()
                .isEqualIgnoringCase("application/json")
    }
}

/// Checks whether a web page sent a request, and whether that page is allowed to.
///
/// Web pages can send many kinds of requests without permission to read the answers, and only the fields that the
/// browser adds identify the page. Programs other than browsers do not send these fields, so they are judged only by
/// their capability.
struct CrossSiteCheck: Sendable {
    enum Verdict: Hashable {
        /// No page, or one of the service's own pages, sent the request.
        case own
        /// A page of this origin, which the operator allowed, sent the request.
        case allowed(String)
        /// Another page sent the request.
        case foreign
    }

    private let origins: Set<String>

    /// Whether pages of any origin are allowed.
    var allowsAny: Bool { !origins.isEmpty }

    /// - Parameter origins: the allowed origins, such as `https://kiosk.example`.
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidArgument`` if one of the texts is not an origin.
    init(allowing origins: [String] = []) throws {
        self.origins = Set(
            try origins.map { text in
                guard let url = try? MediaURL(text), !url.hasCredentials, text.isEqualIgnoringCase(url.origin) else {
                    throw VaultError(
                        .invalidArgument,
                        "\(text) is not a web page's origin; write scheme, host and port, such as https://kiosk.example"
                    )
                }
                return url.origin
            })
    }

    /// Checks the fields that identify a request's sender.
    ///
    /// - Parameters:
    ///   - origin: the values of `Origin`.
    ///   - site: the value of `Sec-Fetch-Site`.
    ///   - referer: the value of `Referer`, which a page can omit but not forge. For `<video src>`, no other field
    ///     names the page.
    ///   - own: the service's own origin, with the host that the request names.
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

/// The fields that let a page of an allowed origin read an answer (Fetch §3.2).
struct CORSGrant: Hashable, Sendable {
    /// The origin of the page.
    let origin: String

    private static let readable = "Accept-Ranges, Cache-Status, Content-Length, Content-Range, ETag, Server-Timing"
    private static let sendable =
        "If-Match, If-Modified-Since, If-None-Match, If-Range, If-Unmodified-Since, Range"
    /// How long, in seconds, a browser may reuse the answer to a preflight.
    private static let validity = "600"

    /// Adds the fields that let the page read an answer and show the media in it.
    func mark(_ fields: inout HTTPFields) {
        set("Access-Control-Allow-Origin", origin, in: &fields)
        set("Access-Control-Expose-Headers", Self.readable, in: &fields)
        set("Cross-Origin-Resource-Policy", "cross-origin", in: &fields)
        set("Vary", "Origin, Referer, Sec-Fetch-Site", in: &fields)
    }

    /// Returns the answer to a preflight.
    func preflight(of request: Request, context: ServiceContext) -> Response {
        context.log(status: 204, bytes: 0)
        var response = Response(status: .noContent)
        mark(&response.headers)
        set("Access-Control-Allow-Methods", "GET, HEAD", in: &response.headers)
        set("Access-Control-Allow-Headers", Self.sendable, in: &response.headers)
        set("Access-Control-Max-Age", Self.validity, in: &response.headers)
        set("Cache-Control", "no-store", in: &response.headers)
        // With this field, browsers ask whether a public page may reach a private network.
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
