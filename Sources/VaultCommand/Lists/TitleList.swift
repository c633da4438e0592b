import MediaVault
import VaultModel

/// The place of a title in a list, for messages: `list.txt:7`.
struct LinePlace: Hashable, Sendable, CustomStringConvertible {
    /// The name of the list.
    let source: String
    /// The number of the line, from 1.
    let line: Int

    var description: String { "\(source):\(line)" }
}

/// A title to fetch, as an argument or a line of a list states it.
struct FetchOrder: Sendable {
    /// What is stated of a title.
    struct Content: Hashable, Sendable {
        let name: TitleName
        /// The name for people; nil if none is stated.
        var title: String?
        /// The request fields for its origin.
        var fields = HeaderFields()
        /// The reference, if more is known of it than a name and fields say.
        var reference: MediaReference?
        /// The picture that a feed names for it; nil if none is named.
        var picture: MediaReference?
    }

    /// The title as it was given; of a line that is not understood, what is safe to print.
    let text: String
    /// Nil for an argument.
    let place: LinePlace?
    /// What is stated, or why it cannot be used.
    let content: Result<Content, VaultError>

    /// Reads an argument.
    init(argument: String) {
        (text, place) = (argument, nil)
        do {
            content = .success(Content(name: try TitleName(argument)))
        } catch {
            content = .failure(error as? VaultError ?? VaultError(.invalidURL, "the URL is malformed"))
        }
    }

    /// A title that a subscription is to fetch.
    init(_ entry: SyncEntry) {
        let content = Content(
            name: .url(entry.reference.url), title: entry.name, reference: entry.reference, picture: entry.picture)
        (text, place, self.content) = (entry.reference.url.absoluteString, nil, .success(content))
    }

    init(_ content: Content, _ text: String, at place: LinePlace) {
        (self.text, self.place, self.content) = (text, place, .success(content))
    }

    /// The bytes of its texts.
    var byteCount: Int {
        guard case .success(let content) = content else { return text.utf8.count }
        return content.fields.fields.reduce(text.utf8.count + (content.title?.utf8.count ?? 0)) {
            $0 + $1.name.utf8.count + $1.value.utf8.count
        }
    }

    /// A line that cannot be used.
    ///
    /// - Parameter shown: what is safe to print of it.
    init(_ message: String, _ shown: String, at place: LinePlace) {
        (text, self.place, content) = (shown, place, .failure(VaultError(.invalidURL, message)))
    }
}

/// Reads a list of titles: a URL, an id or a line of `yt-dlp --dump-json` on each line.
///
/// A pure value: it takes the bytes in pieces of any size. A line that cannot be used becomes an order that fails, so
/// that the others are fetched.
struct TitleList: Sendable {
    private(set) var orders: [FetchOrder] = []
    private let source: String
    /// The number of the lines that were begun.
    private var number = 0
    private var line: [UInt8] = []
    private var isLineTooLong = false
    /// The bytes of the list that were read.
    private var readBytes = 0
    /// The bytes of what is kept of the lines.
    private var keptBytes = 0
    private let mostRead: Int
    private let mostKept: Int

    /// The most bytes of a line.
    static let maxLineBytes = 1 << 20
    /// The most lines of a list.
    static let maxLines = 1_000_000
    /// The most bytes of a list, with all that is skipped.
    static let maxBytes = 4 << 30
    /// The most bytes of what is kept of the lines: URLs, names and request fields.
    static let maxKeptBytes = 256 << 20

    /// - Parameter source: the name of the list, for messages.
    init(_ source: String, mostRead: Int = maxBytes, mostKept: Int = maxKeptBytes) {
        (self.source, self.mostRead, self.mostKept) = (source, mostRead, mostKept)
    }

    /// Reads the next bytes of the list.
    ///
    /// - Throws: ``UsageError`` if the list is too long, or no text.
    mutating func take(_ bytes: some Collection<UInt8>) throws {
        readBytes += bytes.count
        guard readBytes <= mostRead else {
            throw UsageError("\(source) is longer than \(ByteCount.text(Int64(mostRead))); split it into several lists")
        }
        var rest = bytes[...]
        while let end = rest.firstIndex(of: 0x0A) {
            grow(by: rest[..<end])
            try endLine()
            rest = rest[rest.index(after: end)...]
        }
        grow(by: rest)
    }

    /// Reads the last line, which need not end with a line feed.
    ///
    /// - Returns: the orders of all lines that are neither empty nor a comment.
    /// - Throws: as ``take(_:)``.
    mutating func finish() throws -> [FetchOrder] {
        if !line.isEmpty || isLineTooLong { try endLine() }
        return orders
    }

    private mutating func grow(by bytes: some Collection<UInt8>) {
        guard !isLineTooLong, !bytes.isEmpty else { return }
        // Room for the line end of CR LF.
        isLineTooLong = line.count + bytes.count > Self.maxLineBytes + 1
        if isLineTooLong { line = [] } else { line += bytes }
    }

    private mutating func endLine() throws {
        defer {
            line.removeAll(keepingCapacity: true)
            isLineTooLong = false
        }
        number += 1
        guard number <= Self.maxLines else {
            throw UsageError("\(source) has more than \(Self.maxLines) lines; split it into several lists")
        }
        if number == 1 { try skipMark() }
        if line.last == 0x0D { line.removeLast() }
        let place = LinePlace(source: source, line: number)
        guard !isLineTooLong, line.count <= Self.maxLineBytes else {
            orders.append(FetchOrder("the line is longer than 1 MiB; give one title on each line", "", at: place))
            return
        }
        guard let order = ListLine(line).order(at: place) else { return }
        keptBytes += order.byteCount
        guard keptBytes <= mostKept else {
            throw UsageError(
                "\(source) has more than \(ByteCount.text(Int64(mostKept))) of URLs, names and request fields; split it "
                    + "into several lists")
        }
        orders.append(order)
    }

    /// Skips the byte order mark of UTF-8, and refuses those of UTF-16.
    private mutating func skipMark() throws {
        if line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
        guard !line.starts(with: [0xFF, 0xFE]), !line.starts(with: [0xFE, 0xFF]) else {
            throw UsageError("\(source) is UTF-16; save it as UTF-8")
        }
    }
}

/// One line of a list.
private struct ListLine {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns the order that the line is; nil if it is empty or a comment.
    func order(at place: LinePlace) -> FetchOrder? {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return FetchOrder("the line is not UTF-8; save the list as UTF-8", "", at: place)
        }
        let line = text.trimmingSpace()
        guard let first = line.utf8.first, first != UInt8(ascii: "#") else { return nil }
        if first == UInt8(ascii: "{") { return dumped(at: place) }
        let word = Self.withoutComment(line)
        do {
            return FetchOrder(FetchOrder.Content(name: try TitleName(word: word)), word, at: place)
        } catch {
            let shown = ShownText.of(word)
            let reason = Self.isPlain(word) ? "nor the id of a title" : (error as? VaultError)?.reason
            return FetchOrder("not a URL: \"\(shown)\"" + (reason.map { " (\($0))" } ?? ""), shown, at: place)
        }
    }

    /// Whether a word has nothing but letters of ASCII and digits.
    private static func isPlain(_ word: String) -> Bool {
        word.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20) }
    }

    private func dumped(at place: LinePlace) -> FetchOrder {
        do {
            let title = try DumpedTitle(bytes)
            return FetchOrder(
                FetchOrder.Content(name: .url(title.url), title: title.title, fields: title.fields),
                title.url.absoluteString, at: place)
        } catch {
            // Its own words: the JSON may hold cookies.
            return FetchOrder((error as? VaultError)?.message ?? "not a title", "", at: place)
        }
    }

    /// Returns a line without a comment behind its URL. A `#` within the URL begins a fragment.
    private static func withoutComment(_ line: String) -> String {
        guard let blank = line.firstIndex(where: \.isWhitespace) else { return line }
        let rest = line[blank...].drop(while: \.isWhitespace)
        return rest.utf8.first == UInt8(ascii: "#") ? String(line[..<blank]) : line
    }
}

extension VaultError {
    /// Why a URL is malformed.
    fileprivate var reason: String {
        message.firstRange(of: ": ").map { String(message[$0.upperBound...]) } ?? message
    }
}

extension String {
    /// Returns the text without the white space around it.
    fileprivate func trimmingSpace() -> String {
        let rest = drop(while: \.isWhitespace)
        guard let last = rest.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(rest[...last])
    }
}
