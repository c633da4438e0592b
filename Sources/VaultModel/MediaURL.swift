import Foundation

/// An http or https URL that has been parsed and checked.
///
/// ``path`` and ``query`` are sent to the origin and keep the caller's bytes, so `//`, `%2F` and `;` are not changed.
/// ``canonical`` is the form that names the resource in the vault.
public struct MediaURL: Hashable, Sendable, CustomStringConvertible {
    /// `http` or `https`.
    public let scheme: String
    /// The host in lower case; international names have A-labels, and IPv6 addresses have brackets.
    public let host: String
    /// The port, or nil if it is the scheme's default.
    public let port: Int?
    /// The path, which is at least `/` and has no dot segments, but is otherwise as the caller spelled it.
    public let path: String
    /// The query without its `?`, as the caller spelled it; nil if there is none.
    public let query: String?
    /// The `user:password` before the host, percent-decoded. It is never printed, and never part of a name.
    package let userInfo: String?

    /// Parses a URL.
    ///
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidURL`` if the text is not an http or https URL with a
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

    /// Whether the URL has a user name, with or without a password.
    public var hasCredentials: Bool { userInfo != nil }

    /// The host, with the port if it is not the scheme's default: the value of a `Host` field.
    public var authority: String { host + (port.map { ":\($0)" } ?? "") }

    /// The port to connect to: ``port``, or the scheme's default.
    public var effectivePort: Int { port ?? Self.defaultPort(of: scheme) }

    /// Returns whether this is an https URL at port 443, and `other` is an http URL at port 80 of the same host.
    ///
    /// At any other ports, the two URLs are different authorities, so what may be sent to one must not reach the other.
    package func isUpgrade(of other: MediaURL) -> Bool {
        host == other.host && (other.scheme, other.effectivePort) == ("http", 80)
            && (scheme, effectivePort) == ("https", 443)
    }

    static func defaultPort(of scheme: String) -> Int { scheme == "https" ? 443 : 80 }

    /// The whole URL as it is requested from the origin. It must not be logged, because its query may contain a token.
    public var absoluteString: String { "\(scheme)://\(authority)\(path)" + (query.map { "?\($0)" } ?? "") }

    /// The URL that names the resource (RFC 3986 §6.2.2).
    ///
    /// In the path, unreserved characters are unescaped, other escapes have upper-case hex digits, and dot segments are
    /// removed. The query is not changed, except that an empty one is dropped. In both, characters that a URL must not
    /// contain are escaped.
    public var canonical: String {
        let path = DotSegments.removed(from: PercentEncoding.normalizingPath(path))
        let query = query.map { PercentEncoding.escapingIllegal($0) }.flatMap { $0.isEmpty ? nil : $0 }
        return "\(scheme)://\(authority)\(path)" + (query.map { "?\($0)" } ?? "")
    }

    /// The URL without its query and credentials, for messages and logs.
    public var description: String { "\(scheme)://\(authority)\(path)" + (query == nil ? "" : "?…") }
}

extension MediaURL {
    /// The scheme, host and port: the origin that may receive the credentials given for this URL.
    package var origin: String { "\(scheme)://\(authority)" }

    /// The URL without its user name and password.
    package var withoutCredentials: MediaURL {
        MediaURL(scheme: scheme, host: host, port: port, path: path, query: query)
    }

    func replacing(host: String, port: Int?) -> MediaURL {
        MediaURL(scheme: scheme, host: host, port: port, path: path, query: query, userInfo: userInfo)
    }

    func replacing(query: String?) -> MediaURL {
        MediaURL(scheme: scheme, host: host, port: port, path: path, query: query, userInfo: userInfo)
    }
}

/// Parses URLs for ``MediaURL`` (RFC 3986 §3).
///
/// Foundation's parser rewrites its input, but players' relative references need the origin's bytes unchanged. This
/// parser compares bytes, because a slash followed by a combining mark is not a slash when compared as a `Character`.
enum MediaURLParser {
    static func parse(_ text: String) throws -> MediaURL {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != 0x5C }) else {
            throw invalid("it contains a space, a control character or a backslash; percent-encode it")
        }
        guard text.utf8.count <= 8192 else { throw invalid("it is longer than 8192 bytes") }
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            throw invalid("it has no scheme; it must begin with http:// or https://")
        }
        let scheme = text[..<colon].lowercased()
        guard scheme == "http" || scheme == "https" else { throw invalid("its scheme is not http or https") }
        var rest = Substring(text.utf8[colon...].dropFirst())
        guard rest.utf8.starts(with: "//".utf8) else { throw invalid("its scheme is not followed by two slashes") }
        rest = Substring(rest.utf8.dropFirst(2))
        if let hash = rest.utf8.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<hash] }

        let authorityEnd = rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        let (userInfo, host, port) = try authority(rest[..<authorityEnd])
        let target = rest[authorityEnd...]
        let question = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        let path = PercentEncoding.escapingNonASCII(target.utf8[..<(question ?? target.endIndex)])
        let query = question.map { PercentEncoding.escapingNonASCII(target.utf8[$0...].dropFirst()) }
        return MediaURL(
            scheme: scheme, host: host, port: port, path: path.isEmpty ? "/" : DotSegments.removed(from: path),
            query: query, userInfo: userInfo)
    }

    private static func authority(_ text: Substring) throws -> (userInfo: String?, host: String, port: Int?) {
        var rest = text
        var userInfo: String?
        if let at = text.utf8.lastIndex(of: UInt8(ascii: "@")) {
            guard let decoded = String(text[..<at]).removingPercentEncoding else {
                throw invalid("its user name or password is not valid percent-encoded text; write % as %25")
            }
            userInfo = decoded
            rest = Substring(text.utf8[at...].dropFirst())
        }
        var port: Int?
        let bracket = rest.utf8.lastIndex(of: UInt8(ascii: "]"))
        if let colon = rest.utf8.lastIndex(of: UInt8(ascii: ":")), bracket.map({ $0 < colon }) ?? true {
            let digits = Substring(rest.utf8[colon...].dropFirst())
            if !digits.isEmpty {
                guard let number = DecimalNumber.exact(digits), (1...65535).contains(number) else {
                    throw invalid("its port is not a number from 1 to 65535")
                }
                port = Int(number)
            }
            rest = rest[..<colon]
        }
        return (userInfo, try host(rest), port)
    }

    /// The maximum length of an IPv6 address, which one that ends with an IPv4 address reaches (RFC 4291 §2.2).
    private static let maxAddressLength = 45

    private static func host(_ text: Substring) throws -> String {
        if text.first == "[" {
            let inner = text.dropFirst().dropLast()
            guard text.last == "]", inner.contains(":"), inner.utf8.count <= maxAddressLength,
                inner.utf8.allSatisfy({ isHexDigit($0) || $0 == 0x3A || $0 == 0x2E })
            else { throw invalid("its IPv6 address is malformed") }
            return text.lowercased()
        }
        var name = String(text)
        // This check precedes the IDNA mapping, because Foundation would silently drop characters that are not allowed.
        guard name.utf8.allSatisfy({ $0 >= 0x80 || isHostByte($0.asciiLowercased) }) else {
            throw invalid("its host contains a character that is not allowed in a host")
        }
        if !name.utf8.allSatisfy({ $0 < 0x80 }) {
            // Foundation implements the IDNA mapping; only the host is taken from its result.
            guard let labels = URLComponents(string: "http://\(name)/")?.encodedHost,
                labels.utf8.allSatisfy({ $0 < 0x80 })
            else {
                throw invalid("its host name cannot be converted to ASCII")
            }
            name = labels
        }
        name = name.lowercased()
        guard !name.isEmpty, name.utf8.count <= 255 else {
            throw invalid("it has no host, or one longer than 255 bytes")
        }
        guard name.utf8.allSatisfy({ isHostByte($0) }) else {
            throw invalid("its host contains a character that is not allowed in a host")
        }
        return name
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        (byte >= 0x30 && byte <= 0x39) || (byte.asciiLowercased >= 0x61 && byte.asciiLowercased <= 0x66)
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7A) || byte == 0x2D || byte == 0x2E || byte == 0x5F
    }

    private static func invalid(_ why: String) -> VaultError {
        VaultError(.invalidURL, "the URL is malformed: \(why)")
    }
}
