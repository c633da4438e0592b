import ArgumentParser
import Foundation
import MediaVault
import VaultModel
import VaultService

struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync", abstract: "Follow feeds and lists: fetch what is new, remove what is gone.",
        discussion: """
            sync SOURCE runs once, sync add saves a feed as a subscription, which a running service works through on its \
            schedule, and sync run runs subscriptions now. Only titles that a subscription brought are removed when its \
            list no longer names them; pinned titles, and those that another subscription wants, stay. A feed that \
            cannot be read, or names nothing, changes nothing.
            """,
        subcommands: [
            SyncOnceCommand.self, SyncAddCommand.self, SyncListCommand.self, SyncRunCommand.self,
            SyncRemoveCommand.self,
        ], defaultSubcommand: SyncOnceCommand.self)
}

/// The options that state which titles of a list to fetch, and which to keep.
struct SyncChoices: ParsableArguments {
    @Option(help: ArgumentHelp("Name of the subscription (default: that of the feed).", valueName: "name"))
    var name: String?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("Want only the newest titles, this many.", valueName: "n"))
    var newest: Int64?

    @Flag(help: "Keep titles that the list no longer names.")
    var keep = false

    @Flag(
        name: .customLong("content-ids"),
        help: "Identify titles by the feed's own ids for them, because their URLs change.")
    var contentIDs = false

    @Option(
        help: ArgumentHelp(
            "Video of HLS and DASH titles: best, worst, all, or a maximum height, such as 480.", valueName: "quality"),
        completion: .list(["best", "worst", "all", "2160", "1080", "720", "480"]),
        transform: { try SelectionArgument.parse($0, or: "best, worst, all or a maximum height such as 480") })
    var video = RenditionSelection.Video.best

    @Option(
        help: ArgumentHelp("Languages of the audio, such as en,de; default or all.", valueName: "languages"),
        completion: .list(["default", "all"]),
        transform: { try SelectionArgument.parse($0, or: "default, all or languages such as en,de") })
    var audio = RenditionSelection.Audio.default

    @Option(
        help: ArgumentHelp("Languages of the subtitles, such as en,de; default, none or all.", valueName: "languages"),
        completion: .list(["default", "none", "all"]),
        transform: { try SelectionArgument.parse($0, or: "default, none, all or languages such as en,de") })
    var subtitles = RenditionSelection.Subtitles.default

    @Flag(help: "Also fetch what is not media, such as a web page.")
    var anyType = false

    func validate() throws {
        guard MediaSubscription.Choices.counts.contains(newest ?? 1) else {
            throw ValidationError("--newest must be between 1 and \(MediaSubscription.Choices.counts.upperBound)")
        }
    }

    /// Returns the choices that the options state.
    ///
    /// - Parameter interval: the number of seconds between a service's runs; nil to run only by hand.
    func choices(every interval: Int64?) -> MediaSubscription.Choices {
        var choices = MediaSubscription.Choices()
        (choices.name, choices.newest, choices.interval) = (name, newest, interval)
        (choices.keepsGone, choices.usesContentIDs, choices.takesAnyType) = (keep, contentIDs, anyType)
        (choices.video, choices.audio, choices.subtitles) = (video.rawValue, audio.rawValue, subtitles.rawValue)
        return choices
    }
}

struct SyncOnceCommand: AsyncParsableCommand, TakesArguments {
    static let configuration = CommandConfiguration(
        commandName: "once", abstract: "Fetch what a feed or list names, once.",
        usage: "mediavault sync SOURCE [<options>]",
        discussion: """
            The source is the URL of a feed (RSS, Atom, JSON Feed, or a list in JSON, XSPF or PLS), or a file with one of these, or \
            with a title on each line as fetch --list reads it; - is standard input. What was brought is remembered \
            under the URL, the path of the file, or the --name of standard input. With a running service, new titles go \
            into its download queue.
            """)

    @Argument(help: ArgumentHelp("URL of a feed, or a file; - is standard input.", valueName: "source"))
    var source: String

    @OptionGroup var choices: SyncChoices

    @OptionGroup var owner: OwnerAccess

    @Flag(help: "Show what would be fetched and removed, and change nothing.")
    var dryRun = false

    @OptionGroup var output: JSONOption

    @Flag(name: .shortAndLong, help: "Show nothing but errors.")
    var quiet = false

    func validate() throws {
        guard let likely = LikelyWord.subcommand(like: source, of: SyncCommand.self),
            !FileManager.default.fileExists(atPath: source)
        else { return }
        throw ValidationError("there is no file '\(source)', and no such command of sync; did you mean sync \(likely)?")
    }

    func run() async throws {
        let source = try await SyncSource.read(source, name: choices.name, newest: choices.newest.map { Int($0) })
        let order = SubscriptionOrder(source.source, choices.choices(every: nil))
        let run = SyncRun(isDryRun: dryRun, isQuiet: quiet, isJSON: output.isJSON)
        var outcome = try await owner.acting { vault in
            let list = try await source.file?.entries(in: vault)
            return try await run.run(SyncOrder(order, list: list, isDryRun: run.isDryRun), in: vault)
        }
        // The vault gets the file's entries rather than the file itself, so its report does not include these repairs.
        outcome.document.repairs += source.file?.repairs ?? []
        try await run.report(outcome)
        guard outcome.status == .done else { throw AlreadyReported(status: outcome.status) }
    }
}

struct SyncAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Save a feed as a subscription, or change one.",
        discussion: """
            The feed is read first, and saved only if it names a title. A running service fetches what it names at once, \
            and then every six hours, or as --every says, within the hours of config set download-hours; new titles go \
            into its download queue.
            """)

    @Argument(help: ArgumentHelp("URL of the feed.", valueName: "url"))
    var url: String

    @Option(help: ArgumentHelp("Time between two runs: 30m, 6h or 7d, at least 5m.", valueName: "time"))
    var every = "6h"

    @Flag(help: "Save it without reading it first, such as while the network is absent.")
    var untried = false

    @OptionGroup var choices: SyncChoices

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let interval = try AgeArgument.parse(every, "--every")
        guard MediaSubscription.Choices.intervals.contains(interval) else {
            throw UsageError("--every must be between 5m and 365d")
        }
        guard url.contains("://") else {
            throw UsageError(
                "sync add takes the URL of a feed; for a file, run mediavault sync FILE from cron or a timer")
        }
        let order = SubscriptionOrder(.feed(url), choices.choices(every: interval), isUntried: untried)
        let document = try await owner.acting(ifInterrupted: "it may have been added") { vault in
            (try await vault.call(Operations.Feeds.add, order), vault is RemoteVault)
        }
        let text =
            output.isJSON ? try JSONText.of(document.0) : Terminal.printable("\(document.0.id)  \(document.0.name)")
        try await StandardOutput.shared.write(text + "\n")
        for sentence in SyncText.added(document.0, isUntried: untried) { await Terminal.shared.say(sentence) }
        if !document.1 {
            await Terminal.shared.say("no service is running; the next one will follow it (mediavault serve)")
        }
    }
}

struct SyncListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the subscriptions, when they ran, and what failed.", aliases: ["ls"])

    @OptionGroup var access: VaultAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let document = try await access.asking { try await $0.call(Operations.Feeds.list) }
        if document.damaged > 0 {
            await Terminal.shared.say("\(Count.of(document.damaged, "subscription")) cannot be read")
        }
        if document.subscriptions.isEmpty, !output.isJSON { await Terminal.shared.say("there are no subscriptions") }
        let now = WallClock.now()
        try await output.write(document, orText: SyncText.table(document.subscriptions, now: now))
    }
}

struct SyncRunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run subscriptions now.",
        discussion: """
            Without names all feeds are read that are not gone for good. Each is tried, and the exit code is that of the \
            first failure.
            """)

    @Argument(
        help: ArgumentHelp("Names, ids or URLs, as list prints them (default: all feeds).", valueName: "name"),
        completion: ServiceCompletion.subscriptions)
    var names: [String] = []

    @OptionGroup var owner: OwnerAccess

    @Flag(help: "Show what would be fetched and removed, and change nothing.")
    var dryRun = false

    @Flag(help: "Print a JSON object for each.")
    var json = false

    @Flag(name: .shortAndLong, help: "Show nothing but errors.")
    var quiet = false

    func run() async throws {
        let (names, run) = (names, SyncRun(isDryRun: dryRun, isQuiet: quiet, isJSON: json))
        let status = try await owner.acting { vault in
            var status = ExitStatus.done
            for subscription in try await SubscriptionName.find(names, in: vault) {
                let ended = try await Self.run(subscription, run, in: vault)
                if status == .done { status = ended }
            }
            return status
        }
        guard status == .done else { throw AlreadyReported(status: status) }
    }

    /// Runs a subscription. An error is reported rather than thrown, so that the next subscription can run.
    private static func run(
        _ subscription: SubscriptionDocument, _ run: SyncRun, in vault: any VaultClient
    ) async throws -> ExitStatus {
        do {
            let outcome = try await run.run(SyncOrder(id: subscription.id, isDryRun: run.isDryRun), in: vault)
            try await run.report(outcome)
            return outcome.status
        } catch let error as VaultError where error.code != .closed {
            try Task.checkCancellation()
            await Terminal.shared.say(SyncText.labelled(subscription.name, error.text))
            return ExitStatus(error.code)
        }
    }
}

struct SyncRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove subscriptions; their titles stay.", aliases: ["rm"])

    @Argument(
        help: ArgumentHelp("Names, ids or URLs, as list prints them.", valueName: "name"),
        completion: ServiceCompletion.subscriptions)
    var names: [String] = []

    @Flag(help: "Remove all subscriptions, also those that cannot be read; asks first.")
    var all = false

    @Flag(help: "Do not ask before --all removes all of them.")
    var yes = false

    @Flag(help: "Also remove the titles that only they brought, unless they are pinned.")
    var titles = false

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func validate() throws {
        guard names.isEmpty == all else {
            throw ValidationError(all ? "--all cannot be combined with names" : "no subscription given")
        }
        guard !all || !titles else { throw ValidationError("--all leaves the titles: leave out --titles") }
    }

    func run() async throws {
        let (names, titles, all, isAgreed) = (names, titles, all, yes)
        let (count, removed) = try await owner.acting(ifInterrupted: "list shows what is left") { vault in
            if all {
                let known = try await vault.call(Operations.Feeds.list)
                let count = known.subscriptions.count + known.damaged
                if !isAgreed { try await BulkConsent.ask(to: "remove", Count.of(count, "subscription")) }
                _ = try await vault.call(Operations.Feeds.remove, SubscriptionSelection.everything)
                return (count, 0)
            }
            var removed = 0
            let chosen = try await SubscriptionName.find(names, in: vault)
            for subscription in chosen {
                removed += try await vault.call(
                    Operations.Feeds.remove, SubscriptionSelection(subscription.id, titles: titles)
                ).removed
            }
            return (chosen.count, removed)
        }
        let text = "\(Count.of(count, "subscription")) removed, \(Count.of(removed, "title")) removed"
        try await StandardOutput.shared.write(
            (output.isJSON ? try JSONText.of(["subscriptions": count, "titles": removed]) : text) + "\n")
    }
}

/// The name, id or URL by which an argument identifies a subscription.
enum SubscriptionName {
    /// Returns the subscriptions that arguments name, or, without arguments, all feeds that are not gone permanently.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if any of the names does not exist, so that the caller does
    ///   nothing.
    static func find(_ names: [String], in vault: any VaultClient) async throws -> [SubscriptionDocument] {
        let all = try await vault.call(Operations.Feeds.list).subscriptions
        guard !names.isEmpty else { return all.filter { $0.url != nil && !$0.gone } }
        return try names.map { name in
            // The list shows no queries.
            let url = (try? MediaURL(name))?.description
            let found =
                all.first { $0.id == name } ?? all.first { $0.name == name || ShownURL.of($0.name) == name }
                ?? all.first { $0.list == name || $0.url != nil && $0.url == url }
            guard let found else {
                throw VaultError(
                    .notHeld,
                    "there is no subscription with this name, id or URL; mediavault sync list shows the existing ones")
            }
            return found
        }
    }
}
