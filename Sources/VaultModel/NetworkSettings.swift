/// How a vault reaches origins: its proxies, trusted certificate authorities, addresses and credentials.
///
/// These are sealed settings of the vault. A change applies to every request that begins after it.
public struct NetworkSettings: Hashable, Sendable {
    /// The IP addresses that connections use.
    public enum AddressFamily: String, CaseIterable, Sendable {
        /// IPv4 or IPv6, whichever connects first.
        case any
        /// IPv4 only.
        case ipv4
        /// IPv6 only.
        case ipv6
    }

    /// The proxy for all hosts that ``proxyForHost`` does not list; nil means no proxy.
    public var proxy: ProxyAddress?
    /// The hosts that have their own proxy or are contacted directly.
    public private(set) var proxyForHost: [String: ProxyChoice] = [:]
    /// Whether the process's environment variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` apply to
    /// hosts for which these settings name no proxy.
    public var proxyFromEnvironment = false
    /// The certificate authorities that are trusted in addition to the system's; nil means no others.
    public private(set) var authorities: AuthorityCertificates?
    /// The value of `User-Agent`; nil means the library's own.
    public private(set) var userAgent: String?
    /// The IP addresses that connections use, including connections to proxies.
    public var addressFamily: AddressFamily = .any

    /// The header fields that are added to requests to particular hosts.
    public var headers = HostHeaders()
    /// The cookies, each sent only to the hosts and under the conditions that it specifies; nil means no cookies.
    public var cookies: CookieFile?
    /// The certificates with which the vault identifies itself to origins over TLS.
    public var clientCertificates = ClientCertificates()

    /// The maximum number of hosts with their own proxy rule, and the maximum number of hosts with their own headers.
    public static let maxHosts = 256
    /// The maximum length of the value of `User-Agent`, in bytes.
    public static let maxUserAgentLength = 256

    /// Creates settings that use no proxies and trust only the system's authorities.
    public init() {}

    /// Sets whether requests to a host go through a particular proxy or directly; nil removes the rule.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the host is invalid or has a port, or if more than
    ///   ``maxHosts`` hosts would have a rule.
    public mutating func setProxy(_ choice: ProxyChoice?, for host: String) throws {
        var changed = proxyForHost
        changed[try HostAuthority.host(host)] = choice
        guard changed.count <= Self.maxHosts else {
            throw VaultError(
                .invalidArgument, "at most \(Self.maxHosts) hosts may have a proxy of their own; remove some")
        }
        proxyForHost = changed
    }

    /// Trusts a PEM file's certificate authorities in addition to the system's; nil removes them.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` as ``AuthorityCertificates/init(pem:)`` does.
    public mutating func setAuthorities(pem: String?) throws {
        authorities = try pem.map { try AuthorityCertificates(pem: $0) }
    }

    /// Sets the value of `User-Agent`; nil restores the library's own.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the value is empty, is longer than
    ///   ``maxUserAgentLength``, begins or ends with a space, or contains anything but printable ASCII.
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

/// Certificate authorities' certificates, in PEM form.
public struct AuthorityCertificates: Hashable, Sendable {
    /// The certificates alone. Everything else in the file is dropped, so a private key is never stored.
    package let pem: String
    /// The number of certificates.
    public let count: Int

    /// The maximum size of a PEM file, in bytes.
    public static let maxLength = 64 << 10

    /// Reads the certificates from a PEM file.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the file is too large, has no certificate, or has a
    ///   damaged one.
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
        // The stored form must itself be short enough to be read again.
        guard pem.utf8.count <= Self.maxLength else { throw Self.tooLong }
    }

    private static let tooLong = VaultError(
        .invalidArgument, "the file of certificate authorities is longer than 64 KiB; name only those you need")
}
