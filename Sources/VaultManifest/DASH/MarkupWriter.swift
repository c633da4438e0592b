/// Writes a ``MarkupDocument`` as UTF-8.
struct MarkupWriter {
    private var bytes: [UInt8] = []

    /// Returns the bytes of the document.
    ///
    /// - Parameter capacity: about how many bytes there will be.
    static func write(_ document: MarkupDocument, capacity: Int) -> [UInt8] {
        var writer = MarkupWriter()
        writer.bytes.reserveCapacity(capacity)
        if document.hasByteOrderMark { writer.bytes += MarkupCheck.byteOrderMark }
        writer.put(#"<?xml version="1.0" encoding="UTF-8"?>"#)
        // Parsers report no white space outside the root.
        for node in document.prologue + [.element(document.root)] + document.epilogue {
            writer.put("\n")
            writer.put(node)
        }
        writer.put("\n")
        return writer.bytes
    }

    private mutating func put(_ text: String) { bytes += text.utf8 }

    private mutating func put(_ node: MarkupNode) {
        switch node {
        case .element(let element): put(element)
        case .text(let text): put(escaping: text, inAttribute: false)
        // A section ends at its first "]]>": the text goes on in another one.
        case .data(let text): put("<![CDATA[" + text.replacing("]]>", with: "]]]]><![CDATA[>") + "]]>")
        case .comment(let text): put("<!--" + text + "-->")
        case .instruction(let target, let data): put("<?" + target + (data.map { " " + $0 } ?? "") + "?>")
        }
    }

    /// Recursive: the depth was bounded when the document was read.
    private mutating func put(_ element: MarkupElement) {
        put("<")
        put(element.name)
        for attribute in element.attributes {
            put(" ")
            put(attribute.name)
            put("=\"")
            put(escaping: attribute.value, inAttribute: true)
            put("\"")
        }
        guard !element.children.isEmpty else { return put("/>") }
        put(">")
        for child in element.children { put(child) }
        put("</")
        put(element.name)
        put(">")
    }

    /// Escapes what would end the text, and the white space that a parser would normalize (XML 1.0 §2.11, §3.3.3).
    private mutating func put(escaping text: String, inAttribute: Bool) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): put("&amp;")
            case UInt8(ascii: "<"): put("&lt;")
            case UInt8(ascii: ">"): put("&gt;")
            case UInt8(ascii: "\r"): put("&#13;")
            case UInt8(ascii: "\"") where inAttribute: put("&quot;")
            case UInt8(ascii: "\t") where inAttribute: put("&#9;")
            case UInt8(ascii: "\n") where inAttribute: put("&#10;")
            default: bytes.append(byte)
            }
        }
    }
}
