/// The rules by which URLs name resources, and the exceptions that apply to particular hosts.
///
/// The rules state which query items do not affect the bytes, and which hosts stand for others. The exceptions list the
/// private hosts that manifests and redirects may lead to, the hosts whose entity tags are ignored, and the hosts whose
/// content never changes.
///
/// A vault has one policy, by which all its users name its resources. Changing the policy changes names. A resource
/// that was stored under an old name remains stored, and is found again when the old policy is restored.
public struct KeyPolicy: Hashable, Sendable {
    /// The names of query items that are not part of a resource's name.
    public struct IgnoredItems: Hashable, Sendable {
        /// The host whose URLs the rule applies to; nil means every host.
        public let host: String?
        /// The names, percent-decoded, in ascending order.
        public let names: [String]
    }

    /// The rules for ignored query items; the rule for every host comes first.
    public private(set) var ignoreQuery: [IgnoredItems] = []
    private var mapped: [HostAuthority: HostAuthority] = [:]
    /// The private hosts that manifests and redirects may lead to.
    public private(set) var allowHost: Set<String> = []
    /// The hosts whose entity tags are ignored because their nodes send different tags for the same bytes.
    public private(set) var ignoreEntityTag: Set<String> = []
    /// The hosts whose content at a URL never changes, although nothing in their responses identifies a version.
    public private(set) var immutable: Set<String> = []

    /// The maximum number of rules of each kind, and the maximum number of names in a rule.
    public static let maxRules = 256
    /// The maximum length of a query item's name, in bytes.
    public static let maxNameLength = 256

    /// Creates a policy without rules, so that each URL names its own resource.
    public init() {}

    // MARK: Rules

    /// The authorities that are mapped to others: with `["cdn2.example": "cdn1.example"]`, resources of the first are
    /// named as resources of the second.
    public var mapHost: [String: String] {
        Dictionary(uniqueKeysWithValues: mapped.map { ("\($0.key)", "\($0.value)") })
    }

    /// Sets the names of the query items to ignore, for every host or for one host; they replace the previous names.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if a name or the host is invalid, or there are too many.
    public mutating func ignore(_ names: some Sequence<String>, on host: String? = nil) throws {
        let host = try host.map { try HostAuthority.host($0) }
        let names = Set(names.map { Array($0.utf8) }).sorted { $0.lexicographicallyPrecedes($1) }
        for name in names {
            guard (1...Self.maxNameLength).contains(name.count), name.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw VaultError(
                    .invalidArgument,
                    "a query item name must have 1 to \(Self.maxNameLength) bytes and no control character; correct it")
            }
        }
        guard names.count <= Self.maxRules else { throw Self.tooMany }
        var rules = ignoreQuery.filter { $0.host != host }
        if !names.isEmpty {
            rules.append(IgnoredItems(host: host, names: names.map { String(decoding: $0, as: UTF8.self) }))
        }
        guard rules.count <= Self.maxRules else { throw Self.tooMany }
        ignoreQuery = rules.sorted { ($0.host ?? "") < ($1.host ?? "") }
    }

    /// Makes the resources of one authority have the names that they would have at another; nil removes the rule.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if an authority is invalid, there are too many rules, or
    ///   the rules would form a cycle.
    public mutating func map(_ authority: String, to other: String?) throws {
        var policy = self
        policy.mapped[try HostAuthority(authority)] = try other.map { try HostAuthority($0) }
        guard policy.mapped.count <= Self.maxRules else { throw Self.tooMany }
        guard !policy.isCircular else {
            throw VaultError(.invalidArgument, "the host mappings would form a cycle; map them in one direction only")
        }
        self = policy
    }

    /// Allows manifests and redirects to lead to a private host, or forbids it again.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the host is invalid or too many are listed.
    public mutating func allow(_ host: String, _ isAllowed: Bool = true) throws {
        try Self.list(host, isAllowed, in: &allowHost)
    }

    /// Sets whether a host's entity tags are ignored.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the host is invalid or too many are listed.
    public mutating func ignoreEntityTag(of host: String, _ isIgnored: Bool = true) throws {
        try Self.list(host, isIgnored, in: &ignoreEntityTag)
    }

    /// Sets whether a host's content is treated as immutable.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the host is invalid or too many are listed.
    public mutating func setImmutable(_ host: String, _ isImmutable: Bool = true) throws {
        try Self.list(host, isImmutable, in: &immutable)
    }

    private static func list(_ host: String, _ isListed: Bool, in hosts: inout Set<String>) throws {
        let host = try HostAuthority.host(host)
        var listed = hosts
        if isListed { listed.insert(host) } else { listed.remove(host) }
        guard listed.count <= maxRules else { throw tooMany }
        hosts = listed
    }

    // MARK: Use

    /// Returns whether manifests and redirects may lead to a host even if it is private.
    public func allows(host: String) -> Bool { allowHost.contains(host.lowercased()) }

    /// Returns whether a host's entity tags are ignored.
    public func ignoresEntityTag(of host: String) -> Bool { ignoreEntityTag.contains(host.lowercased()) }

    /// Returns whether a host's content at a URL never changes.
    public func isImmutable(host: String) -> Bool { immutable.contains(host.lowercased()) }

    /// Returns the URL that names the resource, in canonical form.
    ///
    /// The result has the host that stands for the original host, and lacks the ignored query items. Applying the
    /// function to its own result changes nothing.
    public func name(of url: MediaURL) -> String {
        var named = url
        var hosts: Set = [url.host]
        // The rules contain no cycle, so each rule applies at most once.
        for _ in mapped {
            guard let other = target(of: named) else { break }
            named = other
            hosts.insert(other.host)
        }
        let ignored = Set(
            ignoreQuery.filter { rule in rule.host.map { hosts.contains($0) } ?? true }
                .flatMap { $0.names.map { Array($0.utf8) } })
        return named.replacing(query: named.query.map { Self.without(ignored, $0) }).canonical
    }

    private func target(of url: MediaURL) -> MediaURL? {
        let rules = mapped.filter { $0.key.isAsked(by: url) && !$0.value.isAsked(by: url) }
        // A rule with a port takes precedence over one without.
        guard let rule = rules.first(where: { $0.key.port != nil }) ?? rules.first else { return nil }
        return url.replacing(host: rule.value.host, port: rule.value.port)
    }

    /// Returns the query without the ignored items; the remaining items keep their order and bytes.
    private static func without(_ ignored: Set<[UInt8]>, _ query: String) -> String {
        guard !ignored.isEmpty else { return query }
        return query.split(separator: "&", omittingEmptySubsequences: false)
            .filter { !ignored.contains(PercentEncoding.decoded($0.prefix { $0 != "=" })) }
            .joined(separator: "&")
    }

    private var isCircular: Bool {
        ["http", "https"].contains { scheme in
            mapped.keys.contains { start in
                var url = MediaURL(scheme: scheme, host: start.host, port: start.port, path: "/", query: nil)
                for _ in mapped {
                    guard let next = target(of: url) else { return false }
                    url = next
                }
                return target(of: url) != nil
            }
        }
    }

    private static let tooMany = VaultError(
        .invalidArgument, "there may be at most \(maxRules) rules of a kind; remove some")
}

/// A host with an optional port: `media.example`, `media.example:8080`, `[::1]`.
struct HostAuthority: Hashable, Sendable, CustomStringConvertible {
    let host: String
    /// The port; nil means the default port of the scheme in use.
    let port: Int?

    init(host: String, port: Int?) { (self.host, self.port) = (host, port) }

    /// Parses a host with an optional port.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the text is anything else.
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

    /// Parses a host without a port.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the text has a port or is not a host.
    static func host(_ text: String) throws -> String {
        let authority = try HostAuthority(text)
        guard authority.port == nil else {
            throw VaultError(.invalidArgument, "a rule for a host applies to all its ports; omit the port")
        }
        return authority.host
    }

    var description: String { host + (port.map { ":\($0)" } ?? "") }

    /// Returns whether a URL has this host and this port.
    func isAsked(by url: MediaURL) -> Bool {
        url.host == host && url.effectivePort == (port ?? MediaURL.defaultPort(of: url.scheme))
    }

    private static let malformed = VaultError(
        .invalidArgument,
        "not a host: give only its name or address, such as media.example or 192.0.2.7, without scheme or path")
}
