import VaultModel

/// A file that an entry of a feed names.
struct EntryFile {
    /// The reference to it; nil or empty if the entry states none.
    var reference: String?
    /// Its media type, and its `medium` in Media RSS, such as `image`; nil if not stated.
    var type: String?
    var medium: String?
    /// The base of its reference, itself relative to the base of the entry; nil if none is stated.
    var base: String?

    /// Whether it may be a title: not a picture, and not a text.
    var isMedia: Bool {
        if let medium, ["image", "document", "executable"].contains(medium) { return false }
        let kind = type?.trimmingSpace().lowercased().prefix { $0 != "/" }
        return kind != "image" && kind != "text"
    }

    /// Returns the URL of the file; nil if it cannot be fetched.
    func url(at base: MediaURL?) -> MediaURL? {
        guard let reference = reference?.trimmingSpace().nonEmpty else { return nil }
        return FeedReference.url(reference, at: FeedReference.base(self.base, at: base))
    }
}

extension EntryFile {
    /// Returns the files that an RSS or Atom entry names in any vocabulary, the best first: enclosures and links to
    /// enclosures, then `media:content`, then `podcast:alternateEnclosure`.
    static func files(of entry: MarkupElement) -> [EntryFile] {
        // At any depth, because an element before them may have been left open.
        let elements = entry.descendants
        let enclosures = elements.filter { $0.localName == "enclosure" || $0.isLinkToEnclosure }
        // The `content` element of Atom has the same name, but no `url`.
        let content = elements.filter { $0.localName == "content" && $0["url"] != nil }
        let media = content.filter { $0["isdefault"] == "true" } + content.filter { $0["isdefault"] != "true" }
        let alternates = elements.filter { $0.localName == "alternateenclosure" }
        let chosen = alternates.filter { $0["default"] == "true" } + alternates.filter { $0["default"] != "true" }
        let sources = chosen.flatMap { alternate in
            alternate.elements("source").map { source in
                EntryFile(source, type: source["contenttype"] ?? alternate["type"])
            }
        }
        return (enclosures + media).map { EntryFile($0, type: $0["type"]) } + sources
    }

    /// Returns the publisher's id for an entry, also from any depth.
    static func name(in entry: MarkupElement) -> String? {
        entry.descendants.first { $0.name == "guid" }?.text.nonEmpty
    }

    private init(_ element: MarkupElement, type: String?) {
        self.init(
            reference: element["url"] ?? element["uri"] ?? element["href"], type: type, medium: element["medium"],
            base: element["xml:base"])
    }
}

extension MarkupElement {
    /// All elements in it, in the order of their tags, except those that describe the feed that an entry was taken
    /// from.
    fileprivate var descendants: [MarkupElement] {
        var found: [MarkupElement] = []
        var waiting = Array(elements.reversed())
        while let element = waiting.popLast() {
            found.append(element)
            if element.localName != "source" { waiting += element.elements.reversed() }
        }
        return found
    }

    /// Whether it is an Atom link to a file, which other forms of feeds use, too.
    fileprivate var isLinkToEnclosure: Bool {
        guard localName == "link", let relation = self["rel"]?.trimmingSpace().lowercased() else { return false }
        return relation == "enclosure" || relation == "http://www.iana.org/assignments/relation/enclosure"
    }
}

/// Resolves references in feeds, which may be relative.
enum FeedReference {
    /// Returns the URL of a reference, without user name and password; nil if it cannot be fetched.
    ///
    /// - Parameter base: what it is relative to; nil if it must be absolute.
    static func url(_ reference: String, at base: MediaURL?) -> MediaURL? {
        (base.map { try? URLReference.resolve(reference, at: $0) } ?? (try? MediaURL(reference)))?.withoutCredentials
    }

    /// Returns the URL of a stated base; the outer base if none is stated, or the stated one is invalid.
    static func base(_ stated: String?, at outer: MediaURL?) -> MediaURL? {
        guard let stated = stated?.trimmingSpace() else { return outer }
        return (outer.map { try? URLReference.resolve(stated, at: $0) } ?? (try? MediaURL(stated))) ?? outer
    }

    /// Returns the URL of the first picture that can be fetched.
    static func picture(_ references: [String?], at base: MediaURL?) -> MediaURL? {
        references.lazy.compactMap { $0?.trimmingSpace().nonEmpty }.compactMap { url($0, at: base) }.first
    }
}
