import ArgumentParser
import MediaVault
import VaultService

struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Keep titles whatever the limits say.",
        discussion: "Nothing is fetched: fetch does that. With several URLs all are tried.")

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
        commandName: "unpin", abstract: "Let limits touch titles again.",
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
        abstract: "Remove titles from the vault: their bytes, and all that is known of them.",
        discussion: "What plays ends. With several URLs all are tried, and the first failure's exit code counts.")

    @OptionGroup var titles: TitleArguments

    func run() async throws {
        try await titles.act { vault, reference in
            let removal = try await vault.remove(reference)
            let rest = removal.isErased == false ? "; its key is erased within a minute" : ""
            return TitleRecord.Outcome(
                bytes: removal.bytes, sentence: "removed, \(ByteCount.text(removal.bytes)) freed" + rest)
        }
    }
}

struct ModeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mode",
        abstract: "Say of titles what is asked of their origins, and what is kept.",
        discussion: """
            online: what is missing is fetched; what is held is confirmed with its origin once it is no longer fresh.
            prefer-vault: what is held plays as it is; what is missing is fetched.
            offline: nothing is fetched.
            no-store: what is missing is fetched and handed on; nothing is written.
            default: as the vault (config set mode, serve --mode).
            A vault that is offline or no-store is so for every title. info shows the mode of a title.
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

/// The arguments of a command that does one thing to each of some titles.
struct TitleArguments: ParsableArguments {
    @Argument(help: ArgumentHelp("The titles: http or https.", valueName: "url"))
    var urls: [String]

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Print one JSON object for each title.")
    var json = false

    typealias Act = @Sendable (any VaultClient, MediaReference) async throws -> TitleRecord.Outcome

    /// Does it to every title: what fails is said, and the first failure's exit code counts.
    func act(_ act: @escaping Act) async throws {
        try naming.check(urls.compactMap { try? MediaURL($0) })
        let fields = try await naming.fields(access.unlocking)
        let finder = try await access.finder(waiting)
        let (urls, contentID, json) = (urls, naming.contentID, json)
        let failed = try await Interruption.cancelling("what was done stays so") {
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
        if let failed { throw Reported(status: failed) }
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
