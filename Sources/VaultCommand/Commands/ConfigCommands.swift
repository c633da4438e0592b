import ArgumentParser
import MediaVault
import VaultModel
import VaultService

struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Manage the vault's settings, which apply to every command and the service.",
        subcommands: [ConfigGetCommand.self, ConfigSetCommand.self, ConfigUnsetCommand.self])
}

struct ConfigGetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "get", abstract: "Print a setting, or all of them.")

    @Argument(help: ArgumentHelp("Setting.", valueName: "key"))
    var key: ConfigKey?

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON object of all settings.")
    var json = false

    func run() async throws {
        let settings = try await settings()
        let text =
            if json {
                try JSONText.of(settings) + "\n"
            } else if let key {
                key.lines(settings).map { Terminal.printable($0) + "\n" }.joined()
            } else {
                FactText.text(ConfigKey.allCases.flatMap { key in key.lines(settings).map { (key.rawValue, $0) } })
            }
        try await StandardOutput.shared.write(text)
    }

    /// Returns the settings from the service, for which no key is needed. If there is no service, the index is read.
    private func settings() async throws -> SettingsDocument {
        do {
            return try await RemoteVault(ControlClient(folder: try access.place.vault())).call(
                Operations.Upkeep.settings)
        } catch is ServiceGone {
            return try await access.opener().reading { try await LocalVault($0).call(Operations.Upkeep.settings) }
        }
    }
}

struct ConfigSetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Change a setting, including in the running service.",
        discussion: ConfigKey.manual)

    @Argument(help: ArgumentHelp("Setting.", valueName: "key"))
    var key: ConfigKey

    @Argument(help: ArgumentHelp("New value.", valueName: "value"), completion: ConfigKey.values)
    var values: [String] = []

    @OptionGroup var edit: SettingEdit

    func run() async throws { try await edit.carryOut(key.change(values, host: edit.host)) }
}

struct ConfigUnsetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unset", abstract: "Reset a setting to its default.")

    @Argument(help: ArgumentHelp("Setting.", valueName: "key"))
    var key: ConfigKey

    @Argument(
        help: ArgumentHelp(
            "For settings that are lists of hosts: the hosts to remove. For header-for: one host, or the names of its "
                + "headers to remove after it.", valueName: "value"))
    var values: [String] = []

    @OptionGroup var edit: SettingEdit

    func run() async throws { try await edit.carryOut(key.absence(values, host: edit.host)) }
}

/// The options of a command that changes a setting.
struct SettingEdit: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Host that ignore-query or client-certificate applies to (default: every host), or one host for a list "
                + "of hosts.",
            valueName: "host"))
    var host: String?

    @OptionGroup var owner: OwnerAccess

    @Flag(help: "Print a JSON object of all settings afterwards.")
    var json = false

    /// Changes the settings, through the running service if there is one.
    func carryOut(_ change: SettingsChange) async throws {
        let settings = try await owner.acting(ifInterrupted: "the setting may have changed") {
            try await $0.call(Operations.Upkeep.changeSettings, change)
        }
        if json { try await StandardOutput.shared.writeJSON(settings) }
    }
}

/// The name of one of the vault's settings in `config`.
enum ConfigKey: String, CaseIterable, ExpressibleByArgument, Sendable {
    case maxSize = "max-size"
    case maxAge = "max-age"
    case minFree = "min-free"
    case evictDownloads = "evict-downloads"
    case ignoreQuery = "ignore-query"
    case mapHost = "map-host"
    case allowHost = "allow-host"
    case ignoreEtag = "ignore-etag"
    case immutable
    case proxy
    case proxyFor = "proxy-for"
    case proxyFromEnvironment = "proxy-from-environment"
    case caFile = "ca-file"
    case userAgent = "user-agent"
    case addressFamily = "address-family"
    case headerFor = "header-for"
    case cookieFile = "cookie-file"
    case clientCertificate = "client-certificate"
    case parallelDownloads = "parallel-downloads"
    case downloadsPerHost = "downloads-per-host"
    case downloadHours = "download-hours"
    case downloadRate = "download-rate"
    case leastRate = "least-rate"
    case languages
    case notifyCommand = "notify-command"
    case refreshCommand = "refresh-command"
    case mode

    static let manual = """
        max-size SIZE: maximum size of stored media: \(SizeArgument.forms); 0 means no limit. A size has a unit: 5B is \
        five bytes.
        max-age AGE: how long to keep media that was only played, after it was last read: 90d, 12h; 0 means forever.
        min-free SIZE: disk space to leave free (default: 5 % of the disk, at most 10GiB); 0 means none.
        evict-downloads yes|no: whether max-size may evict downloaded titles (default: no).
        ignore-query NAME,… [--host HOST]: query items that do not identify a title, such as a token or an expiry time.
        map-host HOST OTHER: identify titles at HOST as if they were at OTHER: for mirrors of one site.
        allow-host HOST…: private hosts that redirects and playlists may point to.
        ignore-etag HOST… or --host HOST: hosts whose nodes send different entity tags for the same bytes.
        immutable HOST… or --host HOST: hosts whose content never changes, although they send no entity tag or date.
        proxy URL: proxy for all hosts, as http://user:password@proxy.example:3128; also https, socks5 and socks5h. \
        \(SecretValue.form) reads it from standard input, because other users can see a command's arguments.
        proxy-for HOST=URL… or HOST=direct…: hosts with a proxy of their own, or without one.
        proxy-from-environment yes|no: use http_proxy, https_proxy, all_proxy and no_proxy of the process (default: no).
        ca-file FILE: PEM file of certificate authorities to trust in addition to the system's; it is copied.
        user-agent TEXT: name that origins see (default: MediaVault and its version).
        address-family any|ipv4|ipv6: addresses that connections use (default: any).
        header-for HOST 'NAME: VALUE'…: request headers for one host or HOST:PORT, such as Authorization; \
        \(SecretValue.form) reads one from standard input.
        cookie-file FILE: cookies in the Netscape form (cookies.txt) to send to their hosts; it is copied.
        client-certificate FILE [--host HOST]: PEM file of a certificate and its private key, which identify the vault \
        to origins with TLS: to every one that asks, or to one host; it is copied.
        parallel-downloads N: how many downloads of the queue run at a time, 1 to \(DownloadSettings.maxParallel) \
        (default: \(DownloadSettings.usualParallel)).
        downloads-per-host N: how many of them run at a time for one host (default: \(DownloadSettings.usualPerHost)).
        download-hours HH:MM-HH:MM: hours of the day in which the queue runs, in the service's local time \
        (default: always).
        download-rate RATE: maximum rate of all downloads of the queue together: \(ByteRate.forms); 0 means no limit.
        least-rate RATE: rate below which a download of the queue gives its place to one that waits \
        (default: \(SizeText.text(DownloadSettings.usualLeastRate))/s); 0 means that none does.
        languages LANGUAGE,…: audio and subtitles to fetch of an HLS or DASH title if fetch names none, such as de,en \
        (default: what the title starts with).
        notify-command PROGRAM ARGUMENT…: absolute path of a program that the running service tells, as JSON on standard \
        input, of a full disk, a failed download, damage, and a title that max-age is about to remove. It runs without \
        a shell; put -- before PROGRAM if an argument begins with a hyphen.
        refresh-command PROGRAM ARGUMENT…: absolute path of a program that gets the content id of a title whose URL was \
        refused, as JSON on standard input, and prints a new URL, or JSON with url and headers.
        mode MODE: what is fetched and stored: online, prefer-vault, offline or no-store; see mediavault mode --help.
        """

    /// The completion with the values of the setting that the preceding words name.
    static let values = CompletionKind.custom { words, _, _ in
        switch words.lazy.compactMap({ ConfigKey(rawValue: $0) }).first {
        case .evictDownloads, .proxyFromEnvironment: ["yes", "no"]
        case .addressFamily: NetworkSettings.AddressFamily.allCases.map(\.rawValue)
        case .mode: ModeArgument.allValueStrings
        default: []
        }
    }

    /// Returns the setting's values in the form in which the user would type them, one per line.
    func lines(_ settings: SettingsDocument) -> [String] {
        switch self {
        case .maxSize: [SizeText.text(settings.maxSize)]
        case .maxAge: [AgeArgument.text(settings.maxAge)]
        case .minFree: [settings.minFree.map { SizeText.text($0) } ?? "default"]
        case .evictDownloads: [settings.evictDownloads ? "yes" : "no"]
        case .ignoreQuery:
            settings.ignoreQuery.sorted { $0.key < $1.key }.map { host, names in
                names.joined(separator: ",") + Self.option(host)
            }
        case .mapHost: settings.mapHost.sorted { $0.key < $1.key }.map { "\($0) \($1)" }
        case .allowHost: settings.allowHost
        case .ignoreEtag: settings.ignoreEtag
        case .immutable: settings.immutable
        case .proxy: settings.proxy.map { [$0] } ?? []
        case .proxyFor: settings.proxyFor.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }
        case .proxyFromEnvironment: [settings.proxyFromEnvironment ? "yes" : "no"]
        case .caFile: settings.caFile.map { [Self.count($0.certificates, "certificate")] } ?? []
        case .userAgent: settings.userAgent.map { [$0] } ?? []
        case .addressFamily: [settings.addressFamily]
        case .headerFor:
            settings.headerFor.sorted { $0.key < $1.key }.flatMap { host, names in names.map { "\(host) \($0): …" } }
        case .clientCertificate:
            settings.clientCertificate.sorted { $0.key < $1.key }.map { host, document in
                Self.count(document.certificates, "certificate") + Self.option(host)
            }
        case .cookieFile: settings.cookieFile.map { [Self.count($0.cookies, "cookie")] } ?? []
        case .parallelDownloads: ["\(settings.parallelDownloads)"]
        case .downloadsPerHost: ["\(settings.downloadsPerHost)"]
        case .downloadHours: settings.downloadHours.map { [$0] } ?? []
        case .downloadRate: [Self.rate(settings.downloadRate)]
        case .leastRate: [Self.rate(settings.leastRate)]
        case .languages: settings.languages.isEmpty ? [] : [settings.languages.joined(separator: ",")]
        case .notifyCommand: ShellWords.lines(settings.notifyCommand)
        case .refreshCommand: ShellWords.lines(settings.refreshCommand)
        case .mode: [NamedMode(settings.mode).description]
        }
    }

    /// Returns the option that names a rule's host; empty if the rule applies to every host.
    private static func option(_ host: String) -> String {
        host == SettingsDocument.everyHost ? "" : " --host \(host)"
    }

    private static func rate(_ rate: Int64) -> String { rate == 0 ? "0" : SizeText.text(rate) + "/s" }

    private static func count(_ count: Int, _ what: String) -> String { "\(count) \(what)\(count == 1 ? "" : "s")" }

    /// Returns the change that gives the setting the typed values.
    func change(_ values: [String], host: String?) throws -> SettingsChange {
        try check(host)
        var change = SettingsChange()
        switch self {
        case .maxSize: change.maxSize = SizeText(bytes: try SizeArgument.parse(size(values), rawValue))
        case .maxAge: change.maxAge = try AgeArgument.parse(onlyValue(values), rawValue)
        case .minFree: change.minFree = SizeText(bytes: try SizeArgument.parse(size(values), rawValue))
        case .evictDownloads: change.evictDownloads = try yesOrNo(values)
        case .ignoreQuery:
            guard !values.isEmpty else { throw UsageError("ignore-query needs the names of query items") }
            change.ignoreQuery = [
                host ?? SettingsDocument.everyHost: values.separatedAtCommas
            ]
        case .mapHost:
            guard values.count == 2 else { throw UsageError("map-host needs two hosts: HOST and OTHER") }
            change.mapHost = [values[0]: values[1]]
        case .allowHost: change.allowHost = try hosts(values, host, are: true)
        case .ignoreEtag: change.ignoreEtag = try hosts(values, host, are: true)
        case .immutable: change.immutable = try hosts(values, host, are: true)
        case .proxy: change.proxy = try SecretValue.read(onlyValue(values))
        case .proxyFor: change.proxyFor = try proxies(values)
        case .proxyFromEnvironment: change.proxyFromEnvironment = try yesOrNo(values)
        case .caFile: change.caFile = try SecretValue.file(onlyValue(values), atMost: AuthorityCertificates.maxLength)
        case .userAgent:
            let name = try onlyValue(values)
            guard !name.isEmpty else { throw UsageError("user-agent must not be empty; config unset resets it") }
            change.userAgent = name
        case .addressFamily: change.addressFamily = try onlyValue(values)
        case .headerFor: change.headerFor = try headers(values)
        case .clientCertificate:
            let pem = try SecretValue.file(onlyValue(values), atMost: ClientCertificates.maxLength)
            change.clientCertificate = [host ?? SettingsDocument.everyHost: pem]
        case .cookieFile: change.cookieFile = try SecretValue.file(onlyValue(values), atMost: CookieFile.maxLength)
        case .parallelDownloads: change.parallelDownloads = try number(values)
        case .downloadsPerHost: change.downloadsPerHost = try number(values)
        case .downloadHours: change.downloadHours = try HoursArgument.parse(values)
        case .downloadRate: change.downloadRate = try rate(values)
        case .leastRate: change.leastRate = try rate(values)
        case .languages: change.languages = try languages(values)
        case .notifyCommand: change.notifyCommand = try program(values)
        case .refreshCommand: change.refreshCommand = try program(values)
        case .mode: change.mode = try NamedMode(onlyValue(values)).description
        }
        return change
    }

    /// Returns the change that resets the setting, or that removes the given values from it.
    func absence(_ values: [String], host: String?) throws -> SettingsChange {
        try check(host)
        var change = SettingsChange()
        switch self {
        case .maxSize: change.maxSize = SizeText(bytes: 0)
        case .maxAge: change.maxAge = 0
        case .minFree: change.minFree = .standard
        case .evictDownloads: change.evictDownloads = false
        case .ignoreQuery: change.ignoreQuery = [host ?? SettingsDocument.everyHost: nil as [String]?]
        case .mapHost: change.mapHost = Dictionary(try some(values, are: false).map { ($0, nil as String?) }) { $1 }
        case .allowHost: change.allowHost = try hosts(values, host, are: false)
        case .ignoreEtag: change.ignoreEtag = try hosts(values, host, are: false)
        case .immutable: change.immutable = try hosts(values, host, are: false)
        case .proxy: change.proxy = ProxyChoice.direct.description
        case .proxyFor: change.proxyFor = Dictionary(try some(values, are: false).map { ($0, nil as String?) }) { $1 }
        case .proxyFromEnvironment: change.proxyFromEnvironment = false
        case .caFile: change.caFile = ""
        case .cookieFile: change.cookieFile = ""
        case .clientCertificate: change.clientCertificate = [host ?? SettingsDocument.everyHost: nil as String?]
        case .userAgent: change.userAgent = ""
        case .addressFamily: change.addressFamily = NetworkSettings.AddressFamily.any.rawValue
        case .headerFor:
            let (host, names) = (try some(values, are: false)[0], values.dropFirst())
            change.headerFor = [
                host: names.isEmpty ? nil : Dictionary(names.map { ($0, nil as String?) }) { $1 }
            ]
        case .parallelDownloads: change.parallelDownloads = DownloadSettings.usualParallel
        case .downloadsPerHost: change.downloadsPerHost = DownloadSettings.usualPerHost
        case .downloadHours: change.downloadHours = ""
        case .downloadRate: change.downloadRate = 0
        case .leastRate: change.leastRate = DownloadSettings.usualLeastRate
        case .languages: change.languages = []
        case .notifyCommand: change.notifyCommand = []
        case .refreshCommand: change.refreshCommand = []
        case .mode: change.mode = NamedMode(nil).description
        }
        guard hasValues || values.isEmpty else {
            throw UsageError("\(rawValue) can only be reset as a whole; give no value")
        }
        return change
    }

    /// Whether individual values can be removed from the setting.
    private var hasValues: Bool {
        [.mapHost, .allowHost, .ignoreEtag, .immutable, .proxyFor, .headerFor].contains(self)
    }

    private func program(_ words: [String]) throws -> [String] {
        guard !words.isEmpty else { throw UsageError("\(rawValue) needs the path of a program") }
        return try ProgramInvocation(words).words
    }

    private func check(_ host: String?) throws {
        let takers: [ConfigKey] = [.ignoreQuery, .allowHost, .ignoreEtag, .immutable, .clientCertificate]
        guard host == nil || takers.contains(self) else {
            throw UsageError(
                "--host applies only to ignore-query, allow-host, ignore-etag, immutable and client-certificate")
        }
    }

    /// Returns the hosts given as values or by `--host`, each mapped to whether the setting is to list it.
    private func hosts(_ values: [String], _ host: String?, are isListed: Bool) throws -> [String: Bool] {
        Dictionary(try some(values + (host.map { [$0] } ?? []), are: isListed).map { ($0, isListed) }) { $1 }
    }

    /// Returns the text of a size, whose unit may be a separate word, as in `500 MB`.
    private func size(_ values: [String]) throws -> String {
        try onlyValue(values.count == 2 ? [values.joined(separator: " ")] : values)
    }

    private func number(_ values: [String]) throws -> Int {
        guard let number = Int(try onlyValue(values)) else { throw UsageError("\(rawValue) must be a number") }
        return number
    }

    private func rate(_ values: [String]) throws -> Int64 {
        let text = try onlyValue(values.count == 2 ? [values.joined(separator: " ")] : values)
        if text == "0" || NoLimit.isMeant(by: text) { return 0 }
        guard let rate = ByteRate(argument: text) else {
            throw UsageError("\(rawValue) must be a rate: \(ByteRate.forms), or none for no limit")
        }
        return rate.bytesPerSecond
    }

    private func languages(_ values: [String]) throws -> [String] {
        let languages = values.separatedAtCommas
        guard !languages.isEmpty else { throw UsageError("languages needs tags such as de,en") }
        return languages
    }

    private func yesOrNo(_ values: [String]) throws -> Bool {
        let answer = try onlyValue(values)
        guard ["yes", "no"].contains(answer) else { throw UsageError("\(rawValue) must be yes or no") }
        return answer == "yes"
    }

    /// Returns, by host, the proxies given as `HOST=URL` or `HOST=direct`.
    private func proxies(_ values: [String]) throws -> [String: String?] {
        let pairs = try some(values.map { try SecretValue.read($0) }, are: true).map { value in
            let parts = value.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { throw UsageError("\(rawValue) needs HOST=URL or HOST=direct") }
            return (parts[0], parts[1] as String?)
        }
        return Dictionary(pairs) { $1 }
    }

    /// Returns the header fields given as `HOST` and `NAME: VALUE`.
    private func headers(_ values: [String]) throws -> [String: [String: String?]?] {
        guard values.count > 1 else { throw UsageError("header-for needs HOST and 'NAME: VALUE'") }
        let fields = try values.dropFirst().map { value in
            let field = try SecretValue.read(value)
            // The message does not repeat the text, because a field's value may be secret.
            guard let colon = field.firstIndex(of: ":") else {
                throw UsageError("a header for \(values[0]) is not of the form NAME: VALUE")
            }
            return (String(field[..<colon]), String(field[field.index(after: colon)...]) as String?)
        }
        guard Set(fields.map { $0.0.lowercased() }).count == fields.count else {
            throw UsageError("a header for \(values[0]) is given twice; give each name once")
        }
        return [values[0]: Dictionary(fields) { $1 }]
    }

    private func onlyValue(_ values: [String]) throws -> String {
        guard values.count == 1 else {
            throw UsageError("\(rawValue) needs exactly one value; see mediavault config set --help")
        }
        return values[0]
    }

    private func some(_ values: [String], are isListed: Bool) throws -> [String] {
        guard !values.isEmpty else {
            throw UsageError("no host is given; give each host to \(isListed ? "add to" : "remove from") \(rawValue)")
        }
        return values
    }
}
