/// How a vault reaches origins: its proxies, trusted authorities, addresses and credentials.
///
/// These are sealed settings of the vault. They apply to each request that begins after they were changed.
public struct NetworkSettings: Hashable, Sendable {
    /// The IP addresses that connections use.
    public enum AddressFamily: String, CaseIterable, Sendable {
        /// Whichever answers first.
        case any
        /// IPv4 only.
        case ipv4
        /// IPv6 only.
        case ipv6
    }

    /// The proxy for all hosts that ``proxyForHost`` does not list; nil means none.
    public var proxy: ProxyAddress?
    /// Hosts with a proxy of their own, and hosts that are contacted directly.
    public private(set) var proxyForHost: [String: ProxyChoice] = [:]
    /// Whether the variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` of the process apply to hosts for
    /// which these settings name no proxy.
    public var proxyFromEnvironment = false
    /// The certificate authorities that are trusted in addition to the system's; nil means none.
    public private(set) var authorities: AuthorityCertificates?
    /// The value of `User-Agent`; nil means the library's.
    public private(set) var userAgent: String?
    /// The IP addresses that connections use, those to proxies included.
    public var addressFamily: AddressFamily = .any

    /// The header fields that are added to requests to single hosts.
    public var headers = HostHeaders()
    /// The cookies, each sent only to its own hosts and by its own rules; nil means none.
    public var cookies: CookieFile?
    /// The certificates that identify the vault to origins with TLS.
    public var clientCertificates = ClientCertificates()

    /// Maximum hosts with a proxy of their own, and maximum hosts with headers of their own.
    public static let maxHosts = 256
    /// Maximum length of the value of `User-Agent`, in bytes.
    public static let maxUserAgentLength = 256

    /// Creates settings without proxies that trust only the system's authorities.
    public init() {}

    /// Sends the requests to a host through a proxy of its own, or directly; nil removes the rule.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    public mutating func setProxy(_ choice: ProxyChoice?, for host: String) throws {
        var changed = proxyForHost
        changed[try HostAuthority.host(host)] = choice
        guard changed.count <= Self.maxHosts else {
            throw VaultError(
                .invalidArgument, "at most \(Self.maxHosts) hosts may have a proxy of their own; remove some")
        }
        proxyForHost = changed
    }

    /// Trusts the certificate authorities of a PEM file in addition to the system's; nil removes them.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    public mutating func setAuthorities(pem: String?) throws {
        authorities = try pem.map { try AuthorityCertificates(pem: $0) }
    }

    /// Sets the value of `User-Agent`; nil means the library's.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    public mutating func setUserAgent(_ name: String?) throws {
        if let name {
            let bytes = Array(name.utf8)
            guard (1...Self.maxUserAgentLength).contains(bytes.count), bytes.allSatisfy({ 0x20...0x7E ~= $0 }),
                bytes.first != 0x20, bytes.last != 0x20
            else {
                throw VaultError(
                    .invalidArgument,
                    "user-agent must have 1 to \(Self.maxUserAgentLength) printable ASCII characters, without a space "
                        + "at either end; correct it")
            }
        }
        userAgent = name
    }
}

/// The certificates of certificate authorities, as PEM.
public struct AuthorityCertificates: Hashable, Sendable {
    /// Only the certificates: everything else in the file is dropped, so a private key is never stored.
    package let pem: String
    /// The number of certificates.
    public let count: Int

    /// Maximum size of a PEM file, in bytes.
    public static let maxLength = 64 << 10

    /// Reads the certificates of a PEM file.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if it is too large, has no certificate, or has a damaged
    ///   one.
    public init(pem text: String) throws {
        guard text.utf8.count <= Self.maxLength else { throw Self.tooLong }
        guard let certificates = PEM.blocks(["CERTIFICATE"], of: text) else {
            throw VaultError(.invalidArgument, "a certificate in the file is damaged; export it again as PEM")
        }
        guard !certificates.isEmpty else {
            throw VaultError(
                .invalidArgument,
                "the file has no certificate; give a PEM file, with lines from BEGIN CERTIFICATE to END CERTIFICATE")
        }
        (pem, count) = (certificates.map(\.text).joined(), certificates.count)
        // The stored form must be readable again.
        guard pem.utf8.count <= Self.maxLength else { throw Self.tooLong }
    }

    private static let tooLong = VaultError(
        .invalidArgument, "the file of certificate authorities is longer than 64 KiB; name only those you need")
}
