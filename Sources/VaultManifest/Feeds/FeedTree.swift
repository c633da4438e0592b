/// Builds the elements of a feed entry by entry, so that a feed takes no more memory than what is kept of it.
///
/// An end tag closes what it names, with all that was left open in it; one that names nothing open is passed over.
struct FeedTree {
    /// The deepest nesting of elements.
    static let maxDepth = 256
    /// The most elements of an entry, and of all that is around the entries.
    static let maxElements = 200_000

    private var markup: FeedMarkup
    /// The elements that are open, outermost first.
    private var open: [MarkupElement] = []
    /// How many of them have a name.
    private var names: [String: Int] = [:]
    /// How many elements are kept, and how many of them are not in an entry.
    private var (elements, around) = (0, 0)
    /// What begins a new entry, where another one was left open.
    private var waiting: FeedMarkup.Piece?
    /// The root without its entries, once it is whole.
    private(set) var root: MarkupElement?

    private static let roots: Set<Substring> = ["rss", "rdf", "feed", "channel"]
    private static let entries: Set<Substring> = ["item", "entry"]
    /// What no end tag of another element closes.
    private static let walls = roots.union(entries)
    /// The elements of HTML that have no content, and those that end where another one begins.
    private static let (voids, siblings): (Set<String>, Set<String>) = (
        ["br", "hr", "img", "input", "meta", "wbr"], ["p", "li"]
    )

    init(_ bytes: [UInt8]) { markup = FeedMarkup(bytes) }

    /// What was not as it should be, so far.
    var repairs: FeedRepairs { markup.repairs }

    /// The `xml:base` of the elements around the entry that was returned last, outermost first.
    var bases: [String] { open.compactMap { $0["xml:base"] } }

    /// Returns the next entry; nil once the feed has ended.
    ///
    /// - Throws: ``FeedError``.
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

    /// Adds a text to that before it, if there is one: a feed may have millions of pieces.
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
    /// - Returns: the entry that it ends.
    private mutating func begin(_ element: MarkupElement, _ isEmpty: Bool) throws(FeedError) -> MarkupElement? {
        let name = element.localName
        if open.isEmpty, !Self.roots.contains(name) {
            guard !["html", "head", "body", "script"].contains(name) else { throw .webPage }
            markup.repairs.count(.before)
            return nil
        }
        if Self.entries.contains(name), let place = open.firstIndex(where: { Self.entries.contains($0.localName) }) {
            markup.repairs.count(.tag)
            waiting = .start(element, isEmpty: isEmpty)
            return close(place)
        }
        if Self.siblings.contains(element.name), open.last?.name == element.name { _ = close(open.count - 1) }
        guard open.count < Self.maxDepth else { throw markup.error(.tooDeep) }
        if Self.entries.contains(name) { around = elements }
        elements += 1
        guard elements <= Self.maxElements else { throw markup.error(.tooManyElements) }
        open.append(element)
        names[element.name, default: 0] += 1
        return isEmpty || Self.voids.contains(element.name) ? close(open.count - 1) : nil
    }

    /// Returns the open element that an end tag closes.
    private func place(closedBy name: String) -> Int? {
        guard names[name] != nil else { return nil }
        for place in open.indices.reversed() {
            if open[place].name == name { return place }
            let isWall = Self.walls.contains(open[place].localName)
            if isWall, !Self.walls.contains(name.withoutPrefix) { return nil }
        }
        return nil
    }

    /// Closes an element, and all in it.
    ///
    /// - Returns: the entry among them.
    private mutating func close(_ place: Int) -> MarkupElement? {
        markup.repairs.count(.tag, open.count - 1 - place)
        var entry: MarkupElement?
        while open.count > place, let element = open.popLast() {
            names[element.name] = names[element.name].flatMap { $0 > 1 ? $0 - 1 : nil }
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

    /// Judges the end: what was cut short would seem to name fewer titles than it does.
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
            // The end was none.
            throw markup.error(.end)
        }
        if hasMore { markup.repairs.count(.after) }
    }
}
