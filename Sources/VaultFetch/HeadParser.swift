import VaultModel

/// Parses a response head from the lines that libcurl delivers one by one.
///
/// Informational responses (1xx) before the final head are skipped, and trailers after the body are ignored. The total
/// size of all heads is limited, so that no origin can go on sending heads forever.
struct HeadParser {
    /// The maximum total size of all heads for one request, in bytes.
    static let maxBytes = 64 * 1024
    /// The maximum number of fields in one head.
    static let maxFields = 200

    private var bytesRead = 0
    private var status: Int?
    private var fields: [(name: String, value: String)] = []
    private var isComplete = false

    /// Parses one line, including its line break.
    ///
    /// - Returns: the final head, when the line is the empty one that ends it; nil for every other line.
    mutating func read(_ line: some Collection<UInt8>) throws(OriginFailure) -> OriginHead? {
        guard !isComplete else { return nil }
        bytesRead += line.count
        guard bytesRead <= Self.maxBytes else {
            throw OriginFailure(.invalidResponse, "the response head is larger than 64 KiB")
        }
        let text = Self.text(line)
        guard let status else {
            self.status = try Self.status(text)
            return nil
        }
        guard text.isEmpty else {
            add(text)
            guard fields.count <= Self.maxFields else {
                throw OriginFailure(.invalidResponse, "the response head has more than 200 fields")
            }
            return nil
        }
        defer {
            self.status = nil
            fields = []
        }
        guard status >= 200 else { return nil }
        isComplete = true
        return OriginHead(
            status: status,
            fields: fields.reduce(into: HeaderFields()) {
                $0.append(name: $1.name, value: $1.value)
            })
    }

    /// Adds a field, or appends a folded line to the previous one. A line that is not a field is ignored.
    private mutating func add(_ text: String) {
        guard text.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }) else { return }
        if text.hasPrefix(" ") || text.hasPrefix("\t") {
            guard !fields.isEmpty else { return }
            fields[fields.count - 1].value += " " + text.trimmingBlanks()
            return
        }
        guard let colon = text.firstIndex(of: ":"), colon != text.startIndex,
            text[..<colon].utf8.allSatisfy(HTTPToken.contains)
        else { return }
        fields.append((String(text[..<colon]), String(text[text.index(after: colon)...])))
    }

    private static func status(_ line: String) throws(OriginFailure) -> Int {
        let words = line.split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0].hasPrefix("HTTP/"), words[1].utf8.count == 3,
            let status = DecimalNumber.exact(words[1])
        else { throw OriginFailure(.invalidResponse, "the response does not begin with an HTTP status") }
        return Int(status)
    }

    /// Decodes a line, without its line break, as UTF-8. If it is not UTF-8, each byte becomes one character, so that
    /// different bytes stay different.
    private static func text(_ line: some Collection<UInt8>) -> String {
        var bytes = Array(line)
        if bytes.last == 0x0A { bytes.removeLast() }
        if bytes.last == 0x0D { bytes.removeLast() }
        return String(validating: bytes, as: UTF8.self)
            ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}
