import HTTPTypes
import NIOCore
import VaultModel

/// What a request has to pass before anything is looked up for it: the name it came by, and who made it.
struct RequestGate: Sendable {
    enum Verdict {
        /// It is answered with this and nothing else.
        case refused(Answer)
        /// A page asks what it may send.
        case preflight(PageGrant)
        /// It goes on; what is answered may be had by the page that is named, where one is.
        case admitted(PageGrant?)
    }

    private let hosts: HostCheck
    private let pages: PageCheck
    private let isSecure: Bool

    /// - Throws: ``VaultError`` where a host name or an origin is none.
    init(_ configuration: ServiceConfiguration) throws {
        isSecure = configuration.tls != nil
        hosts = try HostCheck(hostNames: configuration.hostNames, isSecure: isSecure)
        pages = try PageCheck(allowing: configuration.allowedOrigins)
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
            let grant = PageGrant(origin: origin)
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
