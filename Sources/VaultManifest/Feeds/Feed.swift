package import VaultModel

/// A list of media that its publisher changes: RSS, Atom, JSON Feed, or a list in JSON, XSPF or PLS.
package struct Feed: Hashable, Sendable {
    /// The feed's name to show to users; nil if the feed states none.
    package var title: String?
    /// The picture for every entry that has none of its own; nil if there is none that can be fetched.
    package var picture: MediaURL?
    /// The entries that have a media file, in the feed's order.
    package var entries: [FeedEntry] = []
    /// The entries that name files, but no media file.
    package var passedOver: [FeedEntry] = []
    /// The number of entries without a media file, most of which are articles.
    var texts = 0
    /// The number of entries that are malformed, or that name only files that cannot be fetched.
    package var unusable = 0
    /// The number of entries whose publisher's id was removed because other entries share it.
    package var sharedNames = 0
    /// The faults that were repaired while the feed was read.
    package var repairs = FeedRepairs()
    /// The URL of the page with older entries (RFC 5005); nil if there are no more.
    package var next: MediaURL?
    /// The new URL that the feed states for itself (`itunes:new-feed-url`); nil if it states none.
    package var newLocation: MediaURL?

    /// The maximum number of entries in a feed. A subscription may accept fewer.
    package static let maxEntries = 100_000
    /// The maximum number of entries that are read, including those without a file.
    static let maxStated = 2 * maxEntries
    /// The maximum size of a feed, in bytes.
    package static let maxBytes = 64 << 20
    /// The maximum size, in bytes, of a feed in JSON, whose parser takes many times as much memory, and of a PLS list.
    package static let maxJSONBytes = 4 << 20

    /// Returns the entries in the order in which a limit applies to them: newest first if all have a date. Without a
    /// limit, they keep the feed's order.
    package func entries(underLimit newest: Int?) -> [FeedEntry] {
        guard newest != nil, entries.allSatisfy({ $0.date != nil }) else { return entries }
        // Entries with the same time keep their order.
        let sorted = entries.enumerated().sorted { one, other in
            let (newer, older) = (one.element.date ?? 0, other.element.date ?? 0)
            return newer == older ? one.offset < other.offset : newer > older
        }
        return sorted.map(\.element)
    }

    /// Adds an entry. An entry without a media file is an article, so it is left out.
    ///
    /// - Throws: ``FeedError/tooManyEntries`` if the feed has too many entries.
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

    /// Adds the entries of the feed's next page. Call ``complete()`` after the last page.
    ///
    /// - Parameter known: the URLs of the entries on the previous pages, to which those of this page are added.
    /// - Returns: whether the page is new, because it names a new file or has only text entries. A page that is empty,
    ///   or that names only known entries, may have been sent instead of the requested one.
    /// - Throws: ``FeedError/tooManyEntries`` if the feed has too many entries.
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

    /// Applies the facts that only the whole feed reveals: the picture for entries without one, and which ids are
    /// unique to one entry.
    package mutating func complete() {
        var owners: [String: MediaURL] = [:]
        var shared: Set<String> = []
        for entry in entries {
            guard let guid = entry.guid else { continue }
            if let owner = owners[guid], owner != entry.url { shared.insert(guid) } else { owners[guid] = entry.url }
        }
        for index in entries.indices {
            if entries[index].picture == nil { entries[index].picture = picture }
            // Not even the first of these entries keeps the id, because a newer entry would be the first one in the
            // next run.
            if let guid = entries[index].guid, shared.contains(guid) {
                entries[index].guid = nil
                sharedNames += 1
            }
        }
    }
}

/// An entry of a feed, which is one title.
package struct FeedEntry: Hashable, Sendable {
    /// The URL of the entry's file.
    package let url: MediaURL
    /// The publisher's id for the entry, which stays the same when the URL changes; nil if there is none.
    package var guid: String?
    /// The entry's name to show to users; nil if the entry states none.
    package let title: String?
    /// When the entry was published, in seconds since 1970; nil if that is not stated.
    package let date: Int64?
    /// The entry's own picture, or else the feed's; nil if none can be fetched.
    package var picture: MediaURL?

    /// Creates an entry.
    package init(
        url: MediaURL, guid: String? = nil, title: String? = nil, date: Int64? = nil, picture: MediaURL? = nil
    ) {
        (self.url, self.guid, self.title, self.date, self.picture) = (url, guid, title, date, picture)
    }
}

/// The facts that an entry states, in any form of feed, before they are evaluated.
struct StatedEntry {
    var files: [EntryFile] = []
    var guid: String?
    var title: String?
    /// The entry's dates, in order of preference.
    var dates: [String] = []
    /// The references to the entry's pictures, in order of preference.
    var pictures: [String?] = []
}

extension String {
    /// The text; nil if it is empty.
    var nonEmpty: String? { isEmpty ? nil : self }
}
