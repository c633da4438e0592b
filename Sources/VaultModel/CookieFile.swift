/// The cookies from a file in the Netscape format, which curl, yt-dlp and browser extensions write.
///
/// The cookies are sent unchanged, because the vault ignores cookies that an origin sets. Their values are secret.
public struct CookieFile: Hashable, Sendable {
    private let cookies: [Cookie]

    /// The maximum size of the file, in bytes.
    public static let maxLength = 64 << 10
    /// The maximum number of cookies.
    public static let maxCount = 1024

    /// Parses a file with one cookie per line, tabs between each cookie's seven fields, comments, and empty lines.
    ///
    /// If two cookies have the same name, domain and path, the later one replaces the earlier one.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the file is too large, has no cookie, or has an invalid
    ///   line. The message states the line's number and repeats nothing from it.
    public init(_ text: String) throws {
        guard text.utf8.count <= Self.maxLength else { throw Self.tooLong }
        var cookies: [Cookie] = []
        var places: [Cookie.Identity: Int] = [:]
        let mark = Array("\u{FEFF}".utf8)
        let content = text.utf8.starts(with: mark) ? text.utf8.dropFirst(mark.count) : text.utf8[...]
        for (index, line) in content.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let line = Substring(line.last == 0x0D ? line.dropLast() : line)
            guard let fields = Cookie.fields(of: line) else { continue }
            guard let cookie = Cookie(fields) else {
                throw VaultError(
                    .invalidArgument,
                    "line \(index + 1) of the cookie file is not a cookie in the Netscape form; export the file again")
            }
            if let place = places[cookie.identity] {
                cookies[place] = cookie
            } else {
                places[cookie.identity] = cookies.count
                cookies.append(cookie)
            }
        }
        guard !cookies.isEmpty else {
            throw VaultError(
                .invalidArgument, "the cookie file has no cookie; give a file in the Netscape form (cookies.txt)")
        }
        self.cookies = cookies
        // The stored form must itself be short enough to be read again.
        guard cookies.count <= Self.maxCount, secretText.utf8.count <= Self.maxLength else { throw Self.tooLong }
    }

    /// The number of cookies.
    public var count: Int { cookies.count }

    /// The cookies with their values, in the form that ``init(_:)`` parses.
    package var secretText: String { cookies.map { $0.line + "\n" }.joined() }

    /// Returns the value of the `Cookie` field for a request (RFC 6265 §5.4); nil if no cookie applies.
    ///
    /// - Parameter now: the time in seconds since 1970; expired cookies are left out.
    package func value(for url: MediaURL, now: Int64) -> String? {
        let matching = cookies.enumerated().filter { $0.element.isSent(to: url, now: now) }
        guard !matching.isEmpty else { return nil }
        // Longer paths come first; cookies with equally long paths keep the order of the file.
        return matching.sorted { one, other in
            (-one.element.path.utf8.count, one.offset) < (-other.element.path.utf8.count, other.offset)
        }.map(\.element.pair).joined(separator: "; ")
    }

    private static let tooLong = VaultError(
        .invalidArgument,
        "the cookie file has more than 64 KiB or \(maxCount) cookies; export those of the hosts that need them")
}

/// One cookie from a file.
private struct Cookie: Hashable, Sendable {
    /// The attributes that distinguish cookies (RFC 6265 §5.3).
    struct Identity: Hashable {
        let name, domain, path: String
    }

    let domain: String
    /// Whether the domain's subdomains receive the cookie, too.
    let includesSubdomains: Bool
    let path: String
    /// Whether the cookie is sent only over TLS.
    let isSecure: Bool
    /// When the cookie expires, in seconds since 1970; 0 if it does not expire.
    let expires: Int64
    let name: String
    let value: String

    private static let httpOnly = "#HttpOnly_"

    /// Returns the fields of a line; nil for a comment or an empty line.
    static func fields(of line: Substring) -> [String]? {
        var line = line
        if line.utf8.starts(with: httpOnly.utf8) {
            line = Substring(line.utf8.dropFirst(httpOnly.utf8.count))
        } else if line.utf8.first == UInt8(ascii: "#") || line.trimmingBlanks().isEmpty {
            return nil
        }
        return line.utf8.split(separator: 0x09, omittingEmptySubsequences: false).map { String(Substring($0)) }
    }

    /// Creates a cookie from a line's fields; nil if they are invalid. The last field, the value, may be missing.
    init?(_ fields: [String]) {
        let domain = fields[0].utf8.first == UInt8(ascii: ".") ? String(fields[0].dropFirst()) : fields[0]
        guard (6...7).contains(fields.count), let host = try? HostAuthority.host(domain),
            let includesSubdomains = Self.flag(fields[1]), let isSecure = Self.flag(fields[3]),
            let expires = Self.seconds(fields[4]), fields[2].utf8.first == UInt8(ascii: "/"), Self.isFit(fields[2])
        else { return nil }
        (self.domain, self.includesSubdomains, path) = (host, includesSubdomains, fields[2])
        (self.isSecure, self.expires) = (isSecure, expires)
        (name, value) = (fields[5], fields.count == 7 ? fields[6] : "")
        guard Self.isFit(name), !name.utf8.contains(UInt8(ascii: "=")), Self.isFit(value), name != "" || value != ""
        else { return nil }
    }

    private static func flag(_ text: String) -> Bool? {
        switch text.uppercased() {
        case "TRUE": true
        case "FALSE": false
        default: nil
        }
    }

    /// Parses a time. Some programs write fractions of a second, or write nothing for a cookie that does not expire.
    private static func seconds(_ text: String) -> Int64? {
        if text.isEmpty { return 0 }
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 1 || DecimalNumber.clamped(parts[1]) != nil else { return nil }
        return DecimalNumber.clamped(parts[0])
    }

    private static func isFit(_ text: String) -> Bool {
        // U+FFFD stands for bytes that were not UTF-8, so the origin would receive a different value.
        guard !text.unicodeScalars.contains("\u{FFFD}") else { return false }
        return text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ";") }
    }

    var identity: Identity { Identity(name: name, domain: domain, path: path) }

    /// The cookie as a line in the file.
    var line: String {
        let flags = (subdomains: includesSubdomains ? "TRUE" : "FALSE", secure: isSecure ? "TRUE" : "FALSE")
        return [domain, flags.subdomains, path, flags.secure, "\(expires)", name, value].joined(separator: "\t")
    }

    /// The name and value as a request sends them; only the value if the cookie has no name.
    var pair: String { name.isEmpty ? value : "\(name)=\(value)" }

    /// Returns whether a request to a URL carries the cookie (RFC 6265 §5.4).
    func isSent(to url: MediaURL, now: Int64) -> Bool {
        (!isSecure || url.scheme == "https") && (expires == 0 || expires > now) && isAt(url.host) && covers(url.path)
    }

    /// Returns whether a host is the cookie's domain, or a subdomain that receives it (RFC 6265 §5.1.3).
    private func isAt(_ host: String) -> Bool {
        if host == domain { return true }
        // A domain with only one label, such as com, covers too many hosts. An IPv4 address, which ends with a number,
        // covers no other host.
        guard includesSubdomains, domain.contains("."), host.hasSuffix("." + domain),
            let last = host.split(separator: ".").last?.first
        else { return false }
        return !last.isNumber
    }

    /// Returns whether a path is the cookie's path, or is below it (RFC 6265 §5.1.4).
    private func covers(_ path: String) -> Bool {
        let (asked, own) = (Array(path.utf8), Array(self.path.utf8))
        guard asked.starts(with: own) else { return false }
        return asked.count == own.count || own.last == UInt8(ascii: "/") || asked[own.count] == UInt8(ascii: "/")
    }
}
