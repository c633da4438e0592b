import ArgumentParser
import Foundation
import MediaVault
import VaultService

struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the held titles.",
        discussion: """
            The id that begins a line names the title in every command. age is the time since the title was added, \
            played that since it was last read. At a terminal, names are cut to its width.
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
            "Order: name, or size, added or played, with the largest or latest first.", valueName: "order"))
    var sort = ListOrder.name

    @Option(help: ArgumentHelp("List only the first titles in that order.", valueName: "n"))
    var limit: Int?

    @Option(
        help: ArgumentHelp(
            "Columns of the table, of \(ListColumn.allCases.map(\.rawValue).joined(separator: ",")).",
            valueName: "names"),
        transform: ListColumn.parse)
    var columns = ListColumn.usual

    @Flag(help: "Print a JSON array.")
    var json = false

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit must be at least 1") }
    }

    func run() async throws {
        var listing = TitleListing(
            columns: json ? nil : columns, search: search.map(TitleSearch.init), filter: filter, order: sort)
        // Reported after the list, which is as complete as possible.
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
        try await StandardOutput.shared.write(listing.text(limit: limit))
        if let damage { throw damage }
    }

    /// Adds the titles of a vault; returns the error if rows of some do not open.
    private static func add(titlesOf vault: Vault, to listing: inout TitleListing) async throws -> VaultError? {
        do {
            for try await summary in vault.titles() { listing.add(ListedDocument(summary)) }
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

/// Which titles `list` shows.
enum ListFilter: String, CaseIterable, Sendable, ExpressibleByArgument {
    case held, partial, pinned

    func admits(_ title: ListedDocument) -> Bool {
        switch self {
        case .held: title.complete
        case .partial: !title.complete
        case .pinned: title.class == "pinned"
        }
    }
}

/// The order in which `list` shows titles.
enum ListOrder: String, CaseIterable, Sendable, ExpressibleByArgument {
    case name, size, added, played

    /// Returns the place of a title; the lowest comes first.
    func place(of title: ListedDocument) -> ListPlace {
        let number: Int64 =
            switch self {
            case .name: 0
            // An unknown size comes last.
            case .size: -(title.size ?? -1)
            case .added: -title.added.seconds
            case .played: -title.accessed.seconds
            }
        return ListPlace(number: number, name: ListPlace.comparable(title.shownName), url: title.url)
    }
}

/// The place of a title in a list; titles with the same number are in the order of their names.
struct ListPlace: Comparable, Sendable {
    let number: Int64
    /// The name in a form whose bytes are in the order that people expect.
    let name: String
    let url: String

    static func < (one: ListPlace, other: ListPlace) -> Bool {
        (one.number, one.name, one.url) < (other.number, other.name, other.url)
    }

    /// Returns a name without capitals and accents, and with the length before each number: 9 comes before 10.
    static func comparable(_ name: String) -> String {
        let isPlain = name.utf8.allSatisfy { $0 < 0x80 }
        let folded = isPlain ? name : name.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
        var bytes: [UInt8] = []
        var digits: [UInt8] = []
        func endNumber() {
            guard !digits.isEmpty else { return }
            let number = digits.drop { $0 == 0x30 }
            bytes.append(0x30 + UInt8(min(number.count, 9)))
            bytes += number
            digits = []
        }
        for byte in folded.utf8 {
            if (0x30...0x39).contains(byte) {
                digits.append(byte)
            } else {
                endNumber()
                bytes.append((0x41...0x5A).contains(byte) ? byte + 0x20 : byte)
            }
        }
        endNumber()
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Collects titles, and prints them in order. A page of them is prepared while the next is being read.
private struct TitleListing {
    /// One title, ready to be printed.
    private struct Line: Sendable {
        let place: ListPlace
        var cells: [ListCell] = []
        var json = ""
    }

    /// Nil for JSON.
    let columns: [ListColumn]?
    let search: TitleSearch?
    let filter: ListFilter?
    let order: ListOrder
    private let now = Int64(Date().timeIntervalSince1970)
    private var page: [ListedDocument] = []
    private var prepared: [Task<[Line], any Error>] = []

    private static let pageSize = 256

    init(columns: [ListColumn]?, search: TitleSearch?, filter: ListFilter?, order: ListOrder) {
        self.columns = columns
        self.search = search
        self.filter = filter
        self.order = order
    }

    mutating func add(_ title: ListedDocument) {
        page.append(title)
        if page.count == Self.pageSize { turnPage() }
    }

    private mutating func turnPage() {
        let (page, columns, search, filter, order, now) = (page, columns, search, filter, order, now)
        self.page = []
        prepared.append(
            Task {
                try page.filter { (filter?.admits($0) ?? true) && (search?.finds($0) ?? true) }.map { title in
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

    /// Returns everything in order.
    ///
    /// - Parameter limit: the most titles; nil for all.
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
