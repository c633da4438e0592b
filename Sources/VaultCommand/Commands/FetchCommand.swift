import ArgumentParser
import MediaVault

struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Download titles into the vault.",
        discussion: """
            Goes on where an earlier fetch or a player left off. With several URLs all are tried, and the first \
            failure's exit code counts.
            """)

    @Argument(help: ArgumentHelp("What to fetch: http or https.", valueName: "url"))
    var urls: [String]

    @OptionGroup(title: "Room")
    var room: RoomOptions

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print one JSON object for each title at the end.")
    var json = false

    func run() async throws {
        let limits = try room.limits()
        try naming.check(urls.compactMap { try? MediaURL($0) })
        let fields = try await naming.fields(access.unlocking)
        let opener = try await access.opener()
        let (urls, contentID) = (urls, naming.contentID)
        let records = try await Interruption.cancelling {
            try await opener.owning(limits: limits) { vault in
                var records: [FetchedRecord] = []
                for url in urls {
                    records.append(
                        try await Self.fetch(url, into: vault) {
                            MediaReference($0, contentID: contentID, fields: fields)
                        })
                }
                return records
            }
        }
        if json {
            for record in records { try await StandardOutput.shared.write(try JSONText.of(record) + "\n") }
        }
        if let failed = records.first(where: { $0.status != .done }) { throw Reported(status: failed.status) }
    }

    /// Fetches one title; what fails is said and recorded, so that the next has its turn.
    private static func fetch(
        _ text: String, into vault: Vault, as reference: (MediaURL) -> MediaReference
    ) async throws -> FetchedRecord {
        do {
            let url = try MediaURL(text)
            let manifest = try await download(reference(url), into: vault)
            if let manifest {
                await Terminal.shared.say(
                    "\(url) is \(called(manifest)): only the list itself was fetched, not the media it names")
            }
            return FetchedRecord(text, try await vault.summary(of: reference(url)))
        } catch let error as VaultError {
            try Task.checkCancellation()
            // What is held now counts, not what was told last; of a malformed URL nothing is.
            let summary = try? await vault.summary(of: reference(MediaURL(text)))
            await Terminal.shared.say(error.message + missing(summary, after: error))
            return FetchedRecord(text, summary, failed: error.online)
        }
    }

    /// Fetches what is missing, and shows how it comes; gives the kind of manifest that the title turned out to be.
    private static func download(_ reference: MediaReference, into vault: Vault) async throws -> ManifestKind? {
        var display = ProgressDisplay(name(of: reference.url))
        var manifest: ManifestKind?
        for try await step in vault.download(reference) {
            manifest = step.manifest
            await display.show(TransferProgress(held: step.held, total: step.total))
        }
        try Task.checkCancellation()
        await display.end()
        return manifest
    }

    /// How much an origin left open; what the store could not take is in its message already.
    private static func missing(_ summary: ResourceSummary?, after error: VaultError) -> String {
        guard ExitStatus(error.code) == .origin, let summary, let size = summary.size, size > summary.bytes else {
            return ""
        }
        return "; \(ByteCount.text(size - summary.bytes)) of \(ByteCount.text(size)) are missing"
    }

    private static func called(_ manifest: ManifestKind) -> String {
        switch manifest {
        case .hls: "an HLS playlist"
        case .dash: "a DASH manifest"
        }
    }

    /// What a title is called while it comes: the last part of its path.
    private static func name(of url: MediaURL) -> String {
        url.path.split(separator: "/").last.map(String.init) ?? url.host
    }
}
