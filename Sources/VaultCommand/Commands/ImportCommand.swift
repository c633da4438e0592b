import ArgumentParser
import MediaVault
import VaultService

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Store a file that is already here as a title.",
        discussion: """
            Seals the bytes of FILE as if they had been fetched from the URL; the file stays as it is. If the origin is \
            reached, its length and samples of its bytes must be those of the file, or nothing is stored. If it is not \
            reached, or with --offline, the title is compared once the origin is reached, and replaced by the origin's \
            version if that is another. A playlist cannot be imported, and a title of which bytes are held is not \
            replaced. A running service stores what this command reads; it never opens the file itself. \
            Subtitles beside FILE that are named after it, as film.srt and film.de.vtt, are added to the title.
            """)

    @Argument(help: ArgumentHelp("A media file.", valueName: "file"), completion: .file())
    var file: String

    @Option(name: .customLong("as"), help: ArgumentHelp("URL, or id, of the title.", valueName: "title"))
    var name: String

    @Option(help: ArgumentHelp("Name for the title (default: the one that the media states).", valueName: "name"))
    var title: String?

    @OptionGroup var picture: CoverOption

    @Option(
        help: ArgumentHelp("Media type (default: that of the origin, the URL or the file's name).", valueName: "type"))
    var type: String?

    @Flag(help: "Pin the title, so that no limit evicts it.")
    var pin = false

    @Flag(help: "Do not ask the origin.")
    var offline = false

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let name = try TitleName(name)
        let naming = try await naming.naming(of: [name], owner.access.unlocking)
        let options = ImportOptions(name: title, type: type, isPinned: pin, asksOrigin: !offline)
        try options.check()
        let cover = try await picture.bytes()
        let path = try ProcessEnvironment.current.absolute(file)
        let report = try await owner.acting(ifInterrupted: "nothing was stored") { vault in
            let source = try await ImportedFile.open(at: path)
            let references = try await naming.references(to: [name], in: vault)
            var display = ProgressDisplay("import")
            var report: ImportReport?
            for reference in references {
                report = try await vault.importFile(source, as: reference, options) { step in
                    await display.show(TransferProgress(held: step.stored, total: step.total))
                }
            }
            await display.end()
            if let cover {
                for reference in references { try await vault.setCover(cover, of: reference) }
            }
            try await SubtitleFile.addBeside(path, to: references, in: vault)
            return report
        }
        guard let report else { return }
        try await output.write(report, orText: Self.text(report))
    }

    private static func text(_ report: ImportReport) -> String {
        let verdict =
            switch report.origin {
            case .same: "the same as at the origin, as far as samples show"
            case .unreached: "not reached; the file will be compared when it is"
            case .unasked: "not asked; the file will be compared when it is"
            }
        return FactText.text([
            ("id", report.id.description), ("url", report.url), ("stored", ByteCount.text(report.bytes)),
            ("type", report.type ?? "unknown"), ("origin", verdict),
        ])
    }
}
