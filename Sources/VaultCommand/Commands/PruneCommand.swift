import ArgumentParser
import MediaVault
import VaultService

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
        FactSheet.text([
            (
                dryRun ? "would go" : "let go",
                "\(ByteCount.text(document.bytes)), \(document.segments) segments, \(document.resources) titles whole"
            ),
            (dryRun ? "would be left" : "left", ByteCount.text(document.used)),
        ])
    }
}
