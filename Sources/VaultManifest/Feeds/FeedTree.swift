/// Builds a feed's elements one entry at a time, so that no more of the feed is in memory than the caller keeps.
///
/// An end tag closes the element that it names, along with everything left open inside it. An end tag that names no
/// open element is skipped.
struct FeedTree {
    /// The maximum depth of nested elements.
    static let maxDepth = 256
    /// The maximum number of elements in one entry together with those around the entries.
    static let maxElements = 200_000

    private var markup: FeedMarkup
    /// The open elements, outermost first.
    private var open: [MarkupElement] = []
    /// The indexes of the open elements with each name, outermost first.
    private var places: [String: [Int]] = [:]
    /// The indexes of the open elements that no other element's end tag can close, outermost first.
    private var walls: [Int] = []
    /// The index of the open entry, of which there is at most one; nil if there is none.
    private var entry: Int?
    /// The `xml:base` values of the open elements that have one, outermost first, and the indexes of those elements.
    private var based: (values: [String], places: [Int]) = ([], [])
    /// The number of elements that are kept, and the number of those that are not in an entry.
    private var (elements, around) = (0, 0)
    /// The start of a new entry, if the previous entry was left open.
    private var waiting: FeedMarkup.Piece?
    /// The root without its entries; nil until it is complete.
    private(set) var root: MarkupElement?

    private static let roots: Set<Substring> = ["rss", "rdf", "feed", "channel"]
    private static let entries: Set<Substring> = ["item", "entry"]
    /// The elements that no other element's end tag can close.
    private static let closed = roots.union(entries)
    /// The HTML elements that have no content, and those that end where the next element of the same name begins.
    private static let (voids, siblings): (Set<String>, Set<String>) = (
        ["br", "hr", "img", "input", "meta", "wbr"], ["p", "li"]
    )

    init(_ bytes: [UInt8]) { markup = FeedMarkup(bytes) }

    /// The faults that have been repaired so far.
    var repairs: FeedRepairs { markup.repairs }

    /// The `xml:base` values of the elements around the last returned entry, outermost first.
    var bases: [String] { based.values }

    /// Returns the next entry; nil once the feed has ended.
    ///
    /// - Throws: ``FeedError`` if the feed cannot be read.
    mutating func nextEntry() throws(FeedError) -> MarkupElement? {
        while root == nil, let piece = try nextPiece() {
            switch piece {
            case .text(let text) where open.isEmpty:
                if !text.trimmingSpace().isEmpty { markup.repairs.count(.before) }
            case .text(let text): add(text)
            case .start(let element, let isEmpty):
                if let entry = try begin(element, isEmpty) { return entry }
            case .end(let name):
                guard let place = place(closedBy: name) else {
                    markup.repairs.count(.tag)
                    continue
                }
                if let entry = close(place) { return entry }
            }
        }
        try finish()
        return nil
    }

    private mutating func nextPiece() throws(FeedError) -> FeedMarkup.Piece? {
        if let piece = waiting.take() { return piece }
        return try markup.next()
    }

    /// Adds text, joining it to any text directly before it, because a feed may have millions of pieces.
    private mutating func add(_ text: String) {
        let last = open.count - 1
        if case .text(var whole)? = open[last].children.last {
            open[last].children.removeLast()
            whole += text
            open[last].children.append(.text(whole))
        } else {
            open[last].children.append(.text(text))
        }
    }

    /// Opens an element.
    ///
    /// - Returns: the entry that this element ends; nil if it ends none.
    private mutating func begin(_ element: MarkupElement, _ isEmpty: Bool) throws(FeedError) -> MarkupElement? {
        let name = element.localName
        if open.isEmpty, !Self.roots.contains(name) {
            guard !["html", "head", "body", "script"].contains(name) else { throw .webPage }
            markup.repairs.count(.before)
            return nil
        }
        let isEntry = Self.entries.contains(name)
        if isEntry, let entry {
            markup.repairs.count(.tag)
            waiting = .start(element, isEmpty: isEmpty)
            return close(entry)
        }
        if Self.siblings.contains(element.name), open.last?.name == element.name { _ = close(open.count - 1) }
        guard open.count < Self.maxDepth else { throw markup.error(.tooDeep) }
        if isEntry { around = elements }
        elements += 1
        guard elements <= Self.maxElements else { throw markup.error(.tooManyElements) }
        push(element, isEntry: isEntry)
        return isEmpty || Self.voids.contains(element.name) ? close(open.count - 1) : nil
    }

    /// Returns the index of the open element that an end tag closes; nil if it closes none.
    private func place(closedBy name: String) -> Int? {
        guard let place = places[name]?.last else { return nil }
        return Self.closed.contains(name.withoutPrefix) || walls.last ?? 0 <= place ? place : nil
    }

    // Open elements are looked up rather than searched for, because a feed may have millions of tags within hundreds of
    // elements.

    private mutating func push(_ element: MarkupElement, isEntry: Bool) {
        let place = open.count
        open.append(element)
        places[element.name, default: []].append(place)
        if Self.closed.contains(element.localName) { walls.append(place) }
        if isEntry { entry = place }
        if let base = element["xml:base"] {
            based.values.append(base)
            based.places.append(place)
        }
    }

    private mutating func pop() -> MarkupElement? {
        guard let element = open.popLast() else { return nil }
        let place = open.count
        _ = places[element.name]?.popLast()
        if places[element.name]?.isEmpty == true { places[element.name] = nil }
        if walls.last == place { walls.removeLast() }
        if entry == place { entry = nil }
        if based.places.last == place {
            based.values.removeLast()
            based.places.removeLast()
        }
        return element
    }

    /// Closes an element and everything open inside it.
    ///
    /// - Returns: the entry among the closed elements; nil if there is none.
    private mutating func close(_ place: Int) -> MarkupElement? {
        markup.repairs.count(.tag, open.count - 1 - place)
        var entry: MarkupElement?
        while open.count > place, let element = pop() {
            if Self.entries.contains(element.localName), !open.isEmpty {
                entry = element
                elements = around
            } else if open.isEmpty {
                root = element
            } else {
                open[open.count - 1].children.append(.element(element))
            }
        }
        return entry
    }

    /// Checks that the feed is complete, because a truncated feed would seem to drop titles.
    private mutating func finish() throws(FeedError) {
        if root == nil {
            guard !open.isEmpty else { throw .notAFeed }
            guard open.count == 1, open[0].localName == "rss", open[0].first("channel") != nil else {
                throw markup.error(.end)
            }
            _ = close(0)
            markup.repairs.count(.tag)
        }
        var hasMore = false
        while let piece = try? markup.next() {
            if case .text(let text) = piece, text.trimmingSpace().isEmpty { continue }
            hasMore = true
            guard case .start(let element, _) = piece, Self.entries.contains(element.localName) else { continue }
            // More entries follow, so that was not the feed's end.
            throw markup.error(.end)
        }
        if hasMore { markup.repairs.count(.after) }
    }
}
