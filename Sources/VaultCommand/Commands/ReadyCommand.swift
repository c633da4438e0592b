import ArgumentParser
import MediaVault
import VaultModel
import VaultService

struct ReadyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ready", abstract: "Check whether all pinned titles will play without the network.",
        discussion: """
            Checks that each pinned title is complete, that its files are there, and that some blocks of each open; \
            that the whole vault was verified lately; that no download of a pinned title is left, no key operation \
            unfinished, and enough of the disk free. With --until also names playback links, and tokens for players, \
            that end before. No origin is asked. A running service checks with its own key, unless a key is given.

            With --collection checks its titles, whether or not they are pinned.

            The exit code is 0 if nothing is missing. If anything is, or no title is pinned, it is 1, and the output \
            lists what is missing and what to do.
            """)

    @Option(
        help: ArgumentHelp(
            "Until when titles must play: \(ReadyTime.forms) (default: now).", valueName: "day"))
    var until: String?

    @Option(
        help: ArgumentHelp(
            "How long ago the whole vault may have been verified: 30d, 12h (default: 30d).", valueName: "age"))
    var verifiedWithin: String?

    @Flag(help: "Check downloaded titles, too.")
    var all = false

    @Option(help: CollectionChoice.optionHelp, completion: ServiceCompletion.collections)
    var collection: String?

    @OptionGroup var access: VaultAccess

    @OptionGroup var output: JSONOption

    func validate() throws {
        guard !all || collection == nil else { throw ValidationError("give --all or --collection") }
    }

    func run() async throws {
        let options = try options(now: WallClock.now())
        let report =
            if let service = try await access.keylessService() {
                try await check(options, with: service)
            } else {
                try await access.opener().reading { try await check(options, with: LocalVault($0)) }
            }
        let kind = collection == nil ? all ? "downloaded title" : "pinned title" : "title"
        try await output.write(report, orText: ReadyText.text(report, kind))
        guard report.isReady else { throw AlreadyReported(status: .failed) }
    }

    private func check(_ options: ReadinessOptions, with vault: any VaultClient) async throws -> ReadinessReport {
        var id: String?
        if let collection { id = try await CollectionChoice.find(collection, in: vault).id }
        return try await vault.call(Operations.Upkeep.readiness, ReadinessSelection(options, collection: id))
    }

    /// - Parameter now: the current time in seconds since 1970.
    private func options(now: Int64) throws -> ReadinessOptions {
        let age = try verifiedWithin.map { try AgeArgument.parse($0, "--verified-within") }
        guard age != 0 else { throw UsageError("--verified-within must be more than 0") }
        return ReadinessOptions(
            until: try until.map { try ReadyTime.parse($0, now: now) },
            verifiedWithin: age ?? ReadinessOptions.standardAge, hasDownloads: all)
    }
}

/// The value of `--until`, which is a duration such as `7d`, a day, which is included, or a time.
enum ReadyTime {
    /// Examples of the value, for the help.
    static let forms = "7d, or a day such as 2027-01-31, which is included (UTC)"

    /// - Parameter now: the current time in seconds since 1970.
    static func parse(_ text: String, now: Int64) throws -> Timestamp {
        let day = Timestamp(text + "T00:00:00Z").map { Timestamp(seconds: $0.seconds + 86_400) }
        // A thousand years suffice, and adding them to the current time cannot overflow.
        let after = Quantity.parse(text, in: AgeArgument.units, upTo: 366_000 * 86_400).map {
            Timestamp(seconds: now + $0)
        }
        guard let time = Timestamp(text) ?? day ?? after, time.seconds > now else {
            throw UsageError(
                "--until must be a number and a unit, such as 7d, or a day that is not over, such as 2027-01-31")
        }
        return time
    }
}

/// Formats the output of `ready` for people.
enum ReadyText {
    /// - Parameter kind: what the titles that were checked have in common, such as `pinned title`.
    static func text(_ report: ReadinessReport, _ kind: String) -> String {
        let time = report.until.map { " until \($0)" } ?? ""
        guard !report.isReady else {
            let held = "\(Count.of(report.titles, kind)) (\(ByteCount.text(report.bytes)))"
            return "ready: \(held) will play without the network\(time)\n"
        }
        var text = "not ready: "
        let titles = Count.of(report.titles, kind)
        if report.titles == 0 {
            text += "no \(kind) is there to check\n"
        } else if report.unreadyTitles > 0 {
            text += "\(report.unreadyTitles) of \(titles) may not play without the network\(time)\n"
        } else {
            text += report.titles == 1 ? "the 1 \(kind) is complete" : "all \(titles) are complete"
            text += ", but the vault itself is not ready:\n"
        }
        for title in report.unready { text += paragraph(title) }
        let more = report.unreadyTitles - report.unready.count
        if more > 0 { text += "and \(Count.of(more, "more title"))\n" }
        // If only the vault itself is not ready, the first line already names it.
        let heading = report.titles > 0 && report.unreadyTitles == 0 ? "" : "the vault\n"
        if !report.findings.isEmpty { text += heading + report.findings.map { line($0, of: nil) }.joined() }
        return text
    }

    private static func paragraph(_ title: UnreadyTitle) -> String {
        let name = title.name ?? title.url ?? "a title that cannot be decrypted"
        let head = title.id.map { "\($0)  \(name)" } ?? name
        return Terminal.printable(head) + "\n" + title.findings.map { line($0, of: title.id) }.joined()
    }

    private static func line(_ finding: ReadinessFinding, of title: TitleID?) -> String {
        let remedy = remedy(for: finding.cause, title?.description ?? "TITLE").map { " (\($0))" } ?? ""
        return "  " + Terminal.printable(finding.message) + remedy + "\n"
    }

    /// Returns the command or commands that help; nil if there are none.
    private static func remedy(for cause: ReadinessCause, _ title: String) -> String? {
        switch cause {
        case .nothingChecked: "mediavault fetch, mediavault pin"
        case .incomplete: "mediavault fetch \(title)"
        case .damaged, .unopened, .damageLeft: "mediavault verify --repair"
        case .unreadable, .diskFull: nil
        case .queued: "mediavault downloads"
        case .evictable: "mediavault pin \(title)"
        // A repair is suggested, because a plain check by a process that does not own the vault is not recorded.
        case .unverified: "mediavault verify --repair"
        case .keyOperation: "mediavault keys list"
        case .accessEnds: "mediavault links list, mediavault token list"
        }
    }
}
