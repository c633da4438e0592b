import VaultModel

/// Reads the markup of feeds and titles piece by piece, as its authors meant it. The markup is XML that may have common
/// faults.
///
/// Each byte is read a bounded number of times. Names are converted to lower case, because feed readers accept any
/// case.
struct FeedMarkup {
    /// A piece of markup.
    enum Piece {
        case start(MarkupElement, isEmpty: Bool)
        case end(String)
        case text(String)
    }

    /// The maximum number of attributes in a tag.
    static let maxAttributes = 256

    private let bytes: [UInt8]
    private var position = 0
    /// The index at which the last piece begins.
    private var start = 0
    /// The faults that have been repaired so far.
    var repairs = FeedRepairs()

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns the name of a document's first element, in lower case and without its prefix; nil if there is none.
    static func root(of bytes: [UInt8]) -> String? {
        var markup = FeedMarkup(bytes)
        while let piece = try? markup.next() {
            if case .start(let element, _) = piece { return String(element.localName) }
        }
        return nil
    }

    /// Returns an error that points to the last piece, or to the end of the text.
    func error(_ cause: FeedError.Cause) -> FeedError {
        .markup(TextPlace(of: cause == .end ? bytes.count : start, in: bytes), cause)
    }

    /// Returns the next piece; nil at the end of the text.
    ///
    /// - Throws: ``FeedError/markup(_:_:)`` if the markup is unusable.
    mutating func next() throws(FeedError) -> Piece? {
        while position < bytes.count {
            start = position
            guard bytes[position] == UInt8(ascii: "<") else { return .text(text()) }
            if has("<!--") {
                try skip(past: "-->", from: position + 4, else: .comment)
                // A comment without an end extends to the end of another comment.
                guard !hasDashes(start + 4..<position - 3) || !hasEntry(start..<position) else { throw error(.comment) }
            } else if has("<![cdata[") {
                return .text(try section())
            } else if has("<!doctype") {
                try skipDocumentType()
            } else if has("<?") {
                try skip(past: ">", from: position + 2, else: .instruction)
            } else if has("<!") {
                repairs.count(.tag)
                try skip(past: ">", from: position + 2, else: .tag)
            } else if has("</") {
                return .end(endTag())
            } else if beginsName(position + 1) {
                return try startTag()
            } else {
                return .text(text())
            }
        }
        return nil
    }

    // MARK: Text

    /// Reads the text up to the next tag. If the text begins with a `<` that does not begin a tag, that is included.
    private mutating func text() -> String {
        let end = bytes[(position + 1)...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
        defer { position = end }
        if bytes[position] == UInt8(ascii: "<") {
            repairs.count(.angle)
            if mayBeTag(position..<end) { repairs.mayHideEntries = true }
        }
        return decoded(position..<end)
    }

    private mutating func section() throws(FeedError) -> String {
        let first = position + 9
        try skip(past: "]]>", from: first, else: .section)
        return decoded(first..<(position - 3), expandsReferences: false)
    }

    /// Returns a text with its control characters removed and its character references replaced.
    private mutating func decoded(_ range: Range<Int>, expandsReferences: Bool = true) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(range.count)
        var index = range.lowerBound
        while index < range.upperBound {
            let byte = bytes[index]
            index += 1
            if byte == UInt8(ascii: "&"), expandsReferences {
                guard let reference = CharacterReference(in: bytes, at: index - 1), reference.end <= range.upperBound
                else {
                    repairs.count(.ampersand)
                    text.append(byte)
                    continue
                }
                if reference.kind != .plain { repairs.count(reference.kind == .control ? .control : .entity) }
                text += reference.text.utf8
                index = reference.end
            } else if byte < 0x20, !Self.isBlank(byte) {
                repairs.count(.control)
            } else {
                text.append(byte)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    // MARK: Tags

    /// Reads an end tag and returns its name. The rest of the tag does not matter, and its `>` may be missing.
    private mutating func endTag() -> String {
        position += 2
        let name = name(until: { $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "<") || Self.isBlank($0) })
        let end = bytes[position...].firstIndex { $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "<") } ?? bytes.count
        let isWhole = end < bytes.count && bytes[end] == UInt8(ascii: ">")
        if !isWhole { repairs.count(.tag) }
        position = isWhole ? end + 1 : end
        return name
    }

    private mutating func startTag() throws(FeedError) -> Piece {
        position += 1
        let name = name(until: { Self.endsName($0) })
        var attributes: [String: String] = [:]
        while true {
            position = bytes[position...].firstIndex { !Self.isBlank($0) } ?? bytes.count
            guard position < bytes.count else { throw error(.tag) }
            switch bytes[position] {
            case UInt8(ascii: ">"):
                position += 1
                return .start(MarkupElement(name: name, attributes: attributes), isEmpty: false)
            case UInt8(ascii: "<"):
                // The tag was never finished, because another one begins here.
                repairs.count(.tag)
                return .start(MarkupElement(name: name, attributes: attributes), isEmpty: false)
            case UInt8(ascii: "/"):
                position += 1
                guard position < bytes.count, bytes[position] == UInt8(ascii: ">") else { continue }
                position += 1
                return .start(MarkupElement(name: name, attributes: attributes), isEmpty: true)
            default:
                let (name, value) = try attribute()
                if attributes[name] == nil { attributes[name] = value } else { repairs.count(.attribute) }
                guard attributes.count <= Self.maxAttributes else { throw error(.tooManyAttributes) }
            }
        }
    }

    private mutating func attribute() throws(FeedError) -> (name: String, value: String) {
        let name = name(until: { Self.endsName($0) || $0 == UInt8(ascii: "=") })
        let equals = bytes[position...].firstIndex { !Self.isBlank($0) } ?? bytes.count
        guard equals < bytes.count, bytes[equals] == UInt8(ascii: "=") else {
            repairs.count(.attribute)
            return (name, "")
        }
        position = bytes[(equals + 1)...].firstIndex { !Self.isBlank($0) } ?? bytes.count
        guard position < bytes.count else { throw error(.tag) }
        let quote = bytes[position]
        if quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
            let first = position + 1
            // A value without a closing quotation mark extends to the next quotation mark.
            guard let end = bytes[first...].firstIndex(of: quote), !hasEntry(first..<end) else {
                throw error(.attribute)
            }
            position = end + 1
            return (name, decoded(first..<end))
        }
        repairs.count(.attribute)
        let first = position
        position = bytes[first...].firstIndex { Self.isBlank($0) || $0 == UInt8(ascii: ">") } ?? bytes.count
        return (name, decoded(first..<position))
    }

    /// Reads a name of at least one byte, and returns it in lower case.
    private mutating func name(until isEnd: (UInt8) -> Bool) -> String {
        let first = position
        position = bytes[min(first + 1, bytes.count)...].firstIndex(where: isEnd) ?? bytes.count
        return String(decoding: bytes[first..<position].map(\.asciiLowercased), as: UTF8.self)
    }

    // MARK: Document types

    /// Skips a document type, which is never used.
    private mutating func skipDocumentType() throws(FeedError) {
        var depth = 0
        position += 9
        while position < bytes.count {
            let byte = bytes[position]
            if has("<!--") {
                try skip(past: "-->", from: position + 4, else: .documentType)
                continue
            }
            if has("<!entity") {
                try refuseEntity()
                continue
            }
            position += 1
            switch byte {
            case UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                guard let end = bytes[position...].firstIndex(of: byte) else { throw error(.documentType) }
                position = end + 1
            case UInt8(ascii: ">") where depth <= 0: return
            default: break
            }
        }
        throw error(.documentType)
    }

    /// Refuses the definition of an entity unless HTML already defines it. A text for a known name and a reference to
    /// HTML's own entity sets are allowed.
    private mutating func refuseEntity() throws(FeedError) {
        start = position
        try skip(past: ">", from: position, else: .documentType)
        let words = String(decoding: bytes[(start + 8)..<position], as: UTF8.self).split(whereSeparator: \.isWhitespace)
        // The words are the name, or `%` and the name, followed by the definition.
        switch words.prefix(4).map(String.init) {
        case let words where words.count > 1 && words[0] != "%":
            let isText = words[1].hasPrefix("\"") || words[1].hasPrefix("'")
            guard isText, CharacterReference.isKnown(words[0]) else { throw error(.entity) }
        case let words where words.count == 4:
            guard words[2] == "PUBLIC", words[3].dropFirst().hasPrefix("-//W3C//ENTITIES") else { throw error(.entity) }
        default: throw error(.entity)
        }
    }

    /// Returns whether a text that begins with `<` may have been meant as a tag, as in `< b>` but not in `< b` or `<3`.
    private func mayBeTag(_ range: Range<Int>) -> Bool {
        let rest = bytes[range].dropFirst().drop(while: Self.isBlank)
        let isNumber = rest.first.map { (0x30...0x39).contains($0) } ?? false
        return hasEntry(range) || !isNumber && rest.contains(UInt8(ascii: ">"))
    }

    // MARK: Bytes

    /// Moves the position past the next occurrence of a mark.
    private mutating func skip(past mark: String, from first: Int, else cause: FeedError.Cause) throws(FeedError) {
        let mark = Array(mark.utf8)
        var index = min(first, bytes.count)
        while let found = bytes[index...].firstIndex(of: mark[0]) {
            if bytes[found...].starts(with: mark) {
                position = found + mark.count
                return
            }
            index = found + 1
        }
        throw error(cause)
    }

    /// Returns whether the bytes at the position match this lower-case text, regardless of their case.
    private func has(_ text: String) -> Bool {
        bytes[position...].starts(with: text.utf8, by: { $0.asciiLowercased == $1 })
    }

    /// Returns whether a range contains the tag of an entry.
    private func hasEntry(_ range: Range<Int>) -> Bool {
        var index = range.lowerBound
        while let mark = bytes[index..<range.upperBound].firstIndex(of: UInt8(ascii: "<")) {
            index = mark + 1
            let rest = bytes[index..<range.upperBound].drop { $0 == UInt8(ascii: "/") || Self.isBlank($0) }
            if ["item", "entry"].contains(where: { rest.starts(with: $0.utf8, by: { $0.asciiLowercased == $1 }) }) {
                return true
            }
        }
        return false
    }

    private func hasDashes(_ range: Range<Int>) -> Bool {
        zip(bytes[range], bytes[range].dropFirst()).contains { $0 == UInt8(ascii: "-") && $1 == UInt8(ascii: "-") }
    }

    private func beginsName(_ index: Int) -> Bool {
        guard index < bytes.count else { return false }
        let byte = bytes[index].asciiLowercased
        return (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_") || byte >= 0x80
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x9 || byte == 0xA || byte == 0xD }

    private static func endsName(_ byte: UInt8) -> Bool {
        isBlank(byte) || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "<")
    }
}
