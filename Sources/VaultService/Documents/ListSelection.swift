import Foundation
import MediaVault
import VaultModel

/// Which resources a list has, and in which order.
package struct ListSelection: Sendable {
    package var order: ListOrder?
    package var filter: ListFilter?
    package var search: TitleSearch?

    package init(order: ListOrder? = nil, filter: ListFilter? = nil, search: TitleSearch? = nil) {
        (self.order, self.filter, self.search) = (order, filter, search)
    }

    /// Whether the list has everything, in the order of the index.
    var isAll: Bool { order == nil && filter == nil && search == nil }

    package func admits(_ title: ListedDocument) -> Bool {
        (filter?.admits(title) ?? true) && (search?.finds(title) ?? true)
    }

    /// Returns a page of titles in the order of the selection, or that of their names.
    ///
    /// - Parameters:
    ///   - titles: all titles of the vault.
    ///   - cursor: where the page before ended; nil for the first page.
    func page(of titles: [ListedDocument], after cursor: ListCursor?, limit: Int) -> (
        titles: [ListedDocument], next: ListCursor?
    ) {
        let order = order ?? .name
        let sorted = titles.filter(admits).map { (place: order.place(of: $0), title: $0) }
            .sorted { $0.place < $1.place }.map(\.title)
        let start = cursor.map { $0.start(in: sorted.map(\.id)) } ?? 0
        let page = sorted.dropFirst(start).prefix(limit)
        guard page.endIndex < sorted.endIndex, let last = page.last else { return (Array(page), nil) }
        return (Array(page), ListCursor(last: last.id, count: page.endIndex))
    }
}

/// Where a page of a sorted list ended: behind a title, or if that is gone, at its place.
struct ListCursor: Hashable, CustomStringConvertible {
    let last: TitleID?
    let count: Int

    init(last: TitleID?, count: Int) { (self.last, self.count) = (last, count) }

    /// Parses what ``description`` writes.
    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = DecimalNumber.exact(parts[1]), count <= Int64(UInt32.max) else {
            return nil
        }
        self.init(last: TitleID(String(parts[0])), count: Int(count))
    }

    var description: String { "\(last?.description ?? "")-\(count)" }

    /// Returns the index of the first title behind the cursor.
    func start(in ids: [TitleID?]) -> Int {
        let place = last.flatMap { last in ids.firstIndex { $0 == last } }
        // If the title is gone, those behind it have moved up.
        return place.map { $0 + 1 } ?? max(0, count - 1)
    }
}

/// A text to look for in the names and URLs of titles, whatever its capitals and accents.
package struct TitleSearch: Sendable {
    package let text: String

    package init(text: String) { self.text = text }

    package func finds(_ title: ListedDocument) -> Bool {
        let isEncoded = title.url.utf8.contains(UInt8(ascii: "%"))
        let places = [title.name, title.url, isEncoded ? title.url.removingPercentEncoding : nil]
        return places.compactMap(\.self).contains { place in
            place.range(of: text, options: [.caseInsensitive, .diacriticInsensitive]) != nil
        }
    }
}

/// Which titles a list has.
package enum ListFilter: String, CaseIterable, Sendable {
    case held, partial, pinned

    package func admits(_ title: ListedDocument) -> Bool {
        switch self {
        case .held: title.complete
        case .partial: !title.complete
        case .pinned: title.class == "pinned"
        }
    }
}

/// The order of a list of titles.
package enum ListOrder: String, CaseIterable, Sendable {
    case name, size, added, played

    /// Returns the place of a title; the lowest comes first.
    package func place(of title: ListedDocument) -> ListPlace {
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

extension ListedDocument {
    /// What a person would call it: its name, else its URL with the characters that its escapes stand for.
    package var shownName: String {
        name ?? (url.utf8.contains(UInt8(ascii: "%")) ? url.removingPercentEncoding : nil) ?? url
    }
}

/// The place of a title in a list; titles with the same number are in the order of their names.
package struct ListPlace: Comparable, Sendable {
    let number: Int64
    /// The name in a form whose bytes are in the order that people expect.
    let name: String
    let url: String

    package static func < (one: ListPlace, other: ListPlace) -> Bool {
        (one.number, one.name, one.url) < (other.number, other.name, other.url)
    }

    /// Returns a name without capitals and accents, and with the length before each number: 9 comes before 10.
    package static func comparable(_ name: String) -> String {
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
