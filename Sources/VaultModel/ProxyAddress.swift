/// The address of a proxy that forwards requests to origins: its scheme, host, port and credentials.
public struct ProxyAddress: Hashable, Sendable, CustomStringConvertible {
    /// A protocol that a proxy uses.
    public enum Scheme: String, CaseIterable, Sendable {
        /// HTTP without TLS; requests to https origins go through a tunnel.
        case http
        /// HTTP, with TLS between this machine and the proxy.
        case https
        /// SOCKS 5; this machine looks up the origins' host names.
        case socks5
        /// SOCKS 5; the proxy looks up the origins' host names.
        case socks5h
    }

    /// The protocol that the proxy uses.
    public let scheme: Scheme
    /// The host, as ``MediaURL`` spells it.
    public let host: String
    /// The port.
    public let port: Int
    /// The user name; nil if none is sent to the proxy.
    package let user: String?
    /// The password; nil if none is sent to the proxy.
    package let password: String?

    /// The maximum length of an address as text, in bytes.
    public static let maxLength = 2048
    /// The maximum length of a user name or password, in bytes, because SOCKS 5 allows no more.
    public static let maxCredentialLength = 255
    /// The placeholder for a password that is not shown.
    private static let mask = "…"

    /// Parses `scheme://user:password@host:port`; the credentials are optional and percent-encoded.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the text is anything else. The message does not repeat
    ///   the text.
    public init(_ text: String) throws {
        guard text.utf8.count <= Self.maxLength, let colon = text.firstRange(of: "://"),
            let scheme = Scheme(rawValue: text[..<colon.lowerBound].lowercased())
        else { throw Self.malformed }
        var rest = text[colon.upperBound...]
        if rest.hasSuffix("/") { rest.removeLast() }
        var (user, password): (String?, String?) = (nil, nil)
        if let at = rest.lastIndex(of: "@") {
            let words = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            user = try Self.credential(words[0])
            password = words.count > 1 ? try Self.credential(words[1]) : nil
            rest = rest[rest.index(after: at)...]
            // HTTP's Basic credentials end the user name at the first colon, so the name must not contain one.
            guard user != "", user?.contains(":") == false else { throw Self.malformed }
            guard password != Self.mask else {
                throw VaultError(.invalidArgument, "the proxy's password is not shown; give the password itself")
            }
        }
        guard let authority = try? HostAuthority(String(rest)), let port = authority.port else { throw Self.malformed }
        (self.scheme, host, self.port) = (scheme, authority.host, port)
        (self.user, self.password) = (user, password)
        // The stored form must itself be short enough to be read again.
        guard secretText.utf8.count <= Self.maxLength else { throw Self.malformed }
    }

    /// The address without the password: `http://user:…@proxy.example:3128`.
    public var description: String { text(password: password.map { _ in Self.mask }) }

    /// The address with the password, as ``init(_:)`` reads it.
    package var secretText: String { text(password: password.map(Self.encoded)) }

    /// The address without credentials.
    package var location: String { "\(scheme.rawValue)://\(host):\(port)" }

    private func text(password: String?) -> String {
        let credentials = user.map { Self.encoded($0) + (password.map { ":\($0)" } ?? "") + "@" } ?? ""
        return "\(scheme.rawValue)://\(credentials)\(host):\(port)"
    }

    private static func credential(_ text: Substring) throws -> String {
        let bytes = PercentEncoding.decoded(text)
        guard bytes.count <= maxCredentialLength, bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }),
            let decoded = String(validating: bytes, as: UTF8.self)
        else {
            throw VaultError(
                .invalidArgument,
                "the proxy's user and password must be UTF-8 of at most \(maxCredentialLength) bytes each without "
                    + "control characters; correct them")
        }
        return decoded
    }

    /// Escapes every byte that could be mistaken for something other than part of the user name or password.
    private static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            let scalar = UnicodeScalar(byte)
            guard !"-._~".unicodeScalars.contains(scalar), !Character(scalar).isASCIIAlphanumeric else {
                return String(scalar)
            }
            return "%" + String(byte, radix: 16, uppercase: true)
        }.joined()
    }

    private static let malformed = VaultError(
        .invalidArgument,
        "not a proxy: give scheme, host and port, such as http://proxy.example:3128 or "
            + "socks5h://user:password@192.0.2.7:1080; the schemes are http, https, socks5 and socks5h")
}

extension Character {
    fileprivate var isASCIIAlphanumeric: Bool { isASCII && (isLetter || isNumber) }
}

/// The way in which requests to a host are sent.
public enum ProxyChoice: Hashable, Sendable, CustomStringConvertible {
    /// Requests go directly to the host.
    case direct
    /// Requests go to a proxy, which forwards them.
    case proxy(ProxyAddress)

    private static let directWord = "direct"

    /// Parses a proxy's address, or the word `direct`.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the text is neither.
    public init(_ text: String) throws {
        self = text == Self.directWord ? .direct : .proxy(try ProxyAddress(text))
    }

    /// The proxy's address; nil if requests go directly to the host.
    public var proxy: ProxyAddress? {
        if case .proxy(let address) = self { return address }
        return nil
    }

    /// The text that ``init(_:)`` parses, without the password.
    public var description: String { proxy?.description ?? Self.directWord }

    /// The text that ``init(_:)`` parses, with the password.
    package var secretText: String { proxy?.secretText ?? Self.directWord }
}
