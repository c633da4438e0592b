import VaultModel

/// A file that an entry of a feed names.
struct EntryFile {
    /// The reference to it; nil or empty if the entry states none.
    var reference: String?
    /// Its media type, and in a few words what it is (Media RSS); nil if that is not stated.
    var type: String?
    var medium: String?
    /// What its reference is relative to, itself relative to the base of the entry; nil if nothing is stated.
    var base: String?

    /// Whether it may be a title: not a picture, and not a text.
    var isMedia: Bool {
        if let medium, ["image", "document", "executable"].contains(medium) { return false }
        let kind = type?.trimmingSpace().lowercased().prefix { $0 != "/" }
        return kind != "image" && kind != "text"
    }

    /// Returns where it is; nil if it cannot be fetched.
    func url(at base: MediaURL?) -> MediaURL? {
        guard let reference = reference?.trimmingSpace().nonEmpty else { return nil }
        return FeedReference.url(reference, at: FeedReference.base(self.base, at: base))
    }
}

extension EntryFile {
    /// Returns the files of an entry of RSS or Atom in whatever vocabulary they are named, the best first: enclosures and
    /// links to enclosures, then `media:content`, then `podcast:alternateEnclosure`.
    static func files(of entry: MarkupElement) -> [EntryFile] {
        // At any depth, because an element before them may have been left open.
        let elements = entry.descendants
        let enclosures = elements.filter { $0.localName == "enclosure" || $0.isLinkToEnclosure }
        // The content of Atom has the same name, and no such address.
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

    /// Returns the publisher's name for an entry, at any depth as well.
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
    /// All elements in it, in the order of their tags, without those of the feed that an entry was taken from.
    fileprivate var descendants: [MarkupElement] {
        var found: [MarkupElement] = []
        var waiting = Array(elements.reversed())
        while let element = waiting.popLast() {
            found.append(element)
            if element.localName != "source" { waiting += element.elements.reversed() }
        }
        return found
    }

    /// Whether it is a link of Atom to a file, as the feeds of other forms have it, too.
    fileprivate var isLinkToEnclosure: Bool {
        guard localName == "link", let relation = self["rel"]?.trimmingSpace().lowercased() else { return false }
        return relation == "enclosure" || relation == "http://www.iana.org/assignments/relation/enclosure"
    }
}

/// References of feeds, which may be relative.
enum FeedReference {
    /// Returns where a reference leads, without user name and password; nil if it cannot be fetched.
    ///
    /// - Parameter base: what it is relative to; nil if it must be absolute.
    static func url(_ reference: String, at base: MediaURL?) -> MediaURL? {
        (base.map { try? URLReference.resolve(reference, at: $0) } ?? (try? MediaURL(reference)))?.withoutCredentials
    }

    /// Returns the URL that a stated base means; the outer one if none is stated, or it means nothing.
    static func base(_ stated: String?, at outer: MediaURL?) -> MediaURL? {
        guard let stated = stated?.trimmingSpace() else { return outer }
        return (outer.map { try? URLReference.resolve(stated, at: $0) } ?? (try? MediaURL(stated))) ?? outer
    }

    /// Returns the first of some references to pictures that can be fetched.
    static func picture(_ references: [String?], at base: MediaURL?) -> MediaURL? {
        references.lazy.compactMap { $0?.trimmingSpace().nonEmpty }.compactMap { url($0, at: base) }.first
    }
}
