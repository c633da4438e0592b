import ArgumentParser
import MediaVault
import VaultService

struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Download titles into the vault.",
        discussion: """
            Goes on where an earlier fetch or a player left off. With several URLs all are tried, and the first \
            failure's exit code counts. A service that owns the vault fetches for this command, and its fetches are \
            shared.
            """)

    @Argument(help: ArgumentHelp("What to fetch: http or https.", valueName: "url"))
    var urls: [String]

    @OptionGroup(title: "Room")
    var room: RoomOptions

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Leave the downloads to the service, and end at once.")
    var detach = false

    @Flag(help: "Print one JSON object for each title at the end.")
    var json = false

    func run() async throws {
        let finder = try await access.finder(waiting, limits: try room.limits())
        let (urls, isDetached) = (urls, detach)
        let records = try await Interruption.cancelling {
            try await finder.act { vault in
                var records: [FetchedRecord] = []
                for url in urls { records.append(try await Self.fetch(url, into: vault, isDetached)) }
                return records
            }
        }
        if json {
            for record in records { try await StandardOutput.shared.write(try JSONText.of(record) + "\n") }
        }
        if let failed = records.first(where: { $0.status != .done }) { throw Reported(status: failed.status) }
    }

    /// Fetches one title; what fails is said and recorded, so that the next has its turn.
    private static func fetch(_ text: String, into vault: any VaultOperator, _ isDetached: Bool) async throws
        -> FetchedRecord
    {
        do {
            let reference = MediaReference(try MediaURL(text))
            if isDetached {
                try await vault.beginDownload(reference, DownloadOptions())
            } else {
                try await download(reference, into: vault)
            }
            return FetchedRecord(text, try await vault.resource(reference))
        } catch let error as VaultError {
            try Task.checkCancellation()
            // What is held now counts, not what was told last; of a malformed URL nothing is.
            let document = try? await vault.resource(MediaReference(MediaURL(text)))
            await Terminal.shared.say(error.message + missing(document, after: error))
            return FetchedRecord(text, document, failed: error)
        }
    }

    /// Fetches what is missing, shows how it comes, and says where it turned out to be a list of media.
    private static func download(
        _ reference: MediaReference, into vault: any VaultOperator
    ) async throws {
        var display = ProgressDisplay(name(of: reference.url))
        var manifest: String?
        try await vault.download(reference, DownloadOptions()) { step in
            manifest = step.manifest
            await display.show(TransferProgress(held: step.held, total: step.total))
        }
        await display.end()
        if let kind = manifest.flatMap(ManifestKind.init) {
            await Terminal.shared.say(
                "\(reference.url) is \(called(kind)): only the list itself was fetched, not the media it names")
        }
    }

    /// How much an origin left open; what the store could not take is in its message already.
    private static func missing(_ document: ResourceDocument?, after error: VaultError) -> String {
        guard ExitStatus(error.code) == .origin, let document, let size = document.size.value, size > document.bytes
        else { return "" }
        return "; \(ByteCount.text(size - document.bytes)) of \(ByteCount.text(size)) are missing"
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
