import ArgumentParser
import MediaVault
import VaultModel
import VaultService

struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the held titles.",
        discussion: """
            The id that begins a line names the title in every command. age is the time since the title was added, \
            played that since it was last read. At a terminal, names are cut to its width; a URL in the last column is not.
            """,
        aliases: ["ls"])

    @OptionGroup var access: VaultAccess

    @Option(help: ArgumentHelp("List only titles with this text in their name or URL.", valueName: "text"))
    var search: String?

    @Option(
        help: ArgumentHelp(
            "List only titles of this kind: \(ListFilter.allCases.map(\.rawValue).joined(separator: ", ")).",
            valueName: "kind"))
    var filter: ListFilter?

    @Option(
        help: ArgumentHelp(
            "Order: name, or size, held, added or played, with the largest or latest first.", valueName: "order"))
    var sort = ListOrder.name

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("List only this many titles, the first in that order.", valueName: "n"))
    var limit: Int?

    @Option(
        help: ArgumentHelp(
            "Columns of the table, of \(ListColumn.allCases.map(\.rawValue).joined(separator: ",")).",
            valueName: "names"),
        completion: ListColumn.completion, transform: ListColumn.parse)
    var columns = ListColumn.usual

    @Flag(help: "Print each collection with its titles in order, then the titles of none.")
    var group = false

    @Flag(help: "Print a JSON array.")
    var json = false

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit must be at least 1") }
        if group, json || limit != nil {
            throw ValidationError(
                "--group prints all titles for people; use collection list --json, or leave out --limit")
        }
    }

    func run() async throws {
        if group { return try await writeGroups() }
        let selection = ListSelection(order: sort, filter: filter, search: search.map { TitleSearch(text: $0) })
        var listing = TitleListing(columns: json ? nil : columns, selection: selection, order: sort)
        // Damage is reported after the list, which is as complete as possible.
        let damage: VaultError?
        if let service = try await access.keylessService() {
            damage = try await Self.add(titlesOf: service, to: &listing)
        } else {
            (listing, damage) = try await access.opener().reading { [listing] vault in
                var listing = listing
                let damage = try await Self.add(titlesOf: vault, to: &listing)
                return (listing, damage)
            }
        }
        let text = try await listing.text(limit: limit)
        try await StandardOutput.shared.write(text)
        if text.isEmpty, damage == nil {
            let isWhole = filter == nil && search == nil
            await Terminal.shared.say(isWhole ? "there are no titles" : "no title matches")
        }
        if let damage { throw damage }
    }

    /// Writes the titles by collection.
    private func writeGroups() async throws {
        let chosen = ListSelection(order: sort, filter: filter, search: search.map { TitleSearch(text: $0) })
        let (collections, all, damaged) = try await access.asking { vault in
            let collections = try await vault.call(Operations.Collections.list).collections
            var all: [ListedDocument] = []
            let damaged = try await vault.resources { all.append($0) }
            return (collections, all, damaged)
        }
        let now = Timestamp(seconds: WallClock.now())
        let text = CollectionText.groups(
            all.filter { chosen.admits($0, at: now) }.sorted { sort.place(of: $0) < sort.place(of: $1) }, collections,
            columns)
        try await StandardOutput.shared.write(text)
        guard damaged > 0 else { return }
        throw VaultError(
            .integrity, "the list lacks \(Count.of(damaged, "title")), because no key opens the rows", hint: .repair)
    }

    /// Adds a vault's titles, and returns the error if some rows cannot be opened.
    private static func add(titlesOf vault: Vault, to listing: inout TitleListing) async throws -> VaultError? {
        do {
            for try await summary in vault.titles.list() { listing.add(ListedDocument(summary)) }
            return nil
        } catch let error as VaultError where error.code == .integrity {
            return error
        }
    }

    private static func add(titlesOf service: RemoteVault, to listing: inout TitleListing) async throws -> VaultError? {
        let damaged = try await service.resources { listing.add($0) }
        guard damaged > 0 else { return nil }
        return VaultError(
            .integrity,
            "the list lacks \(Count.of(damaged, "title")), because no key opens the rows; a repair removes what does not open",
            hint: .repair)
    }
}

extension ListFilter: ExpressibleByArgument {}

extension ListOrder: ExpressibleByArgument {}

/// Collects titles, and returns them as text in order. Each page is prepared while the next one is being read.
private struct TitleListing {
    /// A title that is ready to be printed.
    private struct Line: Sendable {
        let place: ListPlace
        var cells: [ListCell] = []
        var json = ""
    }

    /// The columns of the table; nil for JSON output.
    let columns: [ListColumn]?
    let selection: ListSelection
    let order: ListOrder
    private let now = WallClock.now()
    private var page: [ListedDocument] = []
    private var prepared: [Task<[Line], any Error>] = []

    private static let pageSize = 256

    init(columns: [ListColumn]?, selection: ListSelection, order: ListOrder) {
        (self.columns, self.selection, self.order) = (columns, selection, order)
    }

    mutating func add(_ title: ListedDocument) {
        page.append(title)
        if page.count == Self.pageSize { turnPage() }
    }

    private mutating func turnPage() {
        let (page, columns, selection, order, now) = (page, columns, selection, order, now)
        self.page = []
        prepared.append(
            Task {
                try page.filter { selection.admits($0, at: Timestamp(seconds: now)) }.map { title in
                    var line = Line(place: order.place(of: title))
                    if let columns {
                        line.cells = columns.map { ListCell($0.text(title, now: now)) }
                    } else {
                        line.json = try JSONText.of(title)
                    }
                    return line
                }
            })
    }

    /// Returns the whole list in order.
    ///
    /// - Parameter limit: the maximum number of titles; nil for all.
    mutating func text(limit: Int?) async throws -> String {
        turnPage()
        var lines: [Line] = []
        for page in prepared { lines += try await page.value }
        lines.sort { $0.place < $1.place }
        let shown = lines.prefix(limit ?? .max)
        guard let columns else { return "[" + shown.map(\.json).joined(separator: ",\n") + "]\n" }
        let table = ListTable(columns: columns, terminalWidth: StandardOutput.shared.terminalWidth)
        return table.text(shown.map(\.cells))
    }
}
