/// What of a URL names a resource: which query items say nothing about the bytes, which hosts are one; which hosts may be
/// led to though they are private; and whose word on versions counts otherwise than HTTP has it.
///
/// A vault has one, and all who use the vault name its resources by it. A change of it changes names: what was stored
/// under another name stays, and is found again when the policy is what it was.
public struct KeyPolicy: Hashable, Sendable {
    /// Names of query items that are left out.
    public struct IgnoredItems: Hashable, Sendable {
        /// The host whose URLs are meant; nil is every host.
        public let host: String?
        /// The names, percent-decoded, in ascending order.
        public let names: [String]
    }

    /// Which query items are left out, the rule for every host first.
    public private(set) var ignoreQuery: [IgnoredItems] = []
    private var mapped: [HostAuthority: HostAuthority] = [:]
    /// Private hosts that manifests and redirects may lead to.
    public private(set) var allowHost: Set<String> = []
    /// Hosts whose entity tags say nothing: their nodes give the same bytes different ones.
    public private(set) var ignoreEntityTag: Set<String> = []
    /// Hosts whose content never changes under one URL, though nothing they say tells one version from another.
    public private(set) var immutable: Set<String> = []

    /// The most rules of a kind, and names in a rule.
    public static let mostRules = 256
    /// The longest name of a query item, in bytes.
    public static let longestName = 256

    /// Everything counts: each URL names a resource of its own.
    public init() {}

    // MARK: Rules

    /// Which authority stands for which: `cdn2.example` is named as `cdn1.example`.
    public var mapHost: [String: String] {
        Dictionary(uniqueKeysWithValues: mapped.map { ("\($0.key)", "\($0.value)") })
    }

    /// Leaves query items of these names out, for every host or for one, in place of those left out so far.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    public mutating func ignore(_ names: some Sequence<String>, on host: String? = nil) throws {
        let host = try host.map { try HostAuthority.host($0) }
        let names = Set(names.map { Array($0.utf8) }).sorted { $0.lexicographicallyPrecedes($1) }
        for name in names {
            guard (1...Self.longestName).contains(name.count), name.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw VaultError(
                    .invalidArgument,
                    "the name of a query item has 1 to \(Self.longestName) bytes and no control character; correct it")
            }
        }
        guard names.count <= Self.mostRules else { throw Self.tooMany }
        var rules = ignoreQuery.filter { $0.host != host }
        if !names.isEmpty {
            rules.append(IgnoredItems(host: host, names: names.map { String(decoding: $0, as: UTF8.self) }))
        }
        guard rules.count <= Self.mostRules else { throw Self.tooMany }
        ignoreQuery = rules.sorted { ($0.host ?? "") < ($1.host ?? "") }
    }

    /// Names what an authority has as what another has; with nil no longer.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`, also where authorities would stand for each other.
    public mutating func map(_ authority: String, to other: String?) throws {
        var policy = self
        policy.mapped[try HostAuthority(authority)] = try other.map { try HostAuthority($0) }
        guard policy.mapped.count <= Self.mostRules else { throw Self.tooMany }
        guard !policy.isCircular else {
            throw VaultError(.invalidArgument, "the hosts would stand for each other in a circle; map them one way")
        }
        self = policy
    }

    /// Lets manifests and redirects lead to a host though it is private, or no longer.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    public mutating func allow(_ host: String, _ isAllowed: Bool = true) throws {
        try Self.list(host, isAllowed, in: &allowHost)
    }

    /// Has the entity tags of a host say nothing, or something again.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    public mutating func ignoreEntityTag(of host: String, _ isIgnored: Bool = true) throws {
        try Self.list(host, isIgnored, in: &ignoreEntityTag)
    }

    /// Takes what a host has for unchanging, or no longer.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    public mutating func takeAsImmutable(_ host: String, _ isImmutable: Bool = true) throws {
        try Self.list(host, isImmutable, in: &immutable)
    }

    private static func list(_ host: String, _ isListed: Bool, in hosts: inout Set<String>) throws {
        let host = try HostAuthority.host(host)
        var listed = hosts
        if isListed { listed.insert(host) } else { listed.remove(host) }
        guard listed.count <= mostRules else { throw tooMany }
        hosts = listed
    }

    // MARK: Use

    /// Whether manifests and redirects may lead to a host though it is private.
    public func allows(host: String) -> Bool { allowHost.contains(host.lowercased()) }

    /// Whether the entity tags of a host say nothing.
    public func ignoresEntityTag(of host: String) -> Bool { ignoreEntityTag.contains(host.lowercased()) }

    /// Whether what a host has never changes under one URL.
    public func isImmutable(host: String) -> Bool { immutable.contains(host.lowercased()) }

    /// The URL that names the resource: canonical, at the host that stands for its own, without the query items that are
    /// left out. It names itself.
    public func name(of url: MediaURL) -> String {
        var named = url
        var hosts: Set = [url.host]
        // There is no circle, so that each rule is needed once at most.
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
        // Of a rule that names the port and one that does not, the first counts.
        guard let rule = rules.first(where: { $0.key.port != nil }) ?? rules.first else { return nil }
        return url.replacing(host: rule.value.host, port: rule.value.port)
    }

    /// The items in their order and bytes, but for those of these names.
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
        .invalidArgument, "more than \(mostRules) rules of a kind are not kept; take some out")
}

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
