package import VaultModel

// Detects the form of a feed from its beginning.
extension Feed {
    /// Parses a feed.
    ///
    /// - Parameters:
    ///   - type: the media type that the origin states; nil if it states none.
    ///   - base: the URL that the feed's references are relative to; nil if they must be absolute.
    /// - Throws: ``FeedError`` if the feed cannot be read. An entry that cannot be used does not cause an error, but is
    ///   counted as ``unusable``.
    package init(_ bytes: [UInt8], type: String? = nil, at base: MediaURL?) throws(FeedError) {
        guard bytes.count <= Self.maxBytes else { throw .tooLarge(limit: Self.maxBytes) }
        let text = FeedText(bytes, type: type)
        switch Self.firstByte(of: text) {
        case UInt8(ascii: "<"):
            switch FeedMarkup.root(of: text.bytes) {
            case "opml": throw .listOfFeeds(try ListMarkup.feeds(inOPML: text.bytes, at: base))
            case "playlist": self = try ListMarkup.playlist(inXSPF: text.bytes, at: base)
            default: self = try MarkupFeed.read(text.bytes, at: base)
            }
        case UInt8(ascii: "[") where PLSList.begins(text.bytes): self = try PLSList.read(text.bytes, at: base)
        case UInt8(ascii: "{"), UInt8(ascii: "["): self = try JSONFeed.read(text.bytes, at: base)
        default: throw .notAFeed
        }
        repairs.encoding = text.guessed
        complete()
    }

    /// Returns whether a text begins like a feed, rather than like a list with a title on each line.
    ///
    /// A line of JSON may also begin such a list, so a text that begins with `{` is a feed only if it is a single JSON
    /// value.
    package static func begins(_ bytes: [UInt8]) -> Bool {
        let text = FeedText(bytes)
        return switch firstByte(of: text) {
        case UInt8(ascii: "<"), UInt8(ascii: "["): true
        case UInt8(ascii: "{"): JSONFeed.hasEntries(text.bytes)
        default: false
        }
    }

    private static func firstByte(of text: FeedText) -> UInt8? { text.bytes.first { $0 > 0x20 } }
}

/// Reads RSS and Atom (RFC 4287). Each borrows from the other, so an entry of either may contain elements of both.
private enum MarkupFeed {
    static func read(_ bytes: [UInt8], at base: MediaURL?) throws(FeedError) -> Feed {
        var tree = FeedTree(bytes)
        var feed = Feed()
        var count = 0
        var around: (bases: [String], base: MediaURL?) = ([], base)
        do throws(FeedError) {
            while let entry = try tree.nextEntry() {
                count += 1
                guard count <= Feed.maxStated else { throw FeedError.tooManyEntries }
                let stated = StatedEntry(entry)
                // A base is resolved once, and only if an entry has a file.
                guard !stated.files.isEmpty else {
                    feed.texts += 1
                    continue
                }
                let bases = tree.bases
                if bases != around.bases {
                    around = (bases, bases.reduce(base) { FeedReference.base($1, at: $0) })
                }
                try feed.add(stated, at: FeedReference.base(entry["xml:base"], at: around.base))
            }
        } catch {
            // A web page is recognized by its beginning.
            throw beginsPage(bytes) ? .webPage : error
        }
        guard let root = tree.root else { throw .notAFeed }
        feed.repairs.add(tree.repairs)
        let hasChannel = root.localName == "rss" || root.localName == "rdf"
        guard let channel = hasChannel ? root.first("channel") ?? (count > 0 ? root : nil) : root else {
            throw .notAFeed
        }
        let place = FeedReference.base(root["xml:base"], at: base)
        feed.title = channel.title
        feed.picture = FeedReference.picture(
            channel.pictures + root.pictures + [channel.plain("logo"), channel.plain("icon")], at: place)
        feed.next = (channel.next ?? root.next).flatMap { FeedReference.url($0, at: place) }
        feed.newLocation = channel.plain("new-feed-url").flatMap { FeedReference.url($0, at: place) }
        return feed
    }

    private static func beginsPage(_ bytes: [UInt8]) -> Bool {
        let start = String(decoding: bytes.prefix(1024), as: UTF8.self).lowercased()
        return !["<rss", "<feed", "<rdf"].contains { start.contains($0) }
            && ["<!doctype html", "<html", "<head", "<body", "<script"].contains { start.contains($0) }
    }
}

extension StatedEntry {
    fileprivate init(_ entry: MarkupElement) {
        files = EntryFile.files(of: entry)
        // Like the entry's file, its id may be inside an element that was left open.
        guid = entry.plain("guid") ?? entry.plain("id") ?? EntryFile.name(in: entry)
        title = entry.title
        dates = ["pubdate", "published", "issued", "date", "updated", "modified", "created"].compactMap(entry.plain)
        pictures = entry.pictures
    }
}
