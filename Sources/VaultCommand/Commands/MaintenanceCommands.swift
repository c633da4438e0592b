import ArgumentParser
import MediaVault
import VaultService

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check every block of the vault, or of some titles, and report damage.",
        discussion: """
            Works beside a running service, and changes nothing. With --repair, which a running service carries out, \
            it fetches only damaged ranges again, returns intact segments that the index has lost to the index, and \
            moves files that are not segments to quarantine, and takes back from there what opens again. What \
            catalog.backup still opens is restored; titles that no key opens are removed, except for those whose \
            generation was retired. The exit code is 4 if damage remains, or 1 if something \
            could not be read.
            """)

    @Argument(
        help: ArgumentHelp("Ids or URLs of titles to check (default: everything).", valueName: "title"),
        completion: ServiceCompletion.titles)
    var titles: [String] = []

    @Flag(help: "Fetch damaged ranges again, and remove titles that no key opens.")
    var `repair` = false

    @Flag(
        help: ArgumentHelp(
            "With --repair: also remove what only a retired generation opens, as in an older copy of the vault."))
    var forgetRetired = false

    @Option(
        help: ArgumentHelp(
            "Check only a random sample of the segments: above 0, and at most 100 percent.", valueName: "p"))
    var sample: SamplePercent?

    @Option(
        help: ArgumentHelp("Maximum rate of checking: \(ByteRate.forms).", valueName: "rate"))
    var limitRate: ByteRate?

    @OptionGroup var selection: TitleSelection

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func validate() throws {
        try selection.check(beside: titles, naming, isRequired: false)
        guard `repair` || !forgetRetired else { throw ValidationError("--forget-retired needs --repair.") }
    }

    func run() async throws {
        let options = VerifyOptions(
            repairs: `repair`, sample: sample?.percent, bytesPerSecond: limitRate?.bytesPerSecond,
            forgetsRetired: forgetRetired)
        let names = try titles.map { try TitleName($0) }
        let naming = try await naming.naming(of: names, owner.access.unlocking)
        let selection = selection
        let act = try await act(options) { vault in
            // With `--all`, no titles are named, because checking everything includes resources that are not titles.
            guard selection.isPartial else { return try await naming.references(to: names, in: vault) }
            let chosen = try await selection.titles(in: vault).compactMap(\.id).map(TitleName.id)
            return try await naming.references(to: chosen, in: vault)
        }
        let document = try await Interruption.cancelling("completed repairs are kept", act)
        try await output.write(document, orText: VerifyText.text(document))
        guard document.isSound else { throw AlreadyReported(status: document.remaining > 0 ? .integrity : .failed) }
    }

    /// A closure that returns the titles to check.
    private typealias Titles = @Sendable (any VaultClient) async throws -> [MediaReference]

    /// Returns the work to do. A repair must be done by the vault's owner, but a check need not. A service can do
    /// either, and records the result.
    private func act(
        _ options: VerifyOptions, _ titles: @escaping Titles
    ) async throws -> @Sendable () async throws -> VerifyReport {
        let connector = try await owner.connector()
        guard let opener = connector.opener, !options.repairs else {
            return { try await connector.act { try await Self.verify($0, options, titles) } }
        }
        return {
            do {
                return try await opener.reading { try await Self.verify(LocalVault($0), options, titles) }
            } catch let error as VaultError where error.code == .olderKeyring {
                // The owner changed the keys during the check, so the check starts again with the new keys.
                return try await opener.reading { try await Self.verify(LocalVault($0), options, titles) }
            }
        }
    }

    /// Checks a vault while showing the progress.
    private static func verify(
        _ vault: any VaultClient, _ options: VerifyOptions, _ titles: Titles
    ) async throws -> VerifyReport {
        var display = ProgressDisplay("verify")
        let document = try await vault.follow(Operations.Upkeep.verify, VerificationRequest(options, of: titles(vault)))
        { step in
            await display.show(TransferProgress(held: step.bytesOpened, total: step.bytesTotal))
        }
        await display.end()
        return document
    }
}

struct IndexCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index", abstract: "Repair the vault's index.", subcommands: [IndexRebuildCommand.self])
}

struct IndexRebuildCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild",
        abstract: "Rebuild a lost or damaged index.sqlite from catalog.backup and the segments.",
        discussion: """
            Opens every segment, and replaces the index once the new one is complete. The old one is kept as \
            index.sqlite.damaged: delete it once the vault works.
            """)

    @Flag(help: "Rebuild the index even if it is not damaged.")
    var force = false

    @OptionGroup var access: VaultAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        try await access.place.place().requireNoOwner()
        let (opener, isForced) = (try await access.opener(repairs: true), force)
        let report = try await Interruption.cancelling("the index was not changed") {
            let terminal = Terminal.shared
            let report = try await Vault.rebuildIndex(
                opener.place, unlock: opener.unlock, evenIfSound: isForced
            ) { part in
                if terminal.canRedraw { await terminal.redraw("index rebuild  \(Int(part * 100)) %") }
            }
            await terminal.keepLine()
            return report
        }
        try await output.write(report, orText: Self.text(report))
    }

    private static func text(_ report: RebuildReport) -> String {
        var facts: [(name: String, value: String)] = [
            (
                "holds",
                "\(ByteCount.text(report.bytes)) of \(Count.of(report.resources, "title")), in \(Count.of(report.segments, "segment"))"
            ),
            ("bad blocks", String(report.badBlocks)), ("truncated", String(report.cut)),
            ("quarantined", String(report.quarantined)), ("unknown", String(report.unknown)),
        ]
        if report.isFromFormerBackup {
            facts.append(("backup", "catalog.backup.1 was used: neither the index nor catalog.backup can be read"))
        }
        if report.areSettingsLost { facts.append(("settings", "lost and reset to defaults: set them again")) }
        return FactText.text(facts)
    }
}

struct PruneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Evict media that exceeds the limits, once.",
        discussion: """
            Media that was only played goes first, least recently read first; pinned and downloaded titles, and those \
            in use, stay. With --evict-downloads the size limit may evict downloaded titles, too. If no limit is \
            given, the vault's limits apply.
            """)

    @Option(
        help: ArgumentHelp("Maximum size of stored media: \(SizeArgument.forms).", valueName: "size"))
    var maxSize: String?

    @Option(
        help: ArgumentHelp(
            "How long to keep media that was only played, after it was last read: 90d, 12h.", valueName: "age"))
    var maxAge: String?

    @Flag(help: "Let the size limit evict downloaded titles, too.")
    var evictDownloads = false

    @Flag(help: "Only show what would be evicted.")
    var dryRun = false

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let limits = LimitsDocument(
            maxSize: try maxSize.map { SizeText(bytes: try SizeArgument.parse($0, "--max-size")) },
            maxAge: try maxAge.map { try AgeArgument.parse($0, "--max-age") },
            evictDownloads: evictDownloads ? true : nil, dryRun: dryRun ? true : nil)
        let document = try await owner.acting(ifInterrupted: "media evicted so far is gone") {
            try await $0.call(Operations.Upkeep.prune, limits)
        }
        try await output.write(document, orText: text(document))
    }

    private func text(_ document: PruneReport) -> String {
        FactText.text([
            (
                dryRun ? "would free" : "freed",
                "\(ByteCount.text(document.bytes)) (\(Count.of(document.segments, "segment")), "
                    + "\(Count.of(document.resources, "title")) removed)"
            ),
            (dryRun ? "would remain" : "remaining", ByteCount.text(document.used)),
        ])
    }
}
