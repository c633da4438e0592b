/// A host, and a port where one was named: `media.example`, `media.example:8080`, `[::1]`.
struct HostAuthority: Hashable, Sendable, CustomStringConvertible {
    let host: String
    /// Nil is the port of whatever scheme is used.
    let port: Int?

    /// - Throws: ``VaultError`` with code `invalidArgument` where the text is anything else.
    init(_ text: String) throws {
        var name = text[...]
        var port: Int?
        let bracket = text.lastIndex(of: "]")
        if let colon = text.lastIndex(of: ":"), bracket.map({ $0 < colon }) ?? true {
            guard let number = DecimalNumber.exact(text[text.index(after: colon)...]), (1...65535).contains(number)
            else { throw Self.malformed }
            port = Int(number)
            name = text[..<colon]
        }
        guard !name.utf8.contains(where: { "/?#@".utf8.contains($0) }), let url = try? MediaURL("http://\(name)/")
        else { throw Self.malformed }
        host = url.host
        self.port = port
    }

    /// The host of a text that names no port.
    static func host(_ text: String) throws -> String {
        let authority = try HostAuthority(text)
        guard authority.port == nil else {
            throw VaultError(.invalidArgument, "a rule for a host is for all its ports; leave the port out")
        }
        return authority.host
    }

    var description: String { host + (port.map { ":\($0)" } ?? "") }

    /// Whether a URL asks this host at this port.
    func isAsked(by url: MediaURL) -> Bool {
        url.host == host && url.effectivePort == (port ?? MediaURL.defaultPort(of: url.scheme))
    }

    private static let malformed = VaultError(
        .invalidArgument,
        "that is no host: write its name or address alone, such as media.example or 192.0.2.7, without scheme and path")
}
