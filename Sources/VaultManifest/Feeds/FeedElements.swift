import VaultModel

// What feeds state in elements.
extension MarkupElement {
    /// Returns the first child with this name and no prefix, or else the first with any prefix.
    private func preferred(_ name: String) -> MarkupElement? { elements.first { $0.name == name } ?? first(name) }

    /// Returns the text of the preferred child with this name; nil if the text is empty or there is no such child.
    func plain(_ name: String) -> String? { preferred(name)?.text.nonEmpty }

    /// The reference to the page, or the archive, with older entries (RFC 5005).
    var next: String? {
        let links = elements("link").filter { $0["type"].map { !$0.lowercased().contains("html") } ?? true }
        return ["next", "prev-archive"].lazy.compactMap { relation in
            links.first { $0["rel"]?.trimmingSpace().lowercased() == relation }?["href"]?.trimmingSpace().nonEmpty
        }.first
    }

    /// The title of a feed or an entry, as plain text.
    var title: String? {
        preferred("title").flatMap { PlainText.of($0, isAtom: ["entry", "feed"].contains(localName)) }
    }

    /// The references to the element's pictures, in order of preference: `itunes:image`, then `media:thumbnail`, also
    /// within `media:group` and `media:content`, and then the `image` of RSS.
    var pictures: [String?] {
        let images = elements("image")
        let groups = [self] + elements("group")
        let media = groups + groups.flatMap { $0.elements("content") }
        return images.map { $0["href"] } + media.flatMap { $0.elements("thumbnail") }.map { $0["url"] }
            + images.map { $0.plain("url") }
    }

    /// All elements within this one, in the order of their tags, except those that describe the feed from which an
    /// entry was taken.
    var descendants: [MarkupElement] {
        var found: [MarkupElement] = []
        var waiting = Array(elements.reversed())
        while let element = waiting.popLast() {
            found.append(element)
            if element.localName != "source" { waiting += element.elements.reversed() }
        }
        return found
    }

    /// Whether the element is an Atom link to a file. Other forms of feeds use such links, too.
    var isLinkToEnclosure: Bool {
        guard localName == "link", let relation = self["rel"]?.trimmingSpace().lowercased() else { return false }
        return relation == "enclosure" || relation == "http://www.iana.org/assignments/relation/enclosure"
    }
}
