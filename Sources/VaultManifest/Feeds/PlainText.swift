import VaultModel

/// Reads the text of a title without its markup.
enum PlainText {
    /// The maximum number of characters of a text that are read. No title is longer.
    private static let most = 8192

    /// Returns an element's text; nil if it has none.
    ///
    /// Atom states the format of its titles. In other feeds, a text counts as HTML only if it looks like HTML.
    static func of(_ element: MarkupElement, isAtom: Bool) -> String? {
        if element.children.contains(where: { $0.element != nil }) { return folded(inner(element)) }
        let text = String(element.text.prefix(most))
        let isHTML =
            switch element["type"]?.trimmingSpace().lowercased() {
            case "html", "text/html", "xhtml", "application/xhtml+xml": true
            default: !isAtom && looksLikeHTML(text)
            }
        return folded(isHTML ? ofHTML(text) ?? text : text)
    }

    /// Returns a text on one line, without surrounding white space; nil if nothing is left.
    static func folded(_ text: String) -> String? {
        text.prefix(most).split { $0.isWhitespace || $0 == "\u{FEFF}" }.joined(separator: " ").nonEmpty
    }

    /// Returns an element's text, including that of its descendants.
    private static func inner(_ element: MarkupElement) -> String {
        let text = element.children.prefix(most).map { ($0.text ?? $0.element.map(inner) ?? "").prefix(most) }.joined()
        return inline.contains(element.localName) ? text : " \(text) "
    }

    /// Returns the text in a piece of HTML; nil if the HTML is incomplete.
    private static func ofHTML(_ source: String) -> String? {
        var markup = FeedMarkup(Array(source.utf8))
        var text = ""
        var hidden: String?
        do {
            while let piece = try markup.next() {
                switch piece {
                case .text(let more): if hidden == nil { text += more }
                case .start(let element, let isEmpty):
                    if !inline.contains(element.localName) { text += " " }
                    if !isEmpty, ["script", "style"].contains(element.name) { hidden = hidden ?? element.name }
                case .end(let name):
                    if !inline.contains(name[...]) { text += " " }
                    if hidden == name { hidden = nil }
                }
            }
        } catch {
            return nil
        }
        return text
    }

    /// Returns whether a text has an end tag, a `br` or a character reference, and no tags other than the ones listed
    /// below.
    private static func looksLikeHTML(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        var isHTML = false
        for index in bytes.indices {
            if bytes[index] == UInt8(ascii: "&") {
                if CharacterReference(in: bytes, at: index) != nil { isHTML = true }
            } else if bytes[index] == UInt8(ascii: "<") {
                let isEnd = bytes[index...].dropFirst().first == UInt8(ascii: "/")
                let name = bytes[(index + (isEnd ? 2 : 1))...].prefix {
                    (0x61...0x7A).contains($0.asciiLowercased) || (0x30...0x39).contains($0)
                }
                guard !name.isEmpty else { continue }
                let known = String(decoding: name.map(\.asciiLowercased), as: UTF8.self)[...]
                guard inline.contains(known) || blocks.contains(known) else { return false }
                if isEnd || known == "br" { isHTML = true }
            }
        }
        return isHTML
    }

    /// The HTML elements that do not separate words.
    private static let inline: Set<Substring> = [
        "a", "abbr", "acronym", "b", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd",
        "mark",
        "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var",
    ]
    /// The HTML elements that separate words.
    private static let blocks: Set<Substring> = [
        "blockquote", "br", "center", "dd", "div", "dl", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "img", "li",
        "ol", "p", "pre", "script", "style", "table", "tbody", "td", "th", "thead", "tr", "ul",
    ]
}
