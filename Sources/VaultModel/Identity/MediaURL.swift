/// An http or https URL, taken apart and checked.
///
/// The text that goes to the origin (``path`` and ``query``) keeps the caller's bytes: `//`, `%2F` and `;` stay. What
/// names the resource in the vault is ``canonical``.
public struct MediaURL: Hashable, Sendable, CustomStringConvertible {
    /// `http` or `https`.
    public let scheme: String
    /// The host: lower-case, A-labels, IPv6 in brackets.
    public let host: String
    /// The port, where it is not the scheme's default.
    public let port: Int?
    /// The path, at least `/`, without dot segments, otherwise as the caller spelled it.
    public let path: String
    /// The query without its `?`, as the caller spelled it; nil where there is none.
    public let query: String?
    /// `user:password` as it stood before the host, percent-decoded. Never printed, never part of a name.
    package let userInfo: String?

    /// Reads a URL.
    ///
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidURL`` where it is not an http or https URL with a
    ///   host. The message does not repeat the URL.
    public init(_ text: String) throws {
        let parts = try MediaURLParser.parse(text)
        self = parts
    }

    package init(scheme: String, host: String, port: Int?, path: String, query: String?, userInfo: String? = nil) {
        self.scheme = scheme
        self.host = host
        self.port = port == Self.defaultPort(of: scheme) ? nil : port
        self.path = path
        self.query = query
        self.userInfo = userInfo
    }

    /// Whether a user name, and perhaps a password, stood before the host.
    public var hasCredentials: Bool { userInfo != nil }

    /// Host, and port where it is not the default: what a `Host` field carries.
    public var authority: String { host + (port.map { ":\($0)" } ?? "") }

    /// The port that is connected to.
    public var effectivePort: Int { port ?? Self.defaultPort(of: scheme) }

    static func defaultPort(of scheme: String) -> Int { scheme == "https" ? 443 : 80 }

    /// The whole URL as it is asked of the origin. It may carry a token in its query: not for logs.
    public var absoluteString: String { "\(scheme)://\(authority)\(path)" + (query.map { "?\($0)" } ?? "") }

    /// The URL that names the resource (RFC 3986 §6.2.2): in the path unreserved characters unescaped, other escapes in
    /// upper-case hex and dot segments removed; the query as it is, an empty one dropped; what may not stand in a URL
    /// escaped in both.
    public var canonical: String {
        let path = DotSegments.removed(from: PercentEncoding.normalizingPath(path))
        let query = query.map { PercentEncoding.escapingIllegal($0) }.flatMap { $0.isEmpty ? nil : $0 }
        return "\(scheme)://\(authority)\(path)" + (query.map { "?\($0)" } ?? "")
    }

    /// The URL without its query and without credentials: for messages and logs.
    public var description: String { "\(scheme)://\(authority)\(path)" + (query == nil ? "" : "?…") }

    /// Whether both ask the same origin for the same target with the same credentials.
    public static func == (one: MediaURL, other: MediaURL) -> Bool {
        one.absoluteString == other.absoluteString && one.userInfo == other.userInfo
    }

    /// Hashes what is compared, the credentials left out.
    public func hash(into hasher: inout Hasher) { hasher.combine(absoluteString) }
}
