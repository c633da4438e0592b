import VaultModel

/// A file that a feed entry names.
struct EntryFile {
    /// The reference to the file; nil or empty if the entry states none.
    var reference: String?
    /// The file's media type, and its `medium` in Media RSS, such as `image`; nil if not stated.
    var type: String?
    var medium: String?
    /// The base of the file's reference, which is itself relative to the entry's base; nil if none is stated.
    var base: String?

    /// Whether the file may be a title, rather than a picture or text.
    var isMedia: Bool {
        if let medium, ["image", "document", "executable"].contains(medium) { return false }
        let kind = type?.trimmingSpace().lowercased().prefix { $0 != "/" }
        return kind != "image" && kind != "text"
    }

    /// Returns the file's URL; nil if it cannot be fetched.
    func url(at base: MediaURL?) -> MediaURL? {
        guard let reference = reference?.trimmingSpace().nonEmpty else { return nil }
        return FeedReference.url(reference, at: FeedReference.base(self.base, at: base))
    }
}

extension EntryFile {
    /// Returns the files that an RSS or Atom entry names in any vocabulary, in order of preference: enclosures and
    /// links to enclosures, then `media:content`, then `podcast:alternateEnclosure`.
    static func files(of entry: MarkupElement) -> [EntryFile] {
        // They may be at any depth, because an element before them may have been left open.
        let elements = entry.descendants
        let enclosures = elements.filter { $0.localName == "enclosure" || $0.isLinkToEnclosure }
        // Atom's `content` element has the same name, but no `url`.
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

    /// Returns the publisher's id for an entry, searching at any depth.
    static func name(in entry: MarkupElement) -> String? {
        entry.descendants.first { $0.name == "guid" }?.text.nonEmpty
    }

    private init(_ element: MarkupElement, type: String?) {
        self.init(
            reference: element["url"] ?? element["uri"] ?? element["href"], type: type, medium: element["medium"],
            base: element["xml:base"])
    }
}

/// Resolves references in feeds, which may be relative.
enum FeedReference {
    /// Returns a reference's URL, without user name and password; nil if it cannot be fetched.
    ///
    /// - Parameter base: the URL that the reference is relative to; nil if the reference must be absolute.
    static func url(_ reference: String, at base: MediaURL?) -> MediaURL? {
        (base.map { try? URLReference.resolve(reference, at: $0) } ?? (try? MediaURL(reference)))?.withoutCredentials
    }

    /// Returns the URL of a stated base. Returns the outer base if none is stated, or if the stated one is invalid.
    static func base(_ stated: String?, at outer: MediaURL?) -> MediaURL? {
        guard let stated = stated?.trimmingSpace() else { return outer }
        return (outer.map { try? URLReference.resolve(stated, at: $0) } ?? (try? MediaURL(stated))) ?? outer
    }

    /// Returns the URL of the first picture that can be fetched; nil if there is none.
    static func picture(_ references: [String?], at base: MediaURL?) -> MediaURL? {
        references.lazy.compactMap { $0?.trimmingSpace().nonEmpty }.compactMap { url($0, at: base) }.first
    }
}
