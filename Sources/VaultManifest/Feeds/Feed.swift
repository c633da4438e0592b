package import VaultModel

/// A list of media that its publisher changes: RSS, Atom, JSON Feed, or a list in JSON.
package struct Feed: Hashable, Sendable {
    /// The name for people; nil if it states none.
    package var title: String?
    /// The picture that stands for every entry without one of its own; nil if none can be fetched.
    package var picture: MediaURL?
    /// What has a media file, in the order of the feed.
    package var entries: [FeedEntry] = []
    /// What names a file, but only of a type that is no media.
    package var passedOver: [FeedEntry] = []
    /// How many entries name a file that cannot be fetched.
    package var unusable = 0

    /// The most entries of a feed.
    package static let maxEntries = 10_000
    /// The most bytes of a feed.
    package static let maxBytes = 16 << 20
    /// The most bytes of one in JSON: its parser takes many times as much memory.
    package static let maxJSONBytes = 4 << 20

    /// Returns the newest entries, if all have a date; else the first ones.
    ///
    /// - Parameter count: how many; nil for all.
    package func newest(_ count: Int?) -> [FeedEntry] {
        guard let count else { return entries }
        guard entries.allSatisfy({ $0.date != nil }) else { return Array(entries.prefix(count)) }
        // Entries of one time keep their order.
        let sorted = entries.enumerated().sorted { one, other in
            let (newer, older) = (one.element.date ?? 0, other.element.date ?? 0)
            return newer == older ? one.offset < other.offset : newer > older
        }
        return sorted.prefix(count).map(\.element)
    }

    /// Adds what an entry states.
    ///
    /// - Parameter address: the reference to its file, which counts as unusable if it is empty; nil if the entry names
    ///   no file: a text to read.
    /// - Parameter other: the reference to its file if that is no media.
    /// - Parameter pictures: the references to its pictures, the best first.
    /// - Throws: ``FeedError/tooManyEntries``.
    mutating func add(
        _ address: String?, else other: String? = nil, guid: String?, title: String?, date: String?,
        pictures: [String?] = [], at base: MediaURL?
    ) throws(FeedError) {
        guard let address = address?.trimmingSpace() else {
            if passedOver.count < Self.maxEntries, let url = other.flatMap({ Self.url($0.trimmingSpace(), at: base) }) {
                passedOver.append(FeedEntry(url: url, guid: guid?.trimmingSpace().nonEmpty))
            }
            return
        }
        guard entries.count + unusable < Self.maxEntries else { throw .tooManyEntries }
        guard !address.isEmpty else {
            unusable += 1
            return
        }
        guard let url = Self.url(address, at: base) else {
            unusable += 1
            return
        }
        entries.append(
            FeedEntry(
                url: url, guid: guid?.trimmingSpace().nonEmpty, title: title?.trimmingSpace().nonEmpty,
                date: date.flatMap(FeedDate.seconds), picture: Self.picture(pictures, at: base) ?? picture))
    }

    /// Returns the first of some references to pictures that can be fetched.
    static func picture(_ references: [String?], at base: MediaURL?) -> MediaURL? {
        references.lazy.compactMap { $0?.trimmingSpace().nonEmpty }.compactMap { url($0, at: base) }.first
    }

    private static func url(_ reference: String, at base: MediaURL?) -> MediaURL? {
        (base.map { try? URLReference.resolve(reference, at: $0) } ?? (try? MediaURL(reference)))?.withoutCredentials
    }
}

/// An entry of a feed: one title.
package struct FeedEntry: Hashable, Sendable {
    /// Where its file is.
    package let url: MediaURL
    /// The publisher's own name for it, which stays when its URL changes; nil if there is none.
    package let guid: String?
    /// The name for people; nil if it states none.
    package let title: String?
    /// When it was published, in seconds since 1970; nil if that is not stated.
    package let date: Int64?
    /// The picture that stands for it, its own or that of the feed; nil if none can be fetched.
    package let picture: MediaURL?

    /// Creates an entry.
    package init(
        url: MediaURL, guid: String? = nil, title: String? = nil, date: Int64? = nil, picture: MediaURL? = nil
    ) {
        (self.url, self.guid, self.title, self.date, self.picture) = (url, guid, title, date, picture)
    }
}

/// Why a feed cannot be read. It never contains text of the feed.
package enum FeedError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The bytes are something else.
    case notAFeed
    /// The bytes are a web page: a login, or the portal of a network.
    case webPage
    /// The feed has more entries than ``Feed/maxEntries``.
    case tooManyEntries
    /// The XML is malformed or refused.
    case markup(ManifestError)
    /// The JSON is malformed.
    case json

    /// The reason, in plain English.
    package var description: String {
        switch self {
        case .notAFeed: "it is neither RSS, Atom, JSON Feed nor a list in JSON"
        case .webPage: "it is a web page"
        case .tooManyEntries: "it has more than \(Feed.maxEntries) entries"
        case .markup(let error): error.description
        case .json: "its JSON is malformed"
        }
    }
}

extension String {
    /// The text; nil if it is empty.
    var nonEmpty: String? { isEmpty ? nil : self }
}
