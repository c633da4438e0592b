import ArgumentParser
import MediaVault
import VaultService

struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Settings of the vault, kept sealed in it: for every command and the service.",
        subcommands: [ConfigGetCommand.self, ConfigSetCommand.self, ConfigUnsetCommand.self])
}

struct ConfigGetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "get", abstract: "Print a setting, or all of them.")

    @Argument(help: ArgumentHelp("The setting.", valueName: "key"))
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

    /// The service needs no key; without one the index is read.
    private func settings() async throws -> SettingsDocument {
        do {
            return try await RemoteVault(ControlClient(folder: try access.place.vault())).settings()
        } catch is ServiceGone {
            return try await access.opener().reading { try await LocalVault($0).settings() }
        }
    }
}

struct ConfigSetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Change a setting, for the running service too.",
        discussion: ConfigKey.manual)

    @Argument(help: ArgumentHelp("The setting.", valueName: "key"))
    var key: ConfigKey

    @Argument(help: ArgumentHelp("What it is to be.", valueName: "value"))
    var values: [String] = []

    @OptionGroup var edit: SettingEdit

    func run() async throws { try await edit.carryOut(key.change(values, host: edit.host)) }
}

struct ConfigUnsetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unset", abstract: "Take a setting back: then it is as in a new vault.")

    @Argument(help: ArgumentHelp("The setting.", valueName: "key"))
    var key: ConfigKey

    @Argument(help: ArgumentHelp("Of settings that are hosts: the hosts meant.", valueName: "value"))
    var values: [String] = []

    @OptionGroup var edit: SettingEdit

    func run() async throws { try await edit.carryOut(key.absence(values, host: edit.host)) }
}

/// What every change of a setting is given beside the setting, and how it is carried out.
struct SettingEdit: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The host that ignore-query is for (default: every host), or one for a list of hosts.", valueName: "host"))
    var host: String?

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    /// Changes the settings, through a running service where there is one.
    func carryOut(_ change: SettingsChange) async throws {
        let finder = try await access.finder(waiting)
        _ = try await Interruption.cancelling("the setting may be as it was") {
            try await finder.act { try await $0.change(change) }
        }
    }
}

/// A setting of the vault, as `config` names it.
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
    case mode

    static let manual = """
        max-size SIZE: the most bytes of sealed media: 200MiB, 2G; 0 is no limit. A size has a unit: 5B is five bytes.
        max-age AGE: how long what was merely played is kept after it was last read: 90d, 12h; 0 is for ever.
        min-free SIZE: the bytes that the vault leaves free on its disk (default: 5 % of it, 10GiB at most); 0 is none.
        evict-downloads yes|no: whether max-size may cost titles that were fetched by name (default: no).
        ignore-query NAME,… [--host HOST]: query items that name nothing: a token, an expiry.
        map-host HOST OTHER: what lies at HOST is named as what lies at OTHER: mirrors of one site.
        allow-host HOST…: private hosts that redirects and playlists may lead to.
        ignore-etag HOST… or --host HOST: hosts whose entity tags say nothing: nodes give the same bytes different ones.
        immutable HOST… or --host HOST: hosts whose content never changes, though they send neither entity tag nor date.
        mode MODE: what is asked of origins, and what is kept: online, prefer-vault, offline, no-store; see mode --help.
        """

    /// What the setting is, a line for each of its values, as it is typed.
    func lines(_ settings: SettingsDocument) -> [String] {
        switch self {
        case .maxSize: [SizeText.text(settings.maxSize)]
        case .maxAge: [AgeArgument.text(settings.maxAge)]
        case .minFree: [settings.minFree.value.map { SizeText.text($0) } ?? "default"]
        case .evictDownloads: [settings.evictDownloads ? "yes" : "no"]
        case .ignoreQuery:
            settings.ignoreQuery.sorted { $0.key < $1.key }.map { host, names in
                names.joined(separator: ",") + (host == SettingsDocument.everyHost ? "" : " --host \(host)")
            }
        case .mapHost: settings.mapHost.sorted { $0.key < $1.key }.map { "\($0) \($1)" }
        case .allowHost: settings.allowHost
        case .ignoreEtag: settings.ignoreEtag
        case .immutable: settings.immutable
        case .mode: settings.mode.value.map { [$0] } ?? []
        }
    }

    /// The change that makes the setting what was typed.
    func change(_ values: [String], host: String?) throws -> SettingsChange {
        try check(host)
        var change = SettingsChange()
        switch self {
        case .maxSize: change.maxSize = SizeText(bytes: try SizeArgument.parse(single(values), rawValue))
        case .maxAge: change.maxAge = try AgeArgument.parse(single(values), rawValue)
        case .minFree: change.minFree = SizeText(bytes: try SizeArgument.parse(single(values), rawValue))
        case .evictDownloads:
            let answer = try single(values)
            guard ["yes", "no"].contains(answer) else { throw UsageError("\(rawValue) is yes or no") }
            change.evictDownloads = answer == "yes"
        case .ignoreQuery:
            guard !values.isEmpty else { throw UsageError("name the query items that ignore-query is about") }
            change.ignoreQuery = [
                host ?? SettingsDocument.everyHost: values.flatMap { $0.split(separator: ",").map(String.init) }
            ]
        case .mapHost:
            guard values.count == 2 else { throw UsageError("map-host is two hosts: the one, and what it is named as") }
            change.mapHost = [values[0]: values[1]]
        case .allowHost: change.allowHost = try hosts(values, host, are: true)
        case .ignoreEtag: change.ignoreEtag = try hosts(values, host, are: true)
        case .immutable: change.immutable = try hosts(values, host, are: true)
        case .mode: change.mode = try NamedMode(single(values)).description
        }
        return change
    }

    /// The change that takes the setting back, or those of its values that are named.
    func absence(_ values: [String], host: String?) throws -> SettingsChange {
        try check(host)
        var change = SettingsChange()
        switch self {
        case .maxSize: change.maxSize = SizeText(bytes: 0)
        case .maxAge: change.maxAge = 0
        case .minFree: change.minFree = .standard
        case .evictDownloads: change.evictDownloads = false
        case .ignoreQuery: change.ignoreQuery = [host ?? SettingsDocument.everyHost: nil as [String]?]
        case .mapHost: change.mapHost = Dictionary(try some(values).map { ($0, nil as String?) }) { $1 }
        case .allowHost: change.allowHost = try hosts(values, host, are: false)
        case .ignoreEtag: change.ignoreEtag = try hosts(values, host, are: false)
        case .immutable: change.immutable = try hosts(values, host, are: false)
        case .mode: change.mode = NamedMode(nil).description
        }
        guard hasValues || values.isEmpty else {
            throw UsageError("\(rawValue) is taken back as a whole; name no value")
        }
        return change
    }

    /// Whether single values of it are taken back.
    private var hasValues: Bool { [.mapHost, .allowHost, .ignoreEtag, .immutable].contains(self) }

    private func check(_ host: String?) throws {
        guard host == nil || [.ignoreQuery, .allowHost, .ignoreEtag, .immutable].contains(self) else {
            throw UsageError("--host goes with ignore-query, allow-host, ignore-etag and immutable alone")
        }
    }

    /// The hosts that are named, as values or by `--host`, each with what is to be so of it.
    private func hosts(_ values: [String], _ host: String?, are isListed: Bool) throws -> [String: Bool] {
        Dictionary(try some(values + (host.map { [$0] } ?? [])).map { ($0, isListed) }) { $1 }
    }

    private func single(_ values: [String]) throws -> String {
        guard values.count == 1 else { throw UsageError("\(rawValue) is one value; see mediavault config set --help") }
        return values[0]
    }

    private func some(_ values: [String]) throws -> [String] {
        guard !values.isEmpty else { throw UsageError("name the host that \(rawValue) is about") }
        return values
    }
}
