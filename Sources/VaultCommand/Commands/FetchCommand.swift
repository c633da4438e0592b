import ArgumentParser
import MediaVault
import VaultService

struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Download titles into the vault.",
        discussion: """
            Continues where an earlier fetch or a player stopped. - reads titles from standard input, one per line; \
            empty lines and lines that start with # are skipped. With several titles all are tried, and the exit code \
            is that of the first failure. Of an HLS or DASH title, everything that the chosen renditions need is \
            fetched. If a service owns the vault, it fetches for this command and shares its \
            fetches.
            """)

    @Argument(help: ArgumentHelp("URLs, or ids of titles; - is a list on standard input.", valueName: "title"))
    var titles: [String]

    @OptionGroup(title: "Titles")
    var renditions: RenditionOptions

    @OptionGroup(title: "Speed")
    var pace: SpeedOptions

    @OptionGroup(title: "Limits")
    var room: LimitOptions

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Start the downloads in the service, and return at once.")
    var detach = false

    @Flag(help: "Print one JSON object per title at the end.")
    var json = false

    func validate() throws {
        if titles.contains(URLList.fromInput), naming.headerFile == "-" {
            throw ValidationError("the list and the header file cannot both come from standard input; use a file")
        }
        if renditions.title != nil, titles.count != 1 || titles.contains(URLList.fromInput) {
            throw ValidationError("--title names one title; give one")
        }
    }

    func run() async throws {
        let titles = try await URLList.read(titles)
        let naming = try await naming.naming(of: titles.compactMap { try? TitleName($0) }, access.unlocking)
        let finder = try await access.finder(waiting, limits: try room.limits())
        let (options, isDetached) = (renditions.applied(to: pace.options), detach)
        let records = try await Interruption.cancelling {
            try await finder.act { vault in
                var records: [FetchedRecord] = []
                for (index, title) in titles.enumerated() {
                    let fetching = TitleFetch(
                        title: title, naming: naming, number: index + 1, count: titles.count, options: options,
                        isDetached: isDetached)
                    records.append(try await fetching.run(in: vault))
                }
                return records
            }
        }
        if titles.count > 1, !isDetached { await Terminal.shared.say(FetchTotal(records).sentence) }
        if json {
            for record in records { try await StandardOutput.shared.write(try JSONText.of(record) + "\n") }
        }
        if let failed = records.first(where: { $0.status != .done }) { throw AlreadyReported(status: failed.status) }
    }
}

/// The download of one title, as the user sees it.
struct TitleFetch: Sendable {
    /// The URL, or the id, as it was given.
    let title: String
    let naming: TitleNaming
    /// The position of the title among ``count``, from 1.
    let number: Int
    let count: Int
    let options: DownloadOptions
    /// Whether the service continues it on its own.
    let isDetached: Bool

    /// Fetches the title; reports and records a failure, so that the next title has its turn.
    func run(in vault: any VaultClient) async throws -> FetchedRecord {
        do {
            let reference = try await naming.reference(to: TitleName(title), in: vault)
            var hadAll = false
            if isDetached {
                try await vault.beginDownload(reference, options)
            } else {
                hadAll = try await download(reference, into: vault)
            }
            let document = try await vault.resource(reference)
            if hadAll, let document {
                let size = ByteCount.text(document.wholeBytes)
                await Terminal.shared.say("\(name(of: reference.url)): already complete, \(size)")
            }
            for note in document?.title.map(TitleText.missingLanguages) ?? [] { await Terminal.shared.say(note) }
            return FetchedRecord(title, document)
        } catch let error as VaultError {
            try Task.checkCancellation()
            // Report what is held now, not the last progress; a malformed URL has neither.
            let reference = try? await naming.reference(to: TitleName(title), in: vault)
            let document = if let reference { try? await vault.resource(reference) } else { nil as ResourceSummary? }
            await Terminal.shared.say(error.message(ofURL: number, of: count) + Self.missing(document, after: error))
            return FetchedRecord(title, document, failed: error)
        }
    }

    /// Fetches missing bytes, and shows the progress.
    ///
    /// - Returns: whether nothing was missing.
    private func download(_ reference: MediaReference, into vault: any VaultClient) async throws -> Bool {
        var hadAll = try await vault.resource(reference)?.isWhole ?? false
        var display = ProgressDisplay(name(of: reference.url))
        try await vault.download(reference, options) { step in
            // A title that changed at its origin is fetched again.
            hadAll = hadAll && step.held == step.total
            if !hadAll { await display.show(TransferProgress(held: step.held, total: step.total)) }
        }
        await display.end()
        return hadAll
    }

    /// Returns how much the origin did not send; errors of the store already state this.
    private static func missing(_ document: ResourceSummary?, after error: VaultError) -> String {
        guard ExitStatus(error.code) == .origin, let document, let size = document.size, size > document.bytes
        else { return "" }
        return "; \(ByteCount.text(size - document.bytes)) of \(ByteCount.text(size)) are missing"
    }

    /// Returns the display name of a title: the one given, else the last part of its path; and its position among
    /// several.
    private func name(of url: MediaURL) -> String {
        let name = options.name ?? url.path.split(separator: "/").last.map(String.init) ?? url.host
        return count > 1 ? "\(number)/\(count) \(name)" : name
    }
}
