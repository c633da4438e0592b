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
