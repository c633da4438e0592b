/// An element of an XML document with all its content, which ``MarkupWriter`` can write back.
///
/// Unknown elements, attributes and white space are kept. Comments and processing instructions are dropped, and CDATA
/// sections become ordinary text, because no player needs them and simple parsers written in scripts find markup in
/// them. An XML parser does not report the order of attributes, so they are written in sorted order.
struct MarkupElement: Sendable {
    /// The element's name with its prefix, as parsed.
    let name: String
    /// The element's name without its prefix.
    let localName: Substring
    /// The attributes, in ascending order of their names.
    private(set) var attributes: [MarkupAttribute]
    var children: [MarkupNode] = []
    /// The line of the start tag, counted from 1; 0 if the element was not parsed.
    let line: Int

    init(name: String, attributes: [String: String], line: Int = 0) {
        self.name = name
        localName = name.withoutPrefix
        self.line = line
        self.attributes = attributes.map { MarkupAttribute(name: $0.key, value: $0.value) }
            .sorted { $0.name < $1.name }
    }

    /// The value of an attribute whose name has no prefix. Setting nil removes the attribute.
    subscript(name: String) -> String? {
        get { attributes.first { $0.name == name }?.value }
        set {
            let place = attributes.firstIndex { $0.name >= name } ?? attributes.endIndex
            let isPresent = place < attributes.endIndex && attributes[place].name == name
            attributes.replaceSubrange(
                place..<(isPresent ? place + 1 : place),
                with: newValue.map { [MarkupAttribute(name: name, value: $0)] } ?? [])
        }
    }

    /// The child elements.
    var elements: some Sequence<MarkupElement> { children.lazy.compactMap(\.element) }

    /// Returns the child elements with this name, regardless of their prefix.
    func elements(_ name: String) -> [MarkupElement] { elements.filter { $0.localName == name } }

    /// Returns the first child element with this name, regardless of its prefix.
    func first(_ name: String) -> MarkupElement? { elements.first { $0.localName == name } }

    /// The text directly in the element, without surrounding white space.
    var text: String {
        var text = ""
        for child in children {
            if let more = child.text { text += more }
        }
        return text.trimmingSpace()
    }

    /// Returns an empty element that has another name but the same prefix.
    func sibling(_ localName: String) -> MarkupElement {
        MarkupElement(name: name.dropLast(self.localName.count) + localName, attributes: [:])
    }

    /// Replaces the element's content with a text.
    mutating func replaceContent(by text: String) { children = [.text(text)] }

    /// Removes the attributes for which `matches` returns true.
    mutating func removeAttributes(where matches: (MarkupAttribute) -> Bool) {
        // Nearly always, none match. A copy then still shares the attributes, which take up most of a manifest's
        // memory.
        if attributes.contains(where: matches) { attributes.removeAll(where: matches) }
    }
}

struct MarkupAttribute: Hashable, Sendable {
    let name: String
    var value: String

    /// The attribute's name without its prefix.
    var localName: Substring { name.withoutPrefix }
}

enum MarkupNode: Sendable {
    case element(MarkupElement)
    case text(String)

    var element: MarkupElement? { if case .element(let element) = self { element } else { nil } }

    var text: String? { if case .text(let text) = self { text } else { nil } }
}

extension String {
    /// The name without its prefix, for the name of an element or attribute.
    var withoutPrefix: Substring {
        utf8.lastIndex(of: UInt8(ascii: ":")).map { self[utf8.index(after: $0)...] } ?? self[...]
    }

    /// Returns the text without the surrounding white space and control characters that some players drop from a URL.
    /// Players in JavaScript drop all Unicode white space, and U+FEFF.
    func trimmingSpace() -> String {
        let isSpace: (Unicode.Scalar) -> Bool = {
            $0.value <= 0x20 || $0.value > 0x7E && ($0.properties.isWhitespace || $0.value == 0xFEFF)
        }
        guard let first = unicodeScalars.firstIndex(where: { !isSpace($0) }),
            let last = unicodeScalars.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return String(unicodeScalars[first...last])
    }
}
