import ArgumentParser
import MediaVault
import VaultService

struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Download titles into the vault.",
        discussion: """
            Continues where an earlier fetch or a player stopped. --list FILE, or - for standard input, reads a list: \
            on each line a URL, the id of a title, or what yt-dlp --dump-json prints; empty lines, lines that start \
            with #, and what follows a blank and # are skipped. A line that cannot be used is reported by its number, \
            and the others are fetched. With several titles all are tried, and the exit code is that of the first \
            failure. Of an HLS or DASH title, everything that the chosen renditions need is fetched. If a service \
            owns the vault, it fetches for this command and shares its fetches.
            """)

    @Argument(
        help: ArgumentHelp("URLs, or ids of titles; - is a list on standard input.", valueName: "title"),
        completion: ServiceCompletion.titles)
    var titles: [String] = []

    @Option(
        name: .customLong("list"),
        help: ArgumentHelp("File with a title on each line; - is standard input.", valueName: "file"),
        completion: .file())
    var lists: [String] = []

    @OptionGroup(title: "Titles")
    var renditions: RenditionOptions

    @OptionGroup(title: "Titles")
    var picture: CoverOption

    @OptionGroup(title: "Speed")
    var pace: SpeedOptions

    @Option(
        help: ArgumentHelp(
            "Titles at a time: 1 to 16, of any hosts (default: 3, and 2 of one host).", valueName: "n"))
    var parallel: Int?

    @OptionGroup(title: "Limits")
    var room: LimitOptions

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var owner: OwnerAccess

    @Flag(help: "Add the titles to the service's download queue, and return at once.")
    var detach = false

    @Flag(help: "With --detach: put them at the front of the queue.")
    var first = false

    @Flag(help: "Print one JSON object per title at the end.")
    var json = false

    @Flag(name: .shortAndLong, help: "Show nothing but errors.")
    var quiet = false

    func validate() throws {
        guard !titles.isEmpty || !lists.isEmpty else {
            throw ValidationError("no title given; give URLs or ids, or --list with a file")
        }
        let readsInput = (titles + lists).contains(ListReader.standardInput)
        if readsInput, naming.headerFile == "-" {
            throw ValidationError("the list and the header file cannot both come from standard input; use a file")
        }
        if first, !detach { throw ValidationError("--first orders the download queue; give --detach, too") }
        if renditions.title == "" { throw ValidationError("the name is empty; give another, or none") }
        if renditions.title != nil, titles.count != 1 || readsInput || !lists.isEmpty {
            throw ValidationError("--title names one title; give one")
        }
        if picture.cover != nil, titles.count != 1 || readsInput || !lists.isEmpty {
            throw ValidationError("--cover is for one title; give one")
        }
        guard FetchSchedule.range.contains(parallel ?? 1) else {
            throw ValidationError("--parallel must be between 1 and \(FetchSchedule.range.upperBound)")
        }
    }

    func run() async throws {
        let orders = try await ListReader.read(titles, files: lists)
        let naming = try await naming.naming(
            of: orders.compactMap { try? $0.content.get().name }, owner.access.unlocking)
        let (options, limits) = (renditions.applied(to: pace.options), try room.limits())
        let cover = try await picture.bytes()
        if detach {
            guard limits == nil else {
                throw UsageError("limits apply to a fetch that runs here; with --detach use mediavault config set")
            }
            return try await DetachedFetch(
                orders: orders, naming: naming, options: options, cover: cover, isFirst: first, isQuiet: quiet,
                isJSON: json
            ).run(try await owner.connector())
        }
        let fetch = ListFetch(
            orders: orders, naming: naming, options: options, cover: cover, parallel: parallel, isQuiet: quiet,
            isRecorded: json)
        let records = try await owner.acting(limits: limits) { vault in try await fetch.run(in: vault) }
        if !quiet { await fetch.report(records) }
        if json {
            for record in records { try await StandardOutput.shared.writeJSON(record) }
        }
        if let failed = records.first(where: { $0.status != .done }) { throw AlreadyReported(status: failed.status) }
    }
}
