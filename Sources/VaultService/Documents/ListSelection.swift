import Foundation
import MediaVault
package import VaultModel

/// The selection of resources for a list, and their order.
package struct ListSelection: Sendable {
    package var order: ListOrder?
    package var filter: ListFilter?
    package var search: TitleSearch?
    /// The only titles to list, in this order, which no other order replaces; nil for all.
    var ids: [TitleID]?

    /// The maximum number of ids.
    static let maxIDs = 200

    package init(order: ListOrder? = nil, filter: ListFilter? = nil, search: TitleSearch? = nil) {
        (self.order, self.filter, self.search) = (order, filter, search)
    }

    /// Whether the list contains all resources, in the order of the index.
    var isAll: Bool { order == nil && filter == nil && search == nil && ids == nil }

    package func admits(_ title: ListedDocument, at now: Timestamp) -> Bool {
        (filter?.admits(title, at: now) ?? true) && (search?.finds(title) ?? true)
    }

    /// Returns a page of the selected titles, ordered by name unless another order is selected.
    ///
    /// - Parameters:
    ///   - titles: all titles of the vault.
    ///   - now: the time at which the filter judges whether a title has expired.
    ///   - cursor: where the previous page ended; nil for the first page.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the previous page had another order.
    func page(of titles: [SelectableTitle], at now: Timestamp, after cursor: ListCursor?, limit: Int) throws -> (
        titles: [SelectableTitle], next: ListCursor?
    ) {
        let admits = { (title: SelectableTitle) in
            (filter?.admits(title.document, at: now) ?? true) && (search?.finds(title) ?? true)
        }
        if let ids {
            let known = Dictionary(titles.compactMap { title in title.document.id.map { ($0, title) } }) {
                first, _ in first
            }
            return (ids.compactMap { known[$0] }.filter(admits), nil)
        }
        let order = order ?? .name
        guard cursor == nil || cursor?.order == order else {
            throw VaultError(
                .invalidArgument, "after is of a list in another order; repeat the sort of the previous page")
        }
        // Places are sorted, and not titles, because those are large values to move.
        var rest = titles.indices.filter { admits(titles[$0]) }.map { (place: titles[$0].place(in: order), index: $0) }
        if let cursor { rest.removeAll { $0.place <= cursor.place } }
        rest.sort { $0.place < $1.place }
        let page = rest.prefix(limit)
        let next = page.count < rest.count ? page.last.map { ListCursor(order: order, place: $0.place) } : nil
        return (page.map { titles[$0.index] }, next)
    }
}

/// A title with what searches and orders compare, which is made once for many lists.
struct SelectableTitle: Sendable {
    private(set) var document: ListedDocument
    /// The kind of the title's manifest; nil for a title that is a single file.
    let kind: ManifestKind?
    /// The languages of the subtitles that were added to the title.
    let subtitles: [String]
    /// What searches find in what the title says of itself, and in its URL.
    fileprivate let text: [UInt8]
    fileprivate private(set) var origin: [UInt8]
    private var name: String
    private let id: String

    init(_ summary: ResourceSummary) {
        self.init(ListedDocument(summary), kind: summary.manifestKind, subtitles: summary.subtitles)
    }

    init(_ document: ListedDocument, kind: ManifestKind? = nil, subtitles: [String] = []) {
        self.subtitles = subtitles
        (self.document, self.kind, id) = (document, kind, document.id?.description ?? "")
        (text, origin) = TitleSearch.texts(of: document)
        name = NaturalOrder.comparable(document.shownName)
    }

    /// A copy that does not reveal where the resource came from.
    var withoutOrigin: SelectableTitle {
        var title = self
        (title.document, title.origin) = (document.withoutOrigin, [])
        if document.name == nil, document.fallbackName == nil { title.name = "" }
        return title
    }

    fileprivate func place(in order: ListOrder) -> ListPlace {
        ListPlace(number: order.number(of: document), name: name, id: id)
    }
}

/// The place where a page of a sorted list ended. It stays valid when titles are added or removed before the next page
/// is requested.
struct ListCursor: Hashable, CustomStringConvertible {
    let order: ListOrder
    let place: ListPlace

    init(order: ListOrder, place: ListPlace) { (self.order, self.place) = (order, place) }

    /// Parses a cursor, and accepts only the exact text that ``description`` writes.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, let order = ListOrder(rawValue: parts[0]), let number = Int64(parts[1]),
            let bytes = Base64.decodeFromURL(parts[3]), bytes.count <= NaturalOrder.maxBytes,
            let name = String(validating: bytes, as: UTF8.self)
        else { return nil }
        self.init(order: order, place: ListPlace(number: number, name: name, id: parts[2]))
        guard text == description, parts[2].isEmpty || TitleID(parts[2]) != nil else { return nil }
    }

    var description: String {
        "\(order.rawValue).\(place.number).\(place.id).\(Base64.encodeForURL(Array(place.name.utf8)))"
    }
}

/// A search for words in the names, tags and URLs of titles, ignoring their order, case, accents and ligatures.
package struct TitleSearch: Sendable {
    package let text: String
    private let words: [[UInt8]]

    package init(text: String) {
        self.text = text
        words = SearchText.folded(text).split(whereSeparator: \.isWhitespace).map { Array($0.utf8) }
    }

    /// Returns whether a title has every word somewhere. Without a word, every title does.
    package func finds(_ title: ListedDocument) -> Bool { words.isEmpty || finds(SelectableTitle(title)) }

    func finds(_ title: SelectableTitle) -> Bool {
        words.allSatisfy { SearchText.contains($0, in: title.text) || SearchText.contains($0, in: title.origin) }
    }

    /// Returns the texts in which searches look: what a title says of itself, and its URL.
    fileprivate static func texts(of title: ListedDocument) -> (own: [UInt8], origin: [UInt8]) {
        let isEncoded = title.url.utf8.contains(UInt8(ascii: "%"))
        let tags = title.tags
        let own = [title.name ?? title.fallbackName, tags?.artist, tags?.album, tags?.series, title.collection]
        let origin = [title.url, isEncoded ? title.url.removingPercentEncoding : nil]
        func folded(_ places: [String?]) -> [UInt8] {
            Array(SearchText.folded(places.compactMap(\.self).joined(separator: "\n")).utf8)
        }
        return (folded(own), folded(origin))
    }
}

/// The form of a text in which searches compare it.
enum SearchText {
    /// Returns a text without case, accents and ligatures.
    static func folded(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.lowercased() }
        // The compatibility form takes ligatures such as ﬁ apart; the others are letters of their own.
        let plain = text.precomposedStringWithCompatibilityMapping
            .folding(options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil)
        return letters.reduce(plain) { $0.replacing($1.key, with: $1.value) }
    }

    /// Returns whether a word is somewhere in a text.
    static func contains(_ word: [UInt8], in text: [UInt8]) -> Bool {
        guard let first = word.first, word.count <= text.count else { return word.isEmpty }
        return (0...(text.count - word.count)).contains { start in
            text[start] == first && text[start..<(start + word.count)].elementsEqual(word)
        }
    }

    private static let letters: KeyValuePairs = [
        "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l", "ı": "i",
    ]
}

/// A condition that the titles in a list meet.
package enum ListFilter: String, CaseIterable, Sendable {
    case held, partial, pinned, expired

    /// Returns whether the list contains a title at a given time.
    package func admits(_ title: ListedDocument, at now: Timestamp) -> Bool {
        switch self {
        case .held: title.complete
        case .partial: !title.complete
        case .pinned: title.class == "pinned"
        // The next prune removes an expired title, unless someone plays it first.
        case .expired: title.expires.map { $0 <= now } ?? false
        }
    }
}

/// The order of a list of titles.
package enum ListOrder: String, CaseIterable, Sendable {
    case name, size, held, added, played

    /// Returns the place of a title in this order. The title with the lowest place comes first.
    package func place(of title: ListedDocument) -> ListPlace {
        ListPlace(
            number: number(of: title), name: NaturalOrder.comparable(title.shownName), id: title.id?.description ?? "")
    }

    fileprivate func number(of title: ListedDocument) -> Int64 {
        switch self {
        case .name: 0
        // A title of unknown size comes last.
        case .size: -(title.size ?? -1)
        case .held: -title.bytes
        case .added: -title.added.seconds
        case .played: -title.accessed.seconds
        }
    }
}

extension ListedDocument {
    /// The name that a person would use: the title's name, else one made from its file's name, else its URL with percent
    /// escapes decoded.
    package var shownName: String {
        name ?? fallbackName ?? (url.utf8.contains(UInt8(ascii: "%")) ? url.removingPercentEncoding : nil) ?? url
    }
}

/// The place of a title in a list, short enough for a request's query. Titles with the same number are ordered by name,
/// and titles that also have the same name are ordered by id.
package struct ListPlace: Hashable, Comparable, Sendable {
    let number: Int64
    /// The beginning of the name, in a form whose bytes sort as users expect.
    let name: String
    /// The title's id; empty for a title without an id.
    let id: String

    package static func < (one: ListPlace, other: ListPlace) -> Bool {
        (one.number, one.name, one.id) < (other.number, other.name, other.id)
    }
}
