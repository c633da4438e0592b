package import VaultModel

/// A list of media that its publisher changes: RSS, Atom, JSON Feed, or a list in JSON, XSPF or PLS.
package struct Feed: Hashable, Sendable {
    /// The name for people; nil if it states none.
    package var title: String?
    /// The picture that stands for every entry without one of its own; nil if none can be fetched.
    package var picture: MediaURL?
    /// What has a media file, in the order of the feed.
    package var entries: [FeedEntry] = []
    /// What names a file, but only of a type that is no media.
    package var passedOver: [FeedEntry] = []
    /// How many entries have no media file: most are texts to read.
    var texts = 0
    /// How many entries name a file that cannot be fetched.
    package var unusable = 0
    /// How many entries share the publisher's name for them with others, so that they have none.
    package var sharedNames = 0
    /// What was read although it is not as it should be.
    package var repairs = FeedRepairs()
    /// Where older entries are (RFC 5005); nil if these are all.
    package var next: MediaURL?
    /// Where the feed says that it is from now on (`itunes:new-feed-url`); nil if it does not.
    package var newLocation: MediaURL?

    /// The most entries of a feed, of which fewer may be wanted.
    package static let maxEntries = 100_000
    /// The most entries that are read, also those without a file.
    static let maxStated = 2 * maxEntries
    /// The most bytes of a feed.
    package static let maxBytes = 64 << 20
    /// The most bytes of one in JSON: its parser takes many times as much memory.
    package static let maxJSONBytes = 4 << 20

    /// Returns the entries in the order in which a limit takes them: the newest first, if all have a date. Without a limit
    /// they stand as in the feed.
    package func entries(underLimit newest: Int?) -> [FeedEntry] {
        guard newest != nil, entries.allSatisfy({ $0.date != nil }) else { return entries }
        // Entries of one time keep their order.
        let sorted = entries.enumerated().sorted { one, other in
            let (newer, older) = (one.element.date ?? 0, other.element.date ?? 0)
            return newer == older ? one.offset < other.offset : newer > older
        }
        return sorted.map(\.element)
    }

    /// Adds what an entry states. One without a file is a text to read, and is left out.
    ///
    /// - Throws: ``FeedError/tooManyEntries``.
    mutating func add(_ entry: StatedEntry, at base: MediaURL?) throws(FeedError) {
        let guid = entry.guid?.trimmingSpace().nonEmpty
        let media = entry.files.filter(\.isMedia)
        guard !media.isEmpty else {
            texts += 1
            if passedOver.count < Self.maxEntries, let url = entry.files.lazy.compactMap({ $0.url(at: base) }).first {
                passedOver.append(FeedEntry(url: url, guid: guid))
            }
            return
        }
        guard entries.count + unusable < Self.maxEntries else { throw .tooManyEntries }
        guard let url = media.lazy.compactMap({ $0.url(at: base) }).first else {
            unusable += 1
            return
        }
        let dates = entry.dates.filter { !$0.trimmingSpace().isEmpty }
        let date = dates.lazy.compactMap(FeedDate.seconds).first
        if date == nil, !dates.isEmpty { repairs.count(.date) }
        entries.append(
            FeedEntry(
                url: url, guid: guid, title: entry.title, date: date,
                picture: FeedReference.picture(entry.pictures, at: base)))
    }

    /// Adds the entries of its next page. Call ``complete()`` after the last one.
    ///
    /// - Parameter known: what the pages before name, to which this page is added.
    /// - Returns: whether it is a page of its own: it names anything new, or has texts alone. One that is empty, or
    ///   names only what is known, may stand in the place of another.
    /// - Throws: ``FeedError/tooManyEntries``.
    package mutating func append(_ page: Feed, to known: inout Set<MediaURL>) throws(FeedError) -> Bool {
        guard entries.count + unusable + page.entries.count + page.unusable <= Self.maxEntries else {
            throw .tooManyEntries
        }
        let count = known.count
        known.formUnion(page.entries.lazy.map(\.url))
        entries += page.entries
        passedOver += page.passedOver.prefix(Self.maxEntries - passedOver.count)
        unusable += page.unusable
        sharedNames += page.sharedNames
        repairs.add(page.repairs)
        let hasTextsAlone = page.entries.isEmpty && page.texts > 0
        return known.count > count || page.unusable > 0 || hasTextsAlone
    }

    /// Decides what only the whole feed shows: the picture of entries without one, and which names tell entries apart.
    package mutating func complete() {
        var owners: [String: MediaURL] = [:]
        var shared: Set<String> = []
        for entry in entries {
            guard let guid = entry.guid else { continue }
            if let owner = owners[guid], owner != entry.url { shared.insert(guid) } else { owners[guid] = entry.url }
        }
        for index in entries.indices {
            if entries[index].picture == nil { entries[index].picture = picture }
            // The first of them keeps it no more than the others: it is not the first once there is a newer one.
            if let guid = entries[index].guid, shared.contains(guid) {
                entries[index].guid = nil
                sharedNames += 1
            }
        }
    }
}

/// An entry of a feed: one title.
package struct FeedEntry: Hashable, Sendable {
    /// Where its file is.
    package let url: MediaURL
    /// The publisher's own name for it, which stays when its URL changes; nil if there is none.
    package var guid: String?
    /// The name for people; nil if it states none.
    package let title: String?
    /// When it was published, in seconds since 1970; nil if that is not stated.
    package let date: Int64?
    /// The picture that stands for it, its own or that of the feed; nil if none can be fetched.
    package var picture: MediaURL?

    /// Creates an entry.
    package init(
        url: MediaURL, guid: String? = nil, title: String? = nil, date: Int64? = nil, picture: MediaURL? = nil
    ) {
        (self.url, self.guid, self.title, self.date, self.picture) = (url, guid, title, date, picture)
    }
}

/// What an entry of any form of feed states, before anything is made of it.
struct StatedEntry {
    var files: [EntryFile] = []
    var guid: String?
    var title: String?
    /// The times that stand for it, the best first.
    var dates: [String] = []
    /// The references to its pictures, the best first.
    var pictures: [String?] = []
}

extension String {
    /// The text; nil if it is empty.
    var nonEmpty: String? { isEmpty ? nil : self }
}
