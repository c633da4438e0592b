import VaultModel

/// Checks a document before an XML parser sees it. Refuses encodings other than UTF-8, document types, and anything
/// that would cost the parser much time or memory.
///
/// This is not a parser, so a document that passes the check may still be malformed.
struct MarkupCheck {
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private let bytes: ArraySlice<UInt8>
    private let limits: ManifestLimits
    private var position: Int
    private var elements = 0
    /// The number of namespaces that each open element declares, outermost element first.
    private var open: [Int] = []
    private var namespaces = 0

    /// Checks a document, and returns it up to the end of its root element, because players read nothing after that.
    ///
    /// - Throws: ``ManifestError`` if the document must not be parsed.
    static func document(in bytes: [UInt8], limits: ManifestLimits) throws(ManifestError) -> ArraySlice<UInt8> {
        guard bytes.count <= limits.maxBytes else { throw .tooLarge(limit: limits.maxBytes) }
        let text = text(in: bytes)
        let isText = text.count == bytes.count
        let notText = ManifestError.notText(line: text.count { $0 == UInt8(ascii: "\n") } + 1)
        var check = MarkupCheck(text, limits)
        do throws(ManifestError) {
            try check.passRoot()
        } catch {
            // The document may look wrong only because it has another encoding.
            throw isText ? error : notText
        }
        guard isText || check.isRootClosed else { throw notText }
        return text[..<check.position]
    }

    /// Returns the bytes before the first one that is not text. Valid UTF-8 without a zero byte cannot be mistaken for
    /// UTF-16, UTF-32 or EBCDIC.
    private static func text(in bytes: [UInt8]) -> ArraySlice<UInt8> {
        let text = bytes.prefix { $0 != 0 }
        do throws(UTF8.ValidationError) {
            _ = try UTF8Span(validating: text.span)
            return text
        } catch {
            return text[..<error.byteOffsets.lowerBound]
        }
    }

    private init(_ bytes: ArraySlice<UInt8>, _ limits: ManifestLimits) {
        self.bytes = bytes
        self.limits = limits
        position = bytes.starts(with: Self.byteOrderMark) ? Self.byteOrderMark.count : 0
    }

    /// Whether the end of the root element has been reached.
    private var isRootClosed: Bool { elements > 0 && open.isEmpty }

    /// Skips everything up to the end of the root element.
    private mutating func passRoot() throws(ManifestError) {
        try checkEncoding()
        while position < bytes.count, !isRootClosed { try next() }
        try refuseDocumentType()
        guard elements > 0 else { throw .notAManifest }
    }

    /// Refuses a document type anywhere, in upper or lower case, even within a comment, so that no reader can find one.
    private func refuseDocumentType() throws(ManifestError) {
        for index in 0..<position
        where bytes[index] == UInt8(ascii: "<") && has("<!doctype", at: index, ignoringCase: true) {
            throw .declaresDocumentType
        }
    }

    /// Refuses a declaration that names an encoding other than UTF-8 or ASCII (XML 1.0 §4.3.3).
    private func checkEncoding() throws(ManifestError) {
        guard has("<?xml", at: position) else { return }
        guard let end = find("?>", from: position) else { throw malformed(.element) }
        let declaration = String(decoding: bytes[position..<end], as: UTF8.self)
        let parts = declaration.split(separator: "encoding", omittingEmptySubsequences: false)
        guard parts.count > 1 else { return }
        let value = parts[1].filter { !$0.isWhitespace }.lowercased()
        let accepted = ["utf-8", "us-ascii", "ascii"].flatMap { ["=\"\($0)\"", "='\($0)'"] }
        guard parts.count == 2, accepted.contains(where: value.hasPrefix) else { throw .notText(line: 1) }
    }

    /// Skips the text before the next piece of markup, and the markup itself.
    private mutating func next() throws(ManifestError) {
        guard let start = bytes[position...].firstIndex(of: UInt8(ascii: "<")) else {
            position = bytes.count
            return
        }
        position = start
        if has("<!--", at: start) {
            try skip(past: "-->", from: start + 4)
        } else if has("<![CDATA[", at: start) {
            try skip(past: "]]>", from: start + 9)
        } else if has("<?", at: start) {
            try skip(past: "?>", from: start + 2)
            // Foundation's parser on Linux crashes on a processing instruction that has only a name.
            let hasData = bytes[start..<(position - 2)].contains { $0 <= 0x20 }
            guard hasData else { throw malformed(.element) }
        } else if has("<!", at: start) {
            throw has("<!doctype", at: start, ignoringCase: true) ? .declaresDocumentType : malformed(.element)
        } else if has("</", at: start) {
            namespaces -= open.popLast() ?? 0
            try skip(past: ">", from: start)
        } else {
            try startTag()
        }
    }

    private mutating func startTag() throws(ManifestError) {
        elements += 1
        guard elements <= limits.maxElements else { throw .tooManyElements(limit: limits.maxElements) }
        guard open.count < limits.maxDepth else { throw .tooDeep(limit: limits.maxDepth) }
        var attributes = 0
        var declared = 0
        var index = position + 1
        while index < bytes.count, bytes[index] != UInt8(ascii: ">") {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                attributes += 1
                guard attributes <= limits.maxAttributes, let close = bytes[(index + 1)...].firstIndex(of: byte) else {
                    throw malformed(.attributes)
                }
                index = close
            } else if byte == UInt8(ascii: "<") {
                throw malformed(.attributes)
            } else if byte <= 0x20, has("xmlns", at: index + 1) {
                declared += 1
            }
            index += 1
        }
        guard index < bytes.count else { throw malformed(.element) }
        guard namespaces + declared <= limits.maxNamespaces else { throw malformed(.attributes) }
        if bytes[index - 1] != UInt8(ascii: "/") {
            open.append(declared)
            namespaces += declared
        }
        position = index + 1
    }

    private mutating func skip(past end: String, from start: Int) throws(ManifestError) {
        guard let found = find(end, from: start) else { throw malformed(.element) }
        position = found + end.utf8.count
    }

    private func find(_ text: String, from start: Int) -> Int? {
        guard let first = text.utf8.first, start <= bytes.count else { return nil }
        var index = start
        while let found = bytes[index...].firstIndex(of: first) {
            if has(text, at: found) { return found }
            index = found + 1
        }
        return nil
    }

    private func has(_ text: String, at index: Int, ignoringCase: Bool = false) -> Bool {
        guard index + text.utf8.count <= bytes.count else { return false }
        var place = index
        for byte in text.utf8 {
            guard bytes[place] == byte || ignoringCase && bytes[place].asciiLowercased == byte else { return false }
            place += 1
        }
        return true
    }

    private func malformed(_ part: ManifestError.Part) -> ManifestError {
        .malformed(line: bytes[..<position].count { $0 == UInt8(ascii: "\n") } + 1, part)
    }
}
