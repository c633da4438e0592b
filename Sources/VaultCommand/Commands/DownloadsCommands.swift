import ArgumentParser
import Foundation
import MediaVault
import VaultModel
import VaultService

struct DownloadsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "downloads", abstract: "Show the download queue, and change it.",
        discussion: """
            fetch --detach puts titles into the queue, and a running service downloads them, several at a time, until all \
            are held. The queue survives restarts. config set parallel-downloads, downloads-per-host, download-hours, \
            download-rate and least-rate say how many run, when, and how fast.
            """,
        subcommands: [
            DownloadsListCommand.self, DownloadsPauseCommand.self, DownloadsResumeCommand.self,
            DownloadsRetryCommand.self, DownloadsCancelCommand.self, DownloadsFirstCommand.self,
            DownloadsLastCommand.self, DownloadsClearCommand.self,
        ], defaultSubcommand: DownloadsListCommand.self)
}

struct DownloadsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Show the download queue.",
        discussion: """
            At a terminal the downloads are shown live as long as one runs, or with --watch until Ctrl-C. Behind the queue stand \
            downloads that other commands wait for, and those that ended most recently.
            """,
        aliases: ["ls"])

    @Flag(help: "Show the downloads live until Ctrl-C.")
    var watch = false

    @OptionGroup var access: VaultAccess

    @OptionGroup var output: JSONOption

    func validate() throws {
        if watch, output.isJSON { throw ValidationError("--watch and --json cannot be combined") }
    }

    func run() async throws {
        let service = RemoteVault(ControlClient(folder: try access.place.vault()))
        let isLive = !output.isJSON && Terminal.shared.canRedraw && (watch || StandardOutput.shared.isTerminal)
        let document: DownloadsDocument
        do {
            let watch = watch
            if isLive {
                try await Interruption.cancelling("downloads continue in the service") {
                    var monitor = DownloadMonitor(isEndless: watch)
                    try await monitor.follow(service)
                }
            }
            document = try await service.allDownloads()
        } catch is ServiceGone {
            document = try await access.opener().reading { try await LocalVault($0).allDownloads() }
            if document.counts.waiting > 0 {
                await Terminal.shared.say("no service is running, so the queue waits: start one (mediavault serve)")
            }
        }
        if document.downloads.isEmpty, !output.isJSON { await Terminal.shared.say("there are no downloads") }
        let table = DownloadTable(
            terminalWidth: StandardOutput.shared.terminalWidth, opening: try await opening(document.counts, service))
        try await output.write(document, orText: table.text(document))
        if document.counts.damaged > 0 {
            await Terminal.shared.say(
                "\(Count.of(document.counts.damaged, "entry", "entries")) of the queue cannot be opened; "
                    + "downloads cancel --all removes the whole queue with them")
        }
    }
}

extension DownloadsListCommand {
    /// Returns the time of day until which a service's queue is waiting; nil if it is not waiting.
    private func opening(_ counts: DownloadCounts, _ service: RemoteVault) async throws -> String? {
        guard !output.isJSON, counts.waiting > 0,
            let text = try? await service.call(Operations.Upkeep.settings).downloadHours
        else { return nil }
        return try DownloadHours(text).opening(at: .now)
    }
}

extension DownloadHours {
    /// Returns the local time of day at which these hours begin; nil if the given time is within them.
    func opening(at time: Date, in calendar: Calendar = .current) -> String? {
        let parts = calendar.dateComponents([.hour, .minute, .second], from: time)
        let second = ((parts.hour ?? 0) * 60 + (parts.minute ?? 0)) * 60 + (parts.second ?? 0)
        return contains(secondOfDay: second) ? nil : String(description.prefix { $0 != "-" })
    }
}

extension VaultClient {
    /// Returns all pages of the download queue as one document.
    func allDownloads() async throws -> DownloadsDocument {
        var document = try await downloads(after: nil, limit: 1000)
        while let next = document.next {
            document = document.followed(by: try await downloads(after: next, limit: 1000))
        }
        return document
    }
}

struct DownloadsPauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Pause downloads in the queue until they are resumed.",
        discussion: "What has arrived stays in the vault.")

    @OptionGroup var entries: QueueArguments

    func run() async throws { try await entries.carryOut(.pause, "paused") }
}

struct DownloadsResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Resume paused downloads.")

    @OptionGroup var entries: QueueArguments

    func run() async throws { try await entries.carryOut(.resume, "resumed") }
}

struct DownloadsRetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Retry failed downloads now, including those waiting to retry.")

    @OptionGroup var entries: QueueArguments

    func run() async throws { try await entries.carryOut(.retry, "queued again") }
}

struct DownloadsCancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Remove downloads from the queue.",
        discussion: "What has arrived stays in the vault; remove deletes it.", aliases: ["rm"])

    @OptionGroup var entries: QueueArguments

    @Flag(help: "Do not ask before --all cancels the whole queue.")
    var yes = false

    func run() async throws {
        var consent = BulkConsent()
        consent.yes = yes || !entries.all
        try await entries.carryOut(.cancel, "cancelled", consent: consent)
    }
}

struct DownloadsFirstCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "first", abstract: "Move downloads to the front of the queue.",
        discussion: "Downloads in progress are not stopped for them.")

    @OptionGroup var entries: QueueArguments

    func run() async throws { try await entries.carryOut(.first, "moved to the front") }
}

struct DownloadsLastCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "last", abstract: "Move downloads to the end of the queue.")

    @OptionGroup var entries: QueueArguments

    func run() async throws { try await entries.carryOut(.last, "moved to the end") }
}

struct DownloadsClearCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear", abstract: "Remove what failed from the queue, and what is done from its list.",
        discussion: "What has arrived stays in the vault; what runs or waits stays in the queue.")

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let result = try await owner.acting(ifInterrupted: "the queue may have changed") { vault in
            try await vault.call(Operations.Titles.changeDownloads, DownloadChange(.clear, of: .all))
        }
        try await output.write(result, orText: "\(Count.of(result.changed, "download")) cleared\n")
    }
}

/// The arguments of a command that changes entries of the download queue.
struct QueueArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp("Ids or URLs of titles in the queue.", valueName: "title"),
        completion: ServiceCompletion.queue)
    var titles: [String] = []

    @Option(help: ArgumentHelp("All downloads in the queue whose URL starts with this prefix.", valueName: "url"))
    var prefix: String?

    @Flag(help: "All downloads in the queue.")
    var all = false

    @Option(
        name: .customLong("content-id"),
        help: ArgumentHelp("The content id with which the title of the URL was queued.", valueName: "id"))
    var contentID: String?

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func validate() throws {
        guard [all, prefix != nil, !titles.isEmpty].count(where: \.self) == 1 else {
            throw ValidationError("name titles of the queue, or give --prefix, or --all")
        }
        guard contentID == nil || titles.count == 1 && titles.allSatisfy({ TitleID($0) == nil }) else {
            throw ValidationError("--content-id goes with one URL; give one")
        }
        do {
            _ = try prefix.map { try TitleSelection.canonical($0) }
        } catch {
            throw ValidationError("--prefix: \(error)")
        }
    }

    /// Changes the queue, and reports the number of changed entries.
    ///
    /// - Parameters:
    ///   - done: the word for the resulting state of the entries, such as `paused`.
    ///   - consent: the question to ask before the queue is changed; nil to change it without a question.
    func carryOut(_ act: DownloadAct, _ done: String, consent: BulkConsent? = nil) async throws {
        let names = try titles.map { try TitleName($0) }
        let start = try prefix.map { try TitleSelection.canonical($0) }
        let contentID = contentID
        let result = try await owner.acting(ifInterrupted: "the queue may have changed") { vault in
            if let consent, !consent.yes {
                let counts = try await vault.downloads(after: nil, limit: 1).counts
                let count = counts.waiting + counts.running + counts.paused + counts.failed + counts.damaged
                if count > 0 { try await consent.ask(to: act.rawValue, Count.of(count, "download")) }
            }
            let selection: DownloadSelection =
                if let start {
                    .titles(try await Self.ids(beginning: start, in: vault))
                } else {
                    names.isEmpty ? .all : .titles(try await Self.ids(of: names, contentID, in: vault))
                }
            return try await vault.call(
                Operations.Titles.changeDownloads, DownloadChange(act, of: selection))
        }
        try await output.write(result, orText: "\(Count.of(result.changed, "download")) \(done)\n")
    }

    /// Returns the ids of titles. A URL is looked up in the queue.
    private static func ids(
        of names: [TitleName], _ contentID: String?, in vault: any VaultClient
    ) async throws -> [TitleID] {
        var queue: DownloadsDocument?
        var ids: [TitleID] = []
        for name in names {
            switch name {
            case .id(let id): ids.append(id)
            case .url(let url):
                let known = if let queue { queue } else { try await vault.allDownloads() }
                queue = known
                guard
                    let found = known.downloads.first(where: {
                        $0.queued && $0.state != .ended && $0.url == url.absoluteString
                            && (contentID == nil || $0.contentID == contentID)
                    })
                else {
                    throw VaultError(
                        .notHeld, "no download of \(url) is in the queue; what a client fetched by itself, fetch again")
                }
                ids.append(found.id)
            }
        }
        return ids
    }

    /// Returns the ids of the titles in the queue whose URL begins with a prefix.
    private static func ids(beginning prefix: String, in vault: any VaultClient) async throws -> [TitleID] {
        let ids = try await vault.allDownloads().downloads.filter {
            $0.queued && ![.done, .ended].contains($0.state)
                && (try? MediaURL($0.url))?.canonical.hasPrefix(prefix) == true
        }.map(\.id)
        guard !ids.isEmpty else {
            throw VaultError(.notHeld, "no download in the queue has a URL that begins with that prefix; give another")
        }
        return ids
    }
}
