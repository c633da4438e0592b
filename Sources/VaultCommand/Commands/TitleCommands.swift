import ArgumentParser
import MediaVault
import VaultService

struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Pin titles: exempt them from eviction.",
        discussion: """
            Fetches nothing; use fetch for that. With several titles all are tried. A pinned --collection stays pinned as \
            it grows.
            """)

    @OptionGroup var titles: TitleArguments

    func run() async throws {
        try await titles.act(to: "pin", changing: { CollectionChange($0, pinned: true) }) { vault, reference in
            try await vault.call(Operations.Titles.pin, TitleDocument(vault.id(of: reference)))
            let isWhole = try await vault.resource(reference)?.isWhole ?? true
            return TitleRecord.Outcome(
                sentence: isWhole ? "pinned" : "pinned, but not all of it is held; mediavault fetch gets the rest")
        }
    }
}

struct UnpinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin", abstract: "Unpin titles.",
        discussion: "With several titles all are tried.")

    @OptionGroup var titles: TitleArguments

    func run() async throws {
        try await titles.act(to: "unpin", changing: { CollectionChange($0, pinned: false) }) { vault, reference in
            try await vault.call(Operations.Titles.unpin, TitleDocument(vault.id(of: reference)))
            return TitleRecord.Outcome(sentence: "unpinned")
        }
    }
}

struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove titles from the vault, with their bytes and all metadata.",
        discussion: """
            Ends playback. With several titles all are tried; the exit code is that of the first failure. Named links to \
            a title are listed before; unless --links revokes them they stay, name its URL, and fetch it again if they \
            are played later than a minute after.
            """, aliases: ["rm"])

    @OptionGroup var titles: TitleArguments

    @OptionGroup var links: LinkOption

    func run() async throws {
        let (notice, withLinks) = (links.notice, links.links)
        try await titles.act(to: "remove") { vault, reference in
            try await notice.tell(of: reference, in: vault)
            let removal = try await vault.call(
                Operations.Titles.remove, RemovalRequest(reference, RemovalDetails(links: withLinks ? true : nil)))
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
            If the vault's mode is offline or no-store, it applies to every title. info shows the mode of a title. A \
            --collection keeps its mode as it grows.
            """)

    @Argument(help: ArgumentHelp("One of \(NamedMode.names).", valueName: "mode"))
    var mode: ModeArgument

    @OptionGroup var titles: TitleArguments

    func run() async throws {
        let mode = mode
        try await titles.act(
            to: "set the mode of", changing: { CollectionChange($0, mode: NamedMode(mode.mode)) }
        ) { vault, reference in
            try await vault.call(
                Operations.Titles.setMode, ModeRequest(reference, ModeDetails(mode.mode)))
            return TitleRecord.Outcome(sentence: "mode \(mode.name)")
        }
    }
}

/// The arguments of a command that acts on each of several titles.
struct TitleArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp("Ids or URLs of titles.", valueName: "title"), completion: ServiceCompletion.titles)
    var titles: [String] = []

    @OptionGroup var selection: TitleSelection

    @OptionGroup var consent: BulkConsent

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var owner: OwnerAccess

    @Flag(help: "Print one JSON object per title.")
    var json = false

    typealias Act = @Sendable (any VaultClient, MediaReference) async throws -> TitleRecord.Outcome

    func validate() throws { try selection.check(beside: titles, naming) }

    /// Runs `act` on each title. Failures are reported, and the exit code is that of the first failure.
    ///
    /// - Parameters:
    ///   - verb: the verb with which the question to the user describes what `act` does with a title.
    ///   - change: returns what the act changes about the collection with an id, so that it applies to what comes later,
    ///     too; nil if it changes nothing about a collection.
    func act(
        to verb: String, changing change: (@Sendable (String) -> CollectionChange)? = nil, _ act: @escaping Act
    ) async throws {
        let naming = try await naming.naming(of: titles.compactMap { try? TitleName($0) }, owner.access.unlocking)
        let (given, selection, consent, json) = (titles, selection, consent, json)
        let failed = try await owner.acting(ifInterrupted: "finished titles stay changed") { vault in
            var titles = given
            if selection.isGiven {
                titles = try await selection.names(in: vault, asking: consent, to: verb)
                if let collection = selection.collection, let change {
                    let id = try await CollectionChoice.find(collection, in: vault).id
                    try await vault.call(Operations.Collections.change, change(id))
                }
            }
            var failed: ExitStatus?
            for (index, title) in titles.enumerated() {
                let record = try await Self.record(
                    of: title, index + 1, titles.count, naming, in: vault, isPrinted: json, act)
                if record.status != .done { failed = failed ?? record.status }
            }
            return failed
        }
        if let failed { throw AlreadyReported(status: failed) }
    }

    private static func record(
        of text: String, _ number: Int, _ count: Int, _ naming: TitleNaming, in vault: any VaultClient,
        isPrinted: Bool, _ act: Act
    ) async throws -> TitleRecord {
        let record: TitleRecord
        var (id, url) = (TitleID(text), TitleID(text) == nil ? text : nil)
        do {
            let name = try TitleName(text)
            let reference = try await naming.reference(to: name, in: vault)
            url = url ?? reference.url.absoluteString
            // The id is looked up before the act, because the title may be gone afterwards.
            if isPrinted, id == nil { id = try await vault.resource(reference)?.id }
            let outcome = try await act(vault, reference)
            if !isPrinted {
                let shown = (name.id.map { "\($0) " } ?? "") + "\(reference)"
                try await StandardOutput.shared.write("\(Terminal.printable(shown)): \(outcome.sentence)\n")
            }
            record = TitleRecord(id: id, url ?? text, outcome)
        } catch let failure as VaultError {
            try Task.checkCancellation()
            let error = await Self.explained(failure, text, naming, in: vault)
            await Terminal.shared.say(error.message(ofURL: number, of: count))
            record = TitleRecord(id: id, url, failed: error)
        }
        if isPrinted { try await StandardOutput.shared.writeJSON(record) }
        return record
    }

    /// Returns a failure with a better explanation if the vault knows the URL only with content ids; otherwise, returns
    /// the failure unchanged.
    private static func explained(
        _ failure: VaultError, _ text: String, _ naming: TitleNaming, in vault: any VaultClient
    ) async -> VaultError {
        guard failure.code == .notHeld, let name = try? TitleName(text), name.id == nil,
            let reference = try? await naming.reference(to: name, in: vault),
            let known = try? await HeldTitle.unknown(reference, in: vault)
        else { return failure }
        return known
    }
}
