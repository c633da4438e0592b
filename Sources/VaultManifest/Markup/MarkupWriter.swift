/// Writes a ``MarkupElement`` as an XML document in UTF-8.
struct MarkupWriter {
    private var bytes: [UInt8] = []

    /// Returns the document's bytes.
    ///
    /// - Parameter capacity: the document's approximate size in bytes.
    static func write(_ root: MarkupElement, capacity: Int) -> [UInt8] {
        var writer = MarkupWriter()
        writer.bytes.reserveCapacity(capacity)
        writer.put("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
        writer.put(root)
        writer.put("\n")
        return writer.bytes
    }

    private mutating func put(_ text: String) { bytes += text.utf8 }

    /// Writes an element recursively. That is safe because the depth was limited when the document was read.
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
        for child in element.children {
            switch child {
            case .element(let element): put(element)
            case .text(let text): put(escaping: text, inAttribute: false)
            }
        }
        put("</")
        put(element.name)
        put(">")
    }

    /// Writes a text, escaping the characters that would end it and the white space that a parser would normalize (XML
    /// 1.0 §2.11, §3.3.3).
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
