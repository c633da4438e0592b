import ArgumentParser
import MediaVault
import VaultService

struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Pin titles: exempt them from eviction.",
        discussion: "Fetches nothing; use fetch for that. With several URLs all are tried.")

    @OptionGroup var titles: TitleArguments

    func run() async throws {
        try await titles.act { vault, reference in
            try await vault.pin(reference)
            return TitleRecord.Outcome(sentence: "pinned")
        }
    }
}

struct UnpinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin", abstract: "Unpin titles.",
        discussion: "With several URLs all are tried.")

    @OptionGroup var titles: TitleArguments

    func run() async throws {
        try await titles.act { vault, reference in
            try await vault.unpin(reference)
            return TitleRecord.Outcome(sentence: "unpinned")
        }
    }
}

struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove titles from the vault, with their bytes and all metadata.",
        discussion: "Ends playback. With several URLs all are tried; the exit code is that of the first failure.",
        aliases: ["rm"])

    @OptionGroup var titles: TitleArguments

    func run() async throws {
        try await titles.act { vault, reference in
            let removal = try await vault.remove(reference)
            let rest = removal.isErased == false ? "; its key will be erased within a minute" : ""
            return TitleRecord.Outcome(
                bytes: removal.bytes, sentence: "removed, \(ByteCount.text(removal.bytes)) freed" + rest)
        }
    }
}

struct ModeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mode",
        abstract: "Set what is fetched and stored for titles.",
        discussion: """
            online: fetch missing bytes; revalidate held bytes with the origin once they are no longer fresh.
            prefer-vault: play held bytes as they are; fetch missing bytes.
            offline: fetch nothing.
            no-store: fetch missing bytes and pass them on; store nothing.
            default: use the vault's mode (config set mode, serve --mode).
            If the vault's mode is offline or no-store, it applies to every title. info shows the mode of a title.
            """)

    @Argument(help: ArgumentHelp("One of \(NamedMode.names).", valueName: "mode"))
    var mode: ModeArgument

    @OptionGroup var titles: TitleArguments

    func run() async throws {
        let mode = mode
        try await titles.act { vault, reference in
            try await vault.setMode(mode.mode, of: reference)
            return TitleRecord.Outcome(sentence: "mode \(mode.name)")
        }
    }
}

/// The arguments of a command that acts on each of several titles.
struct TitleArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp("URLs of titles: http or https.", valueName: "url"))
    var urls: [String]

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Print one JSON object per title.")
    var json = false

    typealias Act = @Sendable (any VaultClient, MediaReference) async throws -> TitleRecord.Outcome

    /// Runs `act` on every title; reports failures, and exits with the code of the first one.
    func act(_ act: @escaping Act) async throws {
        try naming.check(urls.compactMap { try? MediaURL($0) })
        let fields = try await naming.fields(access.unlocking)
        let finder = try await access.finder(waiting)
        let (urls, contentID, json) = (urls, naming.contentID, json)
        let failed = try await Interruption.cancelling("finished titles stay changed") {
            try await finder.act { vault in
                var failed: ExitStatus?
                for (index, url) in urls.enumerated() {
                    let record = try await Self.record(of: url, index + 1, urls.count, isPrinted: json) {
                        try await act(vault, MediaReference($0, contentID: contentID, fields: fields))
                    }
                    if record.status != .done { failed = failed ?? record.status }
                }
                return failed
            }
        }
        if let failed { throw AlreadyReported(status: failed) }
    }

    private static func record(
        of text: String, _ number: Int, _ count: Int, isPrinted: Bool,
        _ act: (MediaURL) async throws -> TitleRecord.Outcome
    ) async throws -> TitleRecord {
        let record: TitleRecord
        do {
            let url = try MediaURL(text)
            let outcome = try await act(url)
            if !isPrinted {
                try await StandardOutput.shared.write("\(Terminal.printable("\(url)")): \(outcome.sentence)\n")
            }
            record = TitleRecord(text, outcome)
        } catch let error as VaultError {
            try Task.checkCancellation()
            await Terminal.shared.say(error.message(ofURL: number, of: count))
            record = TitleRecord(text, failed: error)
        }
        if isPrinted { try await StandardOutput.shared.write(try JSONText.of(record) + "\n") }
        return record
    }
}
