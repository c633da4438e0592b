package import VaultModel

// Detects the form of a feed by its beginning.
extension Feed {
    /// Parses a feed.
    ///
    /// - Parameters:
    ///   - base: the URL that its references are relative to; nil if they must be absolute.
    /// - Throws: ``FeedError``; an entry that cannot be used only counts as ``unusable``.
    package init(_ bytes: [UInt8], at base: MediaURL?) throws(FeedError) {
        guard bytes.count <= Self.maxBytes else { throw .markup(.tooLarge(limit: Self.maxBytes)) }
        switch Self.firstByte(of: bytes) {
        case UInt8(ascii: "<"): self = try Self.markup(bytes, at: base)
        case UInt8(ascii: "{"), UInt8(ascii: "["): self = try JSONFeed.read(bytes, at: base)
        default: throw .notAFeed
        }
    }

    /// Returns whether a text begins like a feed, rather than like a list with a title on each line.
    ///
    /// A line of JSON begins a list, too: it is a feed only if all of the text is one value.
    package static func begins(_ bytes: [UInt8]) -> Bool {
        switch firstByte(of: bytes) {
        case UInt8(ascii: "<"), UInt8(ascii: "["): true
        case UInt8(ascii: "{"): JSONFeed.hasEntries(bytes)
        default: false
        }
    }

    private static func firstByte(of bytes: [UInt8]) -> UInt8? {
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
        return text.first { $0 > 0x20 }
    }

    private static func markup(_ bytes: [UInt8], at base: MediaURL?) throws(FeedError) -> Feed {
        let root: MarkupElement
        do {
            root = try MarkupReader.read(bytes, limits: limits)
        } catch {
            // A page is rarely well-formed, and says so before it says anything else.
            throw beginsPage(bytes) ? .webPage : error == .notAManifest ? .notAFeed : .markup(error)
        }
        switch root.localName {
        case "rss", "RDF": return try RSSFeed.read(root, at: base)
        case "feed": return try AtomFeed.read(root, at: base)
        case "html", "HTML": throw .webPage
        default: throw .notAFeed
        }
    }

    private static var limits: ManifestLimits {
        var limits = ManifestLimits()
        limits.maxBytes = maxBytes
        return limits
    }

    private static func beginsPage(_ bytes: [UInt8]) -> Bool {
        let start = String(decoding: bytes.prefix(1024), as: UTF8.self).lowercased()
        return ["<!doctype html", "<html", "<head", "<body", "<script"].contains { start.contains($0) }
    }
}

/// RSS 2.0, and RSS 1.0 as far as it has enclosures.
enum RSSFeed {
    static func read(_ root: MarkupElement, at base: MediaURL?) throws(FeedError) -> Feed {
        guard let channel = root.first("channel") else { throw .notAFeed }
        var feed = Feed(title: channel.plain("title"))
        feed.picture = Feed.picture(channel.pictures + root.pictures, at: base)
        for item in channel.elements("item") + root.elements("item") {
            let files = files(of: item)
            try feed.add(
                FeedMedia.address(in: files, "url"), else: files.first?["url"], guid: item.plain("guid"),
                title: item.plain("title"),
                date: item.plain("pubDate") ?? item.first("date")?.text, pictures: item.pictures, at: base)
        }
        return feed
    }

    /// Returns the files of an item: its enclosures, then what `media:content` names.
    private static func files(of item: MarkupElement) -> [MarkupElement] {
        let groups = [item] + item.elements("group")
        let content = groups.flatMap { $0.elements("content") }.filter { $0["url"] != nil }
        return item.elements("enclosure") + content.filter { $0["isDefault"] == "true" } + content
    }
}

/// Atom (RFC 4287).
enum AtomFeed {
    static func read(_ root: MarkupElement, at base: MediaURL?) throws(FeedError) -> Feed {
        var feed = Feed(title: root.plain("title"))
        let base = root.base(at: base)
        feed.picture = Feed.picture(root.pictures + [root.plain("logo"), root.plain("icon")], at: base)
        for entry in root.elements("entry") {
            let files = entry.elements("link").filter { $0["rel"] == "enclosure" }
            try feed.add(
                FeedMedia.address(in: files, "href"), else: files.first?["href"], guid: entry.plain("id"),
                title: entry.plain("title"), date: entry.plain("published") ?? entry.plain("updated"),
                pictures: entry.pictures, at: entry.base(at: base))
        }
        return feed
    }
}

/// What kinds of files feeds name.
enum FeedMedia {
    /// Returns the reference to the first file that may be a title; empty if it has none, nil if there is no such file.
    static func address(in files: [MarkupElement], _ attribute: String) -> String? {
        // A file without an address is one that cannot be fetched.
        files.first { isMedia(type: $0["type"], medium: $0["medium"]) }.map { $0[attribute] ?? "" }
    }

    /// Returns whether a file may be a title: not a picture, and not a text.
    static func isMedia(type: String?, medium: String?) -> Bool {
        if let medium, ["image", "document", "executable"].contains(medium) { return false }
        let kind = type?.trimmingSpace().lowercased().prefix { $0 != "/" }
        return kind != "image" && kind != "text"
    }
}

extension MarkupElement {
    /// The text of the first child with this name and no prefix; of any, if there is none without.
    fileprivate func plain(_ name: String) -> String? {
        (elements.first { $0.name == name } ?? first(name))?.text.nonEmpty
    }

    /// The references to the pictures that stand for it, the best first: `itunes:image`, `media:thumbnail`, also within
    /// `media:group` and `media:content`, and the `image` of RSS.
    fileprivate var pictures: [String] {
        let images = elements("image")
        let groups = [self] + elements("group")
        let media = groups + groups.flatMap { $0.elements("content") }
        return images.compactMap { $0["href"] } + media.flatMap { $0.elements("thumbnail") }.compactMap { $0["url"] }
            + images.compactMap { $0.plain("url") }
    }

    /// Returns the URL that references in it are relative to.
    fileprivate func base(at outer: MediaURL?) -> MediaURL? {
        guard let stated = attributes.first(where: { $0.name == "xml:base" })?.value.trimmingSpace() else {
            return outer
        }
        return (outer.map { try? URLReference.resolve(stated, at: $0) } ?? (try? MediaURL(stated))) ?? outer
    }
}
