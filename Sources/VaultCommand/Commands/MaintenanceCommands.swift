import ArgumentParser
import MediaVault
import VaultService

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Open every block of the vault, and tell what does not open.",
        discussion: """
            Works beside a running service, and changes nothing. With --repair, which a running service does, damaged ranges alone are fetched anew, \
            whole segments that the index has lost are taken in again, and what is no segment is moved to quarantine. \
            Exit code 4 where damage is left, 1 where something could not be read.
            """)

    @Flag(help: "Fetch what is damaged anew.")
    var `repair` = false

    @Option(help: ArgumentHelp("Open only this share of the segments, chosen by chance, in percent.", valueName: "p"))
    var sample: SamplePercent?

    @Option(
        help: ArgumentHelp("Open at most so many bytes in a second: 500k, 20M, 1G.", valueName: "rate"))
    var limitRate: ByteRate?

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let options = VerifyOptions(
            repairs: `repair`, sample: sample?.percent, bytesPerSecond: limitRate?.bytesPerSecond)
        let act = try await act(options)
        let document = try await Interruption.cancelling("what was repaired stays so", act)
        try await StandardOutput.shared.write(json ? try JSONText.of(document) + "\n" : VerifyText.text(document))
        guard document.sound else { throw Reported(status: document.remaining > 0 ? .integrity : .failed) }
    }

    /// Repairing is the owner's; looking needs no ownership.
    private func act(_ options: VerifyOptions) async throws -> @Sendable () async throws -> VerifyDocument {
        if options.repairs {
            let finder = try await access.finder(waiting)
            return { try await finder.act { try await Self.verify($0, options) } }
        }
        let opener = try await access.opener()
        return {
            do {
                return try await opener.reading { try await Self.verify(LocalVault($0), options) }
            } catch let error as VaultError where error.code == .olderKeyring {
                // The owner changed the keys meanwhile: from the beginning, with the new ones.
                return try await opener.reading { try await Self.verify(LocalVault($0), options) }
            }
        }
    }

    /// Checks a vault, and shows how far it is.
    private static func verify(_ vault: any VaultClient, _ options: VerifyOptions) async throws -> VerifyDocument {
        var display = ProgressDisplay("verify")
        let document = try await vault.verify(options) { step in
            await display.show(TransferProgress(held: step.bytesOpened, total: step.bytesTotal))
        }
        await display.end()
        return document
    }
}

struct IndexCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index", abstract: "Mend the vault's index.", subcommands: [IndexRebuildCommand.self])
}

struct IndexRebuildCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild",
        abstract: "Make a lost or damaged index.sqlite anew from catalog.backup and the segments.",
        discussion: """
            Opens every segment, and puts the new index in place when it is whole. The old one is kept as \
            index.sqlite.damaged: delete it when the vault is found good.
            """)

    @Flag(help: "Do it though nothing is wrong with the index.")
    var force = false

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let (opener, isForced) = (try await access.opener(), force)
        let report = try await Interruption.cancelling("the index is as it was") {
            let terminal = Terminal.shared
            let report = try await Vault.rebuildIndex(
                opener.place, unlock: opener.unlock, evenIfSound: isForced
            ) { part in
                if terminal.canRedraw { await terminal.redraw("index rebuild  \(Int(part * 100)) %") }
            }
            await terminal.keepLine()
            return report
        }
        try await StandardOutput.shared.write(json ? try JSONText.of(report) + "\n" : Self.text(report))
    }

    private static func text(_ report: RebuildReport) -> String {
        var facts: [(name: String, value: String)] = [
            ("holds", "\(ByteCount.text(report.bytes)) of \(report.resources) titles, in \(report.segments) segments"),
            ("bad blocks", String(report.badBlocks)), ("cut", String(report.cut)),
            ("quarantined", String(report.quarantined)), ("unknown", String(report.unknown)),
        ]
        if report.unknownToBackup > 0 {
            facts.append(("not in backup", "\(report.unknownToBackup) segments that the old index had"))
        }
        if report.areSettingsLost { facts.append(("settings", "lost, and those of a new vault: set them again")) }
        return FactText.text(facts)
    }
}

struct PruneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Let go of what lies beyond limits, once.",
        discussion: """
            What was merely played and read least lately goes first; what is pinned, in use or was fetched by name stays. \
            With --evict-downloads the size may cost downloads, too. With no limit named the vault's own count.
            """)

    @Option(
        help: ArgumentHelp("The most bytes that sealed media may take: 200MiB, 2G.", valueName: "size"))
    var maxSize: String?

    @Option(
        help: ArgumentHelp("How long what was merely played stays after it was last read: 90d, 12h.", valueName: "age"))
    var maxAge: String?

    @Flag(help: "Let the size cost titles that were fetched by name, too.")
    var evictDownloads = false

    @Flag(help: "Only tell what would go.")
    var dryRun = false

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let limits = LimitsDocument(
            maxSize: try maxSize.map { SizeText(bytes: try SizeArgument.parse($0, "--max-size")) },
            maxAge: try maxAge.map { try AgeArgument.parse($0, "--max-age") },
            evictDownloads: evictDownloads ? true : nil, dryRun: dryRun ? true : nil)
        let finder = try await access.finder(waiting)
        let document = try await Interruption.cancelling("what went stays gone") {
            try await finder.act { try await $0.prune(limits) }
        }
        try await StandardOutput.shared.write(json ? try JSONText.of(document) + "\n" : text(document))
    }

    private func text(_ document: PruneDocument) -> String {
        FactText.text([
            (
                dryRun ? "would go" : "let go",
                "\(ByteCount.text(document.bytes)), \(document.segments) segments, \(document.resources) titles whole"
            ),
            (dryRun ? "would be left" : "left", ByteCount.text(document.used)),
        ])
    }
}
