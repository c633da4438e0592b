import ArgumentParser
import MediaVault
import VaultService

struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Download titles into the vault.",
        discussion: """
            Goes on where an earlier fetch or a player left off. - takes URLs from standard input, one a line; empty \
            lines and those that begin with # are passed over. With several URLs all are tried, and the first \
            failure's exit code counts. A service that owns the vault fetches for this command, and its fetches are \
            shared.
            """)

    @Argument(help: ArgumentHelp("What to fetch: http or https; - is a list on standard input.", valueName: "url"))
    var urls: [String]

    @OptionGroup(title: "Pace")
    var pace: PaceOptions

    @OptionGroup(title: "Room")
    var room: RoomOptions

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Leave the downloads to the service, and end at once.")
    var detach = false

    @Flag(help: "Print one JSON object for each title at the end.")
    var json = false

    func validate() throws {
        if urls.contains(URLList.fromInput), naming.headerFile == "-" {
            throw ValidationError("the list and the header file cannot both come from standard input; name a file")
        }
    }

    func run() async throws {
        let urls = try await URLList.read(urls)
        try naming.check(urls.compactMap { try? MediaURL($0) })
        let fields = try await naming.fields(access.unlocking)
        let finder = try await access.finder(waiting, limits: try room.limits())
        let (contentID, options, isDetached) = (naming.contentID, pace.options, detach)
        let records = try await Interruption.cancelling {
            try await finder.act { vault in
                var records: [FetchedRecord] = []
                for (index, url) in urls.enumerated() {
                    let fetching = Fetching(
                        url: url, number: index + 1, count: urls.count, options: options, isDetached: isDetached
                    ) { MediaReference($0, contentID: contentID, fields: fields) }
                    records.append(try await fetching.run(in: vault))
                }
                return records
            }
        }
        if urls.count > 1, !isDetached { await Terminal.shared.say(FetchTotal(records).sentence) }
        if json {
            for record in records { try await StandardOutput.shared.write(try JSONText.of(record) + "\n") }
        }
        if let failed = records.first(where: { $0.status != .done }) { throw Reported(status: failed.status) }
    }
}

/// The download of one title, as the person at the terminal sees it.
struct Fetching: Sendable {
    let url: String
    /// Which of how many titles it is.
    let number: Int
    let count: Int
    let options: DownloadOptions
    /// Whether it is left to the service.
    let isDetached: Bool
    /// What a URL names.
    let reference: @Sendable (MediaURL) -> MediaReference

    /// Fetches it; what fails is said and recorded, so that the next has its turn.
    func run(in vault: any VaultClient) async throws -> FetchedRecord {
        do {
            let reference = reference(try MediaURL(url))
            if isDetached {
                try await vault.beginDownload(reference, options)
            } else {
                try await download(reference, into: vault)
            }
            return FetchedRecord(url, try await vault.resource(reference))
        } catch let error as VaultError {
            try Task.checkCancellation()
            // What is held now counts, not what was told last; of a malformed URL nothing is.
            let document = try? await vault.resource(reference(MediaURL(url)))
            await Terminal.shared.say(error.message(ofURL: number, of: count) + Self.missing(document, after: error))
            return FetchedRecord(url, document, failed: error)
        }
    }

    /// Fetches what is missing, shows how it comes, and says where it turned out to be a list of media.
    private func download(_ reference: MediaReference, into vault: any VaultClient) async throws {
        var display = ProgressDisplay(name(of: reference.url))
        var manifest: String?
        try await vault.download(reference, options) { step in
            manifest = step.manifest
            await display.show(TransferProgress(held: step.held, total: step.total))
        }
        await display.end()
        if let kind = manifest.flatMap(ManifestKind.init) {
            await Terminal.shared.say(
                "\(reference.url) is \(Self.called(kind)): only the list itself was fetched, not the media it names")
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

    /// What a title is called while it comes: the last part of its path, and where it stands among several.
    private func name(of url: MediaURL) -> String {
        let name = url.path.split(separator: "/").last.map(String.init) ?? url.host
        return count > 1 ? "\(number)/\(count) \(name)" : name
    }
}
