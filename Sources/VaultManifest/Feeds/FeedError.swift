package import VaultModel

/// The reason why a feed cannot be read. It never contains text from the feed, except for the URLs that a list of feeds
/// names.
package enum FeedError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The bytes are not a feed.
    case notAFeed
    /// The bytes are a web page, such as a login page or a network's portal.
    case webPage
    /// The feed has more entries than ``Feed/maxEntries``.
    case tooManyEntries
    /// The feed exceeds this number of bytes.
    case tooLarge(limit: Int)
    /// The markup has no likely meaning, or is refused.
    case markup(TextPlace, Cause)
    /// The XML list is malformed or is refused.
    case list(ManifestError)
    /// The bytes name feeds rather than titles.
    case listOfFeeds([MediaURL])
    /// The JSON is malformed. The place is nil if it is unknown.
    case json(TextPlace?)

    /// The reason why markup is unusable.
    package enum Cause: Hashable, Sendable {
        case comment, section, instruction, documentType, attribute, tag
        /// The document type defines an entity that HTML does not have, or refers to entities in another document.
        case entity
        case tooDeep, tooManyAttributes, tooManyElements
        /// The text ends before the feed does.
        case end

        fileprivate var text: String {
            switch self {
            case .comment: "a comment does not end"
            case .section: "a CDATA section does not end"
            case .instruction: "an instruction does not end"
            case .documentType: "a document type does not end"
            case .attribute: "the value of an attribute does not end"
            case .tag: "a tag does not end"
            case .entity: "the document type defines an entity, and none is expanded"
            case .tooDeep: "elements are nested more than \(FeedTree.maxDepth) deep"
            case .tooManyAttributes: "a tag has more than \(FeedMarkup.maxAttributes) attributes"
            case .tooManyElements: "there are more than \(FeedTree.maxElements) elements around or in one entry"
            case .end: "it breaks off"
            }
        }
    }

    /// The reason, in plain English.
    package var description: String {
        switch self {
        case .notAFeed: "it is neither RSS, Atom, JSON Feed nor a list in JSON, XSPF or PLS"
        case .webPage: "it is a web page"
        case .tooManyEntries: "it has more than \(Feed.maxEntries) entries"
        case .tooLarge(let limit): "it is larger than \(limit) bytes"
        case .markup(let place, let cause): "\(place): \(cause.text)"
        case .list(let error): "\(error)"
        case .listOfFeeds(let feeds): Self.text(of: feeds)
        case .json(let place): (place.map { "\($0): " } ?? "") + "its JSON is malformed"
        }
    }

    /// The remedy, phrased as an instruction; nil if there is none apart from what the reason suggests.
    package var remedy: String? {
        if case .listOfFeeds = self { "follow each of them by itself" } else { nil }
    }

    /// The maximum number of feeds that are named from a list, and the maximum number of characters of each URL.
    private static let (mostNamed, mostCharacters) = (50, 300)

    private static func text(of feeds: [MediaURL]) -> String {
        let named = feeds.prefix(mostNamed).map { String($0.description.prefix(mostCharacters)) }
        let rest = feeds.count > mostNamed ? [", and \(feeds.count - mostNamed) more"] : []
        let count = feeds.count == 1 ? "1 feed" : "\(feeds.count) feeds"
        return "it is a list of \(count) (OPML)" + (feeds.isEmpty ? "" : ": ") + named.joined(separator: ", ")
            + rest.joined()
    }
}

/// A place in a text, as it is shown to users.
package struct TextPlace: Hashable, Sendable, CustomStringConvertible {
    /// The line and column, both counted from 1.
    package let line: Int, column: Int

    /// Creates a place.
    package init(line: Int, column: Int) { (self.line, self.column) = (line, column) }

    /// Finds the line and column of a byte in a UTF-8 text.
    init(of index: Int, in text: [UInt8]) {
        let before = text[..<index]
        let line = before.lastIndex(of: UInt8(ascii: "\n")).map { before[($0 + 1)...] } ?? before
        self.init(
            line: before.count { $0 == UInt8(ascii: "\n") } + 1, column: String(decoding: line, as: UTF8.self).count + 1
        )
    }

    /// The place in the form shown to users, such as `line 3, column 14`.
    package var description: String { "line \(line), column \(column)" }
}
