import ArgumentParser
import MediaVault
import VaultService

struct InfoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Show what the vault holds of a title.",
        discussion: "The origin is never contacted. The exit code is 6 if the vault does not know the title.")

    @Argument(help: ArgumentHelp("Id or URL of the title.", valueName: "title"), completion: ServiceCompletion.titles)
    var title: String

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let name = try TitleName(title)
        let naming = try await naming.naming(of: [name], access.unlocking)
        let summary: ResourceSummary
        if let service = try await access.keylessService() {
            summary = try await HeldTitle.summary(of: name, naming, in: service)
        } else {
            summary = try await access.opener().reading {
                try await HeldTitle.summary(of: name, naming, in: LocalVault($0))
            }
        }
        try await output.write(summary, orText: Self.text(summary))
    }

    private static func facts(ofFile summary: ResourceSummary) -> [(name: String, value: String)] {
        var facts = [
            (name: "size", value: summary.size.map(String.init) ?? "unknown"),
            (name: "held", value: RangeText.text(summary.held)), (name: "bytes", value: String(summary.bytes)),
        ]
        if let duration = summary.duration { facts.append(("duration", ClockText.text(seconds: duration / 1000))) }
        if let bytes = summary.partBytes { facts.append(("played of it", String(bytes))) }
        return facts
    }

    private static func text(_ summary: ResourceSummary) -> String {
        // For a title with several resources, the held ranges would be those of its manifest, which are meaningless to
        // the user.
        let content = summary.title.map(TitleText.facts) ?? facts(ofFile: summary)
        let added = summary.subtitles.joined(separator: ", ")
        return FactText.text(
            [
                ("id", summary.id?.description ?? "none"), ("name", summary.name ?? "none"), ("url", summary.url),
                ("content id", summary.contentID ?? "none"),
            ] + content + (added.isEmpty ? [] : [("added subtitles", added)]) + [
                ("type", summary.type ?? "unknown"), ("etag", summary.etag ?? "none"),
                ("class", summary.resourceClass), ("mode", summary.mode?.rawValue ?? "default"),
                ("generation", String(summary.generation)), ("added", summary.added.description),
                // The vault records the hour alone, which may have begun before the title was added.
                ("last used", max(summary.accessed, summary.added).description),
            ])
    }
}

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show status: what the vault holds, its keys, and the running service.")

    @OptionGroup var access: VaultAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let folder = try access.place.vault()
        let record = StatusRecord(try await status(in: folder), service: try await ServiceProbe.running(in: folder))
        try await output.write(record, orText: Self.text(record, folder))
    }

    /// Returns the status from the service, for which no key is needed, and which knows what is not yet in the index.
    /// If there is no service, the index is read.
    ///
    /// - Returns: the status; nil if the service is locked.
    private func status(in folder: String) async throws -> StatusDocument? {
        do {
            return try await RemoteVault(ControlClient(folder: folder)).call(Operations.Upkeep.status)
        } catch let error as VaultError where error.code == .locked {
            return nil
        } catch is ServiceGone {
            return try await access.opener().reading { try await LocalVault($0).call(Operations.Upkeep.status) }
        }
    }

    /// Returns a text that states whether keys or media could be written to swap unencrypted, and how to prevent this.
    static func memory(_ status: StatusDocument) -> String {
        let keys =
            status.keysLocked
            ? "protected from swap" : "not protected from swap: raise the limit (LimitMEMLOCK= of a unit, ulimit -l)"
        guard status.swapInReach else { return keys + (status.keysLocked ? "" : "; no swap is reachable") }
        return "\(keys); swap is on, so "
            + (status.keysLocked ? "" : "keys and ") + "media may be written to it: set MemorySwapMax=0, or turn it off"
    }

    private static func text(_ record: StatusRecord, _ folder: String) -> String {
        let service = ("service", record.service.map { "\($0.address) (process \($0.pid))" } ?? "not running")
        guard let status = record.status else {
            return FactText.text([
                ("vault", folder), ("keys", "locked: the service has no key any more; restart it to play"), service,
            ])
        }
        return FactText.text([
            ("vault", "\(status.vault) in \(folder)"),
            (
                "holds",
                "\(ByteCount.text(status.bytes)) of \(Count.of(status.resources, "title")), in \(Count.of(status.segments, "segment"))"
            ),
            ("fetched", ByteCount.text(status.bytesFetched)),
            ("store", status.storeFailure.map { "nothing is stored: \(Terminal.printable($0))" } ?? "stores"),
            ("downloads", DownloadTable.counts(status.downloads)),
            ("feeds", SyncText.counts(status.feeds)),
            ("keys", "generation \(status.generation)"),
            ("key memory", memory(status)),
            ("unlock", status.unlock.method + (status.unlock.restsWithVault ? ", on the same disk as the vault" : "")),
            service,
        ])
    }
}

struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Show where the bytes of a title's last answers came from.",
        discussion: """
            While it runs, the service remembers its last answers: which bytes came from the vault, and which from the \
            origin. Without a service, only held ranges are shown. The origin is never contacted. The exit code is 6 \
            if the vault does not know the title.
            """)

    @Argument(help: ArgumentHelp("Id or URL of the title.", valueName: "title"), completion: ServiceCompletion.titles)
    var title: String

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let name = try TitleName(title)
        let document = try await explanation(of: name, naming.naming(of: [name], access.unlocking))
        try await output.write(document, orText: ExplanationText.text(document))
    }

    /// Returns the explanation from the service, which knows its own answers. If there is no service, the index is
    /// read.
    private func explanation(of name: TitleName, _ naming: TitleNaming) async throws -> ExplanationDocument {
        let service = RemoteVault(ControlClient(folder: try access.place.vault()))
        do {
            return try await service.explanation(naming.reference(to: name, in: service))
        } catch is ServiceGone {
            let summary = try await access.opener().reading {
                try await HeldTitle.summary(of: name, naming, in: LocalVault($0))
            }
            return ExplanationDocument(summary, url: summary.url, answers: [])
        }
    }
}

/// Looks up what a vault holds of a title.
enum HeldTitle {
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not know the title.
    static func summary(
        of name: TitleName, _ naming: TitleNaming, in vault: any VaultClient
    ) async throws -> ResourceSummary {
        try await summary(of: naming.reference(to: name, in: vault), in: vault)
    }

    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not know the title.
    static func summary(of reference: MediaReference, in vault: any VaultClient) async throws -> ResourceSummary {
        guard let summary = try await vault.resource(reference) else {
            if let error = try await unknown(reference, in: vault) { throw error }
            throw VaultError(.notHeld, "the vault does not know \(reference); fetch it first")
        }
        return summary
    }

    /// Returns the error for a URL that a vault knows only with content ids; nil if it does not know the URL at all, or
    /// if `reference` does not name a title by its URL alone.
    static func unknown(_ reference: MediaReference, in vault: any VaultClient) async throws -> VaultError? {
        guard reference.titleID == nil, reference.contentID == nil else { return nil }
        let wanted = reference.url.canonical
        var ids: [TitleID] = []
        _ = try await vault.resources { title in
            guard title.contentID != nil, let id = title.id else { return }
            if (try? MediaURL(title.url))?.canonical == wanted { ids.append(id) }
        }
        guard !ids.isEmpty else { return nil }
        let names = ids.prefix(mostNamed).map(\.description).joined(separator: " or ")
        return VaultError(
            .notHeld,
            "the vault has \(reference) only with \(ids.count == 1 ? "a content id" : "content ids"); name it by its id: "
                + names + (ids.count > mostNamed ? " and more, which mediavault list shows" : ""))
    }

    private static let mostNamed = 3
}
