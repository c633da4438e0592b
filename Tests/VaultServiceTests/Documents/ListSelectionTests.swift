import Foundation
import MediaVault
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultService

@Suite("Pages of a list in an order")
struct ListSelectionTests {
    private static let now = Timestamp(seconds: 0)

    private func title(
        _ id: String, name: String? = nil, size: Int64? = 1, added: Int64 = 0, played: Int64 = 0
    ) throws -> ListedDocument {
        let shown = name.map { "\"\($0)\"" } ?? "null"
        let text = """
            {"accessed":"\(Timestamp(seconds: played))","added":"\(Timestamp(seconds: added))","bytes":1,
            "class":"download","collection":null,"complete":true,"fallbackName":null,"tags":null,"contentID":null,"cover":null,"duration":null,"expires":null,
            "id":"\(id)","name":\(shown),
            "size":\(size.map { "\($0)" } ?? "null"),"title":null,"type":null,"url":"http://a.example/\(id)"}
            """
        return try JSONText.read(from: Array(text.utf8))
    }

    /// Returns the ids of all pages, as a client gets them; between two pages, the titles may change.
    private func walk(
        _ titles: [ListedDocument], by order: ListOrder?, limit: Int,
        changing: (_ page: Int, inout [ListedDocument]) throws -> Void = { _, _ in }
    ) throws -> [String] {
        var (titles, ids, cursor, page) = (titles, [String](), ListCursor?.none, 0)
        repeat {
            let selection = ListSelection(order: order, filter: .held)
            let found = try selection.page(of: titles.map { .init($0) }, at: Self.now, after: cursor, limit: limit)
            ids += found.titles.compactMap { $0.document.id?.description }
            // Clients pass on the text.
            cursor = try found.next.map { try #require(ListCursor("\($0)")) }
            page += 1
            try changing(page, &titles)
        } while cursor != nil && page < 100
        return ids
    }

    private static let ids = ["aaaaaaaa", "bbbbbbbb", "cccccccc", "dddddddd", "eeeeeeee", "ffffffff", "gggggggg"]

    @Test("Each title is on one page, in every order, also if all have the same name, size and time")
    func equal() throws {
        let same = try Self.ids.map { try title($0, name: "Film") }
        let unknown = try Self.ids.map { try title($0, size: nil) }
        for order in ListOrder.allCases + [nil] as [ListOrder?] {
            for limit in 1...8 {
                #expect(try walk(same.reversed(), by: order, limit: limit) == Self.ids)
                #expect(try walk(unknown, by: order, limit: limit) == Self.ids)
            }
        }
    }

    @Test("Sizes and times are in falling order, names in rising order")
    func orders() throws {
        let titles = [
            try title("aaaaaaaa", name: "Film 10", size: 5, added: 7, played: 1),
            try title("bbbbbbbb", name: "film 9", size: nil, added: 8, played: 3),
            try title("cccccccc", name: "\u{C9}cole", size: 6, added: 6, played: 2),
        ]
        let expected: [ListOrder: String] = [.name: "cba", .size: "cab", .added: "bac", .played: "bca"]
        for (order, letters) in expected {
            #expect(String(try walk(titles, by: order, limit: 2).compactMap(\.first)) == letters, "\(order)")
        }
    }

    @Test("Titles that come and go between pages neither repeat nor hide another")
    func changes() throws {
        let titles = try Self.ids.enumerated().map { try title($1, name: $1, played: Int64(1000 - $0)) }
        // The last title of the page is removed, with one that follows, and others come before it.
        let removed = try walk(titles, by: .name, limit: 2) { page, titles in
            guard page == 1 else { return }
            titles.removeAll { ["bbbbbbbb", "eeeeeeee"].contains($0.id?.description) }
            titles += [try title("22222222", name: "a"), try title("33333333", name: "aa")]
        }
        #expect(removed == ["aaaaaaaa", "bbbbbbbb", "cccccccc", "dddddddd", "ffffffff", "gggggggg"])
        // The last title of the page is played, and becomes the first of all.
        let played = try walk(titles, by: .played, limit: 3) { page, titles in
            guard page == 1 else { return }
            titles.removeAll { $0.id?.description == "cccccccc" }
            titles.append(try title("cccccccc", name: "cccccccc", played: 5000))
        }
        #expect(played == Self.ids)
    }

    @Test("A page continues a list in its own order alone")
    func otherOrder() throws {
        let titles = try Self.ids.map { SelectableTitle(try title($0)) }
        let selection = ListSelection(order: .size)
        let next = try #require(try selection.page(of: titles, at: Self.now, after: nil, limit: 2).next)
        #expect(try selection.page(of: titles, at: Self.now, after: next, limit: 9).titles.count == 5)
        for order in [.name, .held, .added, .played, nil] as [ListOrder?] {
            let error = #expect(throws: VaultError.self) {
                _ = try ListSelection(order: order, filter: .held).page(of: titles, at: Self.now, after: next, limit: 2)
            }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test("The end of a page has one spelling, which is short, whatever the name")
    func cursor() throws {
        let names = [nil, "a.b-c/d", String(repeating: "\u{65E5}", count: 2000), String(repeating: "7", count: 3000)]
        for name in names {
            for order in ListOrder.allCases {
                let place = order.place(of: try title("aaaaaaaa", name: name, size: .max, added: 1 << 33))
                let cursor = ListCursor(order: order, place: place)
                #expect(ListCursor("\(cursor)") == cursor)
                #expect("\(cursor)".utf8.count <= 800)
                let pattern = try #require(APIDescription.schema("PageEnd")?["pattern"]?.text)
                #expect(try "\(cursor)".wholeMatch(of: Regex(pattern)) != nil)
            }
        }
        let long = Base64.encodeForURL(Array(repeating: 0x61, count: NaturalOrder.maxBytes + 1))
        for wrong in [
            "", ".", "name", "name.0.aaaaaaaa", "name.0.aaaaaaaa.YQ.YQ", "size.+1.aaaaaaaa.YQ", "size.01.aaaaaaaa.YQ",
            "size.99999999999999999999.aaaaaaaa.YQ", "name.0.AAAAAAAA.YQ", "name.0.aaaaaaa.YQ", "other.0.aaaaaaaa.YQ",
            "name.0.aaaaaaaa.YQ==", "name.0.aaaaaaaa._w", "name.0.aaaaaaaa.\(long)", "aaaaaaaa-1", "-1",
        ] { #expect(ListCursor(wrong) == nil, "\(wrong)") }
        #expect(ListCursor("name.0.aaaaaaaa.YQ") != nil, "premise")
    }

    @Test("A search finds words in any order, in the name, the tags and the collection, without accents and ligatures")
    func words() throws {
        var found = try title("aaaaaaaa", name: "Der große Fluß")
        var tags = TitleTags()
        (tags.artist, tags.album) = ("Björk Œuvre", "The ﬁnal Act")
        (found.tags, found.collection) = (tags, "For the trip")
        for text in ["fluss gross", "GROẞE", "bjork fluß", "oeuvre", "final", "FOR trip act", "  fluss  "] {
            #expect(TitleSearch(text: text).finds(found), "\(text)")
        }
        for text in ["fluss klein", "björk zzz", "finales"] {
            #expect(!TitleSearch(text: text).finds(found), "\(text)")
        }
    }

    @Test("Titles that are named by their ids come in that order, without those that are gone")
    func named() throws {
        let titles = try Self.ids.map { SelectableTitle(try title($0)) }
        var selection = ListSelection()
        selection.ids = ["cccccccc", "zzzzzzzz", "aaaaaaaa"].compactMap { TitleID($0) }
        let page = try selection.page(of: titles, at: Self.now, after: nil, limit: 1)
        #expect(page.titles.compactMap { $0.document.id?.description } == ["cccccccc", "aaaaaaaa"] && page.next == nil)
        #expect(!selection.isAll)
    }

    @Test("An empty search finds every title")
    func emptySearch() throws {
        let title = try title("aaaaaaaa", name: "Film")
        for (text, isFound) in [("", true), ("FIL", true), ("aaaa", true), ("x y", false)] {
            #expect(TitleSearch(text: text).finds(title) == isFound, "\(text)")
        }
    }
}
