import ArgumentParser
import MediaVault
import VaultService

struct PruneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Let go of what lies beyond limits, once.",
        discussion: """
            What was merely played and read least lately goes first, then downloads; what is pinned or in use stays. \
            With no limit named the vault's own count.
            """)

    @Option(
        help: ArgumentHelp("The most bytes that sealed media may take: 200MiB, 2GB, 1048576.", valueName: "size"))
    var maxSize: String?

    @Option(
        help: ArgumentHelp("How long what was merely played stays after it was last read: 90d, 12h.", valueName: "age"))
    var maxAge: String?

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let limits = LimitsDocument(
            maxSize: try maxSize.map { try SizeArgument.parse($0, "--max-size") },
            maxAge: try maxAge.map { try AgeArgument.parse($0, "--max-age") })
        let finder = try await access.finder(waiting)
        let document = try await Interruption.cancelling("what went stays gone") {
            try await finder.act { try await $0.prune(limits) }
        }
        try await StandardOutput.shared.write(json ? try JSONText.of(document) + "\n" : Self.text(document))
    }

    private static func text(_ document: PruneDocument) -> String {
        FactSheet.text([
            (
                "let go",
                "\(ByteCount.text(document.bytes)), \(document.segments) segments, \(document.resources) titles whole"
            ),
            ("left", ByteCount.text(document.used)),
        ])
    }
}
