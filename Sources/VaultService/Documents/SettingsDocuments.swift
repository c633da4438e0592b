package import MediaVault
import VaultModel

/// The settings of a vault, as `/api/v1/settings` and `config get --json` report them.
package struct SettingsDocument: Codable, Hashable, Sendable {
    /// The maximum size in bytes; 0 means no limit.
    package let maxSize: Int64
    /// The maximum age in seconds; 0 means no limit.
    package let maxAge: Int64
    /// The minimum free space in bytes. 0 means no limit, and null means the default: a fraction of the disk, up to a
    /// maximum.
    @OrNull package var minFree: Int64?
    /// Whether the size limit may evict titles that were downloaded explicitly.
    package let evictDownloads: Bool
    /// By host, the names of query items that do not count towards a resource's identity. The names under ``everyHost``
    /// apply to all hosts.
    package let ignoreQuery: [String: [String]]
    /// By host, the other host from which its resources are treated as coming.
    package let mapHost: [String: String]
    /// The private hosts that manifests and redirects may lead to, in ascending order.
    package let allowHost: [String]
    /// The hosts whose entity tags are ignored, in ascending order.
    package let ignoreEtag: [String]
    /// The hosts whose content never changes, in ascending order.
    package let immutable: [String]
    /// The proxy without its password; null if none is set.
    @OrNull package var proxy: String?
    /// By host, its own proxy without the password, or `direct`.
    package let proxyFor: [String: String]
    /// Whether the service's environment may name proxies.
    package let proxyFromEnvironment: Bool
    /// The certificate authorities trusted in addition to the system's; null if there are none.
    @OrNull package var caFile: CertificatesDocument?
    /// The value of `User-Agent`; null for the default.
    @OrNull package var userAgent: String?
    /// Which IP addresses connections use.
    package let addressFamily: String
    /// By host, the names of the request header fields that are sent only to it.
    package let headerFor: [String: [String]]
    /// The cookies to send to their hosts; null if there are none.
    @OrNull package var cookieFile: CookiesDocument?
    /// By host, its client certificate. The certificate under ``everyHost`` is for hosts without their own.
    package let clientCertificate: [String: CertificatesDocument]
    /// The maximum number of queued downloads that run at a time.
    package let parallelDownloads: Int
    /// The maximum number of queued downloads that run at a time for one host.
    package let downloadsPerHost: Int
    /// The hours of the day, in local time, in which the queue runs; null for always.
    @OrNull package var downloadHours: String?
    /// The rate limit of the whole queue in bytes per second; 0 means no limit.
    package let downloadRate: Int64
    /// The rate in bytes per second below which a download yields its place to a waiting one; 0 means that no download
    /// yields its place.
    package let leastRate: Int64
    /// The languages of audio and subtitles to fetch if a download names none; none means what a title starts with.
    package let languages: [String]
    /// The program that notifies the operator, with its arguments; null if there is none, or if the client is on the
    /// network.
    @OrNull package var notifyCommand: [String]?
    /// The program that finds new URLs, with its arguments; null in the same cases as ``notifyCommand``.
    @OrNull package var refreshCommand: [String]?
    /// The configured mode; null if none is set.
    @OrNull package var mode: VaultMode?

    /// The key that stands for all hosts in ``ignoreQuery`` and ``clientCertificate``.
    package static let everyHost = "*"

    package init(
        _ limits: StorageLimits, _ policy: KeyPolicy, _ network: NetworkSettings, _ downloads: DownloadSettings,
        _ programs: ProgramSettings, _ mode: VaultMode?
    ) {
        maxSize = limits.maxSize ?? 0
        maxAge = limits.maxAge ?? 0
        minFree = limits.minFree
        evictDownloads = limits.evictsDownloads ?? false
        ignoreQuery = Dictionary(
            policy.ignoreQuery.map { ($0.host ?? Self.everyHost, $0.names) }, uniquingKeysWith: +)
        mapHost = policy.mapHost
        allowHost = policy.allowHost.sorted()
        ignoreEtag = policy.ignoreEntityTag.sorted()
        immutable = policy.immutable.sorted()
        proxy = network.proxy?.description
        proxyFor = network.proxyForHost.mapValues(\.description)
        proxyFromEnvironment = network.proxyFromEnvironment
        caFile = network.authorities.map { CertificatesDocument(certificates: $0.count) }
        userAgent = network.userAgent
        addressFamily = network.addressFamily.rawValue
        headerFor = network.headers.names
        cookieFile = network.cookies.map { CookiesDocument(cookies: $0.count) }
        clientCertificate = Dictionary(
            uniqueKeysWithValues: network.clientCertificates.all.map {
                ($0.host ?? Self.everyHost, CertificatesDocument(certificates: $0.certificate.count))
            })
        parallelDownloads = downloads.parallel
        downloadsPerHost = downloads.perHost
        downloadHours = downloads.hours?.description
        downloadRate = downloads.bytesPerSecond ?? 0
        leastRate = downloads.leastRate
        languages = downloads.languages
        notifyCommand = programs.notify?.words
        refreshCommand = programs.refresh?.words
        self.mode = mode
    }

    /// The settings for a client on the network. They omit the programs, because a program's arguments may be secrets.
    var withoutPrograms: SettingsDocument {
        var settings = self
        (settings.notifyCommand, settings.refreshCommand) = (nil, nil)
        return settings
    }
}

/// The certificates of a setting.
package struct CertificatesDocument: Codable, Hashable, Sendable {
    /// The number of certificates.
    package let certificates: Int
}

/// The cookies in the settings.
package struct CookiesDocument: Codable, Hashable, Sendable {
    /// The number of cookies.
    package let cookies: Int
}

/// A change to a vault's settings, the body of `PATCH /api/v1/settings`.
///
/// Omitted members stay unchanged, and `null` removes a rule.
package struct SettingsChange: Codable, Hashable, Sendable {
    package var maxSize: SizeText?
    package var maxAge: Int64?
    package var minFree: SizeText?
    /// Whether the size limit may evict titles that were downloaded explicitly.
    package var evictDownloads: Bool?
    /// By host, the names of query items that replace the current ones.
    package var ignoreQuery: [String: [String]?]?
    /// By host, the other host from which its resources are treated as coming.
    package var mapHost: [String: String?]?
    /// By host, whether manifests and redirects may lead to it.
    package var allowHost: [String: Bool]?
    /// By host, whether its entity tags are ignored.
    package var ignoreEtag: [String: Bool]?
    /// By host, whether its content never changes.
    package var immutable: [String: Bool]?
    /// The proxy for all hosts, or `direct` for none.
    package var proxy: String?
    /// By host, its own proxy, or `direct` for none.
    package var proxyFor: [String: String?]?
    /// Whether the service's environment may name proxies.
    package var proxyFromEnvironment: Bool?
    /// The PEM text of certificate authorities to trust in addition to the system's; empty for none.
    package var caFile: String?
    /// The value of `User-Agent`; empty for the default.
    package var userAgent: String?
    /// Which IP addresses connections use: `any`, `ipv4` or `ipv6`.
    package var addressFamily: String?
    /// By host, the request header fields to send to it, as a value for each name.
    package var headerFor: [String: [String: String?]?]?
    /// The content of a cookie file in the Netscape format; empty for none.
    package var cookieFile: String?
    /// By host, the PEM text of its client certificate and private key.
    package var clientCertificate: [String: String?]?
    /// The maximum number of queued downloads that run at a time.
    package var parallelDownloads: Int?
    /// The maximum number of queued downloads that run at a time for one host.
    package var downloadsPerHost: Int?
    /// The hours of the day in which the queue runs, such as `01:00-06:00`; empty for always.
    package var downloadHours: String?
    /// The rate limit of the whole queue in bytes per second; 0 for no limit.
    package var downloadRate: Int64?
    /// The rate in bytes per second below which a download yields its place to a waiting one; 0 means that no download
    /// yields its place.
    package var leastRate: Int64?
    /// The languages of audio and subtitles to fetch if a download names none; empty for what a title starts with.
    package var languages: [String]?
    /// The program that notifies the operator, with its arguments; empty for none. It can be set only through the
    /// control socket.
    package var notifyCommand: [String]?
    /// The program that finds new URLs, with its arguments; empty for none. It can be set only through the control
    /// socket.
    package var refreshCommand: [String]?
    /// The name of the vault's mode, or `default` to configure none.
    package var mode: String?

    package init() {}

    var limits: LimitsDocument {
        LimitsDocument(maxSize: maxSize, maxAge: maxAge, minFree: minFree, evictDownloads: evictDownloads)
    }

    /// Whether the change affects the key policy.
    var changesPolicy: Bool {
        ignoreQuery != nil || mapHost != nil || allowHost != nil || ignoreEtag != nil || immutable != nil
    }

    /// Whether the change affects how the vault reaches origins.
    var changesNetwork: Bool {
        proxy != nil || proxyFor != nil || proxyFromEnvironment != nil || caFile != nil || userAgent != nil
            || addressFamily != nil || headerFor != nil || cookieFile != nil
            || clientCertificate != nil
    }

    /// Whether the change affects the download queue.
    var changesDownloads: Bool {
        parallelDownloads != nil || downloadsPerHost != nil || downloadHours != nil || downloadRate != nil
            || leastRate != nil || languages != nil
    }

    /// Whether the change names programs to run.
    var changesPrograms: Bool { notifyCommand != nil || refreshCommand != nil }

    /// Applies the change to the programs to run.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    func apply(to programs: inout ProgramSettings) throws {
        if let notifyCommand { programs.notify = notifyCommand.isEmpty ? nil : try ProgramInvocation(notifyCommand) }
        if let refreshCommand {
            programs.refresh = refreshCommand.isEmpty ? nil : try ProgramInvocation(refreshCommand)
        }
    }

    /// Applies the change to the settings of the download queue.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    func apply(to downloads: inout DownloadSettings) throws {
        if let parallelDownloads { try downloads.setParallel(parallelDownloads) }
        if let downloadsPerHost { try downloads.setPerHost(downloadsPerHost) }
        if let downloadHours { downloads.hours = downloadHours.isEmpty ? nil : try DownloadHours(downloadHours) }
        if let downloadRate { try downloads.setRate(downloadRate) }
        if let leastRate { try downloads.setLeastRate(leastRate) }
        if let languages { try downloads.setLanguages(languages) }
    }

    /// Returns the network settings with the change applied.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    func applied(to network: NetworkSettings) throws -> NetworkSettings {
        var network = network
        if let proxy { network.proxy = try ProxyChoice(proxy).proxy }
        for (host, choice) in proxyFor ?? [:] {
            try network.setProxy(try choice.map { try ProxyChoice($0) }, for: host)
        }
        network.proxyFromEnvironment = proxyFromEnvironment ?? network.proxyFromEnvironment
        if let caFile { try network.setAuthorities(pem: caFile.isEmpty ? nil : caFile) }
        if let userAgent { try network.setUserAgent(userAgent.isEmpty ? nil : userAgent) }
        if let addressFamily {
            guard let family = NetworkSettings.AddressFamily(rawValue: addressFamily) else {
                let names = NetworkSettings.AddressFamily.allCases.map(\.rawValue).joined(separator: ", ")
                throw VaultError(.invalidArgument, "unknown address family; use one of \(names)")
            }
            network.addressFamily = family
        }
        for (host, fields) in headerFor ?? [:] {
            guard let fields else {
                try network.headers.removeAll(for: host)
                continue
            }
            guard Set(fields.keys.map { $0.lowercased() }).count == fields.count else {
                throw VaultError(.invalidArgument, "a header for \(host) is given twice; give each name once")
            }
            for (name, value) in fields { try network.headers.set(name, to: value, for: host) }
        }
        if let cookieFile { network.cookies = cookieFile.isEmpty ? nil : try CookieFile(cookieFile) }
        for (host, pem) in clientCertificate ?? [:] {
            try network.clientCertificates.set(pem: pem, for: host == SettingsDocument.everyHost ? nil : host)
        }
        return network
    }

    /// Returns the policy with the change applied.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    func applied(to policy: KeyPolicy) throws -> KeyPolicy {
        var policy = policy
        for (host, names) in ignoreQuery ?? [:] {
            try policy.ignore(names ?? [], on: host == SettingsDocument.everyHost ? nil : host)
        }
        // Rules are removed first, because a rule that is to be removed could conflict with a new one.
        for (host, other) in mapHost ?? [:] where other == nil { try policy.map(host, to: nil) }
        for case (let host, let other?) in mapHost ?? [:] { try policy.map(host, to: other) }
        for (host, isAllowed) in allowHost ?? [:] { try policy.allow(host, isAllowed) }
        for (host, isIgnored) in ignoreEtag ?? [:] { try policy.ignoreEntityTag(of: host, isIgnored) }
        for (host, isImmutable) in immutable ?? [:] { try policy.setImmutable(host, isImmutable) }
        return policy
    }
}

/// The body of `POST /api/v1/modes`, which sets the mode of one resource.
package typealias ModeRequest = ResourceRequest<ModeDetails>

/// The new mode of a resource.
package struct ModeDetails: Codable, Sendable {
    /// The name of the mode, as ``NamedMode`` spells it.
    let mode: String

    package init(_ mode: VaultMode?) { self.mode = NamedMode(mode).description }
}

/// A mode, identified by its name. The name `default` means that no mode is set.
package struct NamedMode: Hashable, Sendable, CustomStringConvertible {
    /// The mode; nil for `default`.
    package let mode: VaultMode?

    private static let none = "default"

    /// All names, separated by commas.
    package static let names = (VaultMode.allCases.map(\.rawValue) + [none]).joined(separator: ", ")

    /// - Throws: ``VaultError`` with code `invalidArgument`.
    package init(_ name: String) throws {
        mode = VaultMode(rawValue: name)
        guard mode != nil || name == Self.none else {
            throw VaultError(.invalidArgument, "unknown mode; use one of \(Self.names)")
        }
    }

    package init(_ mode: VaultMode?) { self.mode = mode }

    package var description: String { mode?.rawValue ?? Self.none }
}

/// A size with a unit, in a request or on the command line: `5G`, `200 MiB`, `1.5GB`, `5B`.
///
/// A bare number is refused because its unit is unclear. Only 0 is accepted, since it is the same in every unit.
package struct SizeText: Codable, Hashable, Sendable {
    /// The size in bytes; nil for the default of a new vault.
    package let bytes: Int64?

    package init(bytes: Int64) { self.bytes = bytes }

    /// The default of a new vault.
    package static let standard = SizeText(nil)

    private init(_ bytes: Int64?) { self.bytes = bytes }

    private static let standardWord = "default"

    /// Returns the number of bytes that a text denotes; nil if the text is not a size with a unit.
    package static func bytes(of text: some StringProtocol) -> Int64? {
        Quantity.size(text)
    }

    /// Returns the text of a size in the largest unit that divides it.
    package static func text(_ bytes: Int64) -> String {
        bytes == 0 ? "0" : Quantity.text(bytes, in: Quantity.sizes)
    }

    /// Returns the error message for a text that is not a size.
    package static func advice(for name: String) -> String {
        "\(name) must be a size with a unit, such as 500M, 500 MB, 1.5GiB, or 5B for bytes"
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            if text == Self.standardWord {
                self = .standard
                return
            }
            if let bytes = Self.bytes(of: text) {
                self.init(bytes: bytes)
                return
            }
        } else if (try? container.decode(Int64.self)) == 0 {
            self.init(bytes: 0)
            return
        }
        // The message does not repeat the input, because a client may send anything.
        throw VaultError(
            .invalidArgument,
            Self.advice(for: decoder.codingPath.last?.stringValue ?? "it") + "; a bare number other than 0 is refused")
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(bytes.map { "\($0)B" } ?? Self.standardWord)
    }
}
