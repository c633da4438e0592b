/// An XML document as a tree, which can be written again.
///
/// It keeps what it does not understand: comments, unknown elements, processing instructions, white space. An XML
/// parser does not tell the order of attributes, so they are written sorted.
struct MarkupDocument: Sendable {
    /// Whether the document began with the byte order mark of UTF-8.
    var hasByteOrderMark: Bool
    /// What stood before the root: comments and processing instructions.
    var prologue: [MarkupNode]
    var root: MarkupElement
    /// What stood after the root.
    var epilogue: [MarkupNode]
}

/// An element with everything in it.
struct MarkupElement: Sendable {
    /// The name with its prefix, as it stood.
    let name: String
    /// In ascending order of their names.
    private(set) var attributes: [MarkupAttribute]
    var children: [MarkupNode] = []
    /// The line of the start tag, counted from 1; 0 if it was not parsed.
    let line: Int

    init(name: String, attributes: [String: String], line: Int = 0) {
        self.name = name
        self.line = line
        self.attributes = attributes.map { MarkupAttribute(name: $0.key, value: $0.value) }
            .sorted { $0.name < $1.name }
    }

    /// The name without its prefix.
    var localName: Substring { name.withoutPrefix }

    /// The value of an attribute without a prefix; setting nil removes the attribute.
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

    /// Returns the child elements with this name, whatever their prefix.
    func elements(_ name: String) -> [MarkupElement] { elements.filter { $0.localName == name } }

    /// Returns the first child element with this name, whatever its prefix.
    func first(_ name: String) -> MarkupElement? { elements.first { $0.localName == name } }

    /// The text directly in the element, without the white space around it.
    var text: String {
        var text = ""
        for child in children {
            if let more = child.text { text += more }
        }
        return text.trimmingSpace()
    }

    /// Replaces all content by a text.
    mutating func replaceContent(by text: String) { children = [.text(text)] }
}

struct MarkupAttribute: Hashable, Sendable {
    let name: String
    var value: String

    /// The name without its prefix.
    var localName: Substring { name.withoutPrefix }
}

enum MarkupNode: Sendable {
    case element(MarkupElement)
    case text(String)
    /// A CDATA section.
    case data(String)
    case comment(String)
    case instruction(target: String, data: String?)

    var element: MarkupElement? { if case .element(let element) = self { element } else { nil } }

    var text: String? {
        switch self {
        case .text(let text), .data(let text): text
        case .element, .comment, .instruction: nil
        }
    }
}

extension String {
    fileprivate var withoutPrefix: Substring {
        utf8.lastIndex(of: UInt8(ascii: ":")).map { self[utf8.index(after: $0)...] } ?? self[...]
    }

    /// Returns the text without the white space and control characters around it, which some players drop from a URL:
    /// those written in JavaScript drop all of Unicode's, and U+FEFF.
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
