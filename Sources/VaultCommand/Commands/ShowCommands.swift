import ArgumentParser
import Foundation
import MediaVault
import VaultService

/// A text to look for in the names and URLs of titles, whatever its capitals and accents.
struct TitleSearch: Sendable {
    let text: String

    func finds(_ title: ListedDocument) -> Bool {
        let isEncoded = title.url.utf8.contains(UInt8(ascii: "%"))
        let places = [title.name, title.url, isEncoded ? title.url.removingPercentEncoding : nil]
        return places.compactMap(\.self).contains { place in
            place.range(of: text, options: [.caseInsensitive, .diacriticInsensitive]) != nil
        }
    }
}

struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the held titles.", aliases: ["ls"])

    @OptionGroup var access: VaultAccess

    @Option(help: ArgumentHelp("List only titles with this text in their name or URL.", valueName: "text"))
    var search: String?

    @Flag(help: "Print a JSON array.")
    var json = false

    func run() async throws {
        if let service = try await access.keylessService() { return try await list(service) }
        let opener = try await access.opener()
        try await opener.reading { vault in
            var printer = ListPrinter(isJSON: json, search: search.map(TitleSearch.init))
            var damage: VaultError?
            do {
                for try await summary in vault.titles() { try await printer.add(ListedDocument(summary)) }
            } catch let error as VaultError where error.code == .integrity {
                // Reported after the list, which is as complete as possible.
                damage = error
            }
            try await printer.finish()
            if let damage { throw damage }
        }
    }

    /// The most titles that the service returns at a time.
    private static let pageSize = 1000

    private func list(_ service: RemoteVault) async throws {
        var printer = ListPrinter(isJSON: json, search: search.map(TitleSearch.init))
        var (damaged, next): (Int, String?) = (0, nil)
        repeat {
            let page = try await service.resources(after: next, limit: Self.pageSize)
            for title in page.resources { try await printer.add(title) }
            (damaged, next) = (damaged + page.damaged, page.next)
        } while next != nil
        try await printer.finish()
        guard damaged > 0 else { return }
        throw VaultError(
            .integrity,
            "the list lacks \(Count.of(damaged, "title")), because no key opens the rows; a repair removes what does not open",
            hint: .repair)
    }
}

/// Prints a list by pages, each while the next is being read.
private struct ListPrinter {
    let isJSON: Bool
    let search: TitleSearch?
    private var page: [ListedDocument] = []
    /// The page that is being printed; its value is whether anything was printed so far.
    private var printing: Task<Bool, any Error>?

    private static let pageSize = 256

    init(isJSON: Bool, search: TitleSearch?) {
        self.isJSON = isJSON
        self.search = search
    }

    /// Adds a title.
    mutating func add(_ title: ListedDocument) async throws {
        page.append(title)
        if page.count == Self.pageSize { try await turnPage() }
    }

    /// Returns when everything is printed.
    mutating func finish() async throws {
        try await turnPage()
        let hasRows = try await printing?.value ?? false
        if isJSON { try await StandardOutput.shared.write(hasRows ? "]\n" : "[]\n") }
    }

    private mutating func turnPage() async throws {
        let hasRows = try await printing?.value ?? false
        let (page, search, isJSON) = (page, search, isJSON)
        self.page = []
        printing = Task {
            var text = ""
            for title in page where search?.finds(title) ?? true {
                let isFirst = !hasRows && text.isEmpty
                if isJSON {
                    text += (isFirst ? "[" : ",\n") + (try JSONText.of(title))
                } else {
                    text += (isFirst ? ListTable.heading : "") + ListTable.row(title)
                }
            }
            try await StandardOutput.shared.write(text)
            return hasRows || !text.isEmpty
        }
    }
}

struct InfoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Show what the vault holds of a title.",
        discussion: "The origin is never contacted. The exit code is 6 if the vault does not know the title.")

    @Argument(help: "URL of the title: http or https.")
    var url: String

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let reference = try await naming.reference(try MediaURL(url), access.unlocking)
        guard let summary = try await summary(of: reference) else {
            throw VaultError(.notHeld, "the vault does not know \(reference); fetch it first")
        }
        try await StandardOutput.shared.write(json ? try JSONText.of(summary) + "\n" : Self.text(summary))
    }

    private func summary(of reference: MediaReference) async throws -> ResourceSummary? {
        if let service = try await access.keylessService() { return try await service.resource(reference) }
        return try await access.opener().reading { try await $0.summary(of: reference) }
    }

    private static func text(_ summary: ResourceSummary) -> String {
        // Of a title of several resources, the ranges of its manifest would say nothing.
        let content =
            summary.title.map(TitleText.facts) ?? [
                ("size", summary.size.map(String.init) ?? "unknown"), ("held", RangeText.text(summary.held)),
                ("bytes", String(summary.bytes)),
            ]
        return FactText.text(
            [("url", summary.url), ("name", summary.name ?? "none")] + content + [
                ("type", summary.type ?? "unknown"), ("etag", summary.etag ?? "none"),
                ("class", summary.resourceClass), ("mode", summary.mode?.rawValue ?? "default"),
                ("generation", String(summary.generation)),
            ])
    }
}

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show status: what the vault holds, its keys, and the running service.")

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let folder = try access.place.vault()
        let record = StatusRecord(try await status(in: folder), service: try await ServiceProbe.running(in: folder))
        try await StandardOutput.shared.write(
            json ? try JSONText.of(record) + "\n" : Self.text(record, folder))
    }

    /// Asks the service, which needs no key and knows what the index does not have yet; without one reads the index.
    ///
    /// - Returns: nil if the service is locked.
    private func status(in folder: String) async throws -> StatusDocument? {
        do {
            return try await RemoteVault(ControlClient(folder: folder)).status()
        } catch let error as VaultError where error.code == .locked {
            return nil
        } catch is ServiceGone {
            return try await access.opener().reading { try await LocalVault($0).status() }
        }
    }

    /// Returns whether keys or media could be written to swap unencrypted, and how to prevent it.
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

    @Argument(help: "URL of the title: http or https.")
    var url: String

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let reference = try await naming.reference(try MediaURL(url), access.unlocking)
        let document = try await explanation(of: reference)
        try await StandardOutput.shared.write(
            json ? try JSONText.of(document) + "\n" : ExplanationText.text(document))
    }

    /// Asks the service, which knows its answers; without one reads the index.
    private func explanation(of reference: MediaReference) async throws -> ExplanationDocument {
        let client = ControlClient(folder: try access.place.vault())
        do {
            return try await RemoteVault(client).explanation(reference)
        } catch is ServiceGone {
            guard let summary = try await access.opener().reading({ try await $0.summary(of: reference) }) else {
                throw VaultError(.notHeld, "the vault does not know \(reference); fetch it first")
            }
            return ExplanationDocument(summary, url: reference.url.absoluteString, answers: [])
        }
    }
}
