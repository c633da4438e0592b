import MediaVault
import VaultModel

/// The place of a title in a list, in the form that messages use, such as `list.txt:7`.
struct LinePlace: Hashable, Sendable, CustomStringConvertible {
    /// The name of the list.
    let source: String
    /// The number of the line, from 1.
    let line: Int

    var description: String { "\(source):\(line)" }
}

/// A title to fetch, as stated by an argument or a line of a list.
struct FetchOrder: Sendable {
    /// The details that an argument or a line states about a title.
    struct Content: Hashable, Sendable {
        let name: TitleName
        /// The display name; nil if none is stated.
        var title: String?
        /// The request fields to send to the title's origin.
        var fields = HeaderFields()
        /// The reference to the title, if it contains more than the name and the fields.
        var reference: MediaReference?
        /// The picture that a feed names for the title; nil if it names none.
        var picture: MediaReference?
        /// When a feed says that the title was published, in seconds since 1970.
        var published: Int64?
    }

    /// The title as given, or, for a line that cannot be understood, the part that is safe to print.
    let text: String
    /// The title's place in its list; nil for an argument.
    let place: LinePlace?
    /// The stated details, or the reason why they cannot be used.
    let content: Result<Content, VaultError>

    /// Creates the order that an argument states.
    init(argument: String) {
        (text, place) = (argument, nil)
        do {
            content = .success(Content(name: try TitleName(argument)))
        } catch {
            content = .failure(error as? VaultError ?? VaultError(.invalidURL, "the URL is malformed"))
        }
    }

    /// Creates the order for a title that a subscription is to fetch.
    init(_ entry: SyncEntry) {
        let content = Content(
            name: .url(entry.reference.url), title: entry.name, reference: entry.reference, picture: entry.picture,
            published: entry.published)
        (text, place, self.content) = (entry.reference.url.absoluteString, nil, .success(content))
    }

    init(_ content: Content, _ text: String, at place: LinePlace) {
        (self.text, self.place, self.content) = (text, place, .success(content))
    }

    /// The number of bytes in the order's strings.
    var byteCount: Int {
        guard case .success(let content) = content else { return text.utf8.count }
        return content.fields.fields.reduce(text.utf8.count + (content.title?.utf8.count ?? 0)) {
            $0 + $1.name.utf8.count + $1.value.utf8.count
        }
    }

    /// Creates the order for a line that cannot be used.
    ///
    /// - Parameter shown: the part of the line that is safe to print.
    init(_ message: String, _ shown: String, at place: LinePlace) {
        (text, self.place, content) = (shown, place, .failure(VaultError(.invalidURL, message)))
    }
}

/// Reads a list of titles, in which each line is a URL, an id or a line of `yt-dlp --dump-json`.
///
/// It is a pure value that accepts the list's bytes in pieces of any size. A line that cannot be used becomes an order
/// that fails, so that the other titles are still fetched.
struct TitleList: Sendable {
    private(set) var orders: [FetchOrder] = []
    private let source: String
    /// The number of lines read so far.
    private var number = 0
    private var line: [UInt8] = []
    private var isLineTooLong = false
    /// The number of bytes of the list read so far.
    private var readBytes = 0
    /// The number of bytes kept from the lines so far.
    private var keptBytes = 0
    private let mostRead: Int
    private let mostKept: Int

    /// The maximum number of bytes in a line.
    static let maxLineBytes = 1 << 20
    /// The maximum number of lines in a list.
    static let maxLines = 1_000_000
    /// The maximum number of bytes in a list, including skipped ones.
    static let maxBytes = 4 << 30
    /// The maximum number of bytes kept from the lines, which are those of URLs, names and request fields.
    static let maxKeptBytes = 256 << 20

    /// - Parameter source: the name of the list, for messages.
    init(_ source: String, mostRead: Int = maxBytes, mostKept: Int = maxKeptBytes) {
        (self.source, self.mostRead, self.mostKept) = (source, mostRead, mostKept)
    }

    /// Reads the next bytes of the list.
    ///
    /// - Throws: ``UsageError`` if the list is too long or is in UTF-16.
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
    /// - Returns: the orders of all lines that are neither empty nor comments.
    /// - Throws: as ``take(_:)``.
    mutating func finish() throws -> [FetchOrder] {
        if !line.isEmpty || isLineTooLong { try endLine() }
        return orders
    }

    private mutating func grow(by bytes: some Collection<UInt8>) {
        guard !isLineTooLong, !bytes.isEmpty else { return }
        // One more byte is allowed, for the CR of a CR LF line end.
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

    /// Skips a UTF-8 byte order mark, and refuses a UTF-16 one.
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

    /// Returns the order that the line states; nil if the line is empty or a comment.
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

    /// Returns whether a word consists only of ASCII letters and digits.
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
            // The message is the program's own, because the JSON may contain cookies.
            return FetchOrder((error as? VaultError)?.message ?? "not a title", "", at: place)
        }
    }

    /// Returns a line without the comment after its URL. A `#` within the URL begins a fragment, not a comment.
    private static func withoutComment(_ line: String) -> String {
        guard let blank = line.firstIndex(where: \.isWhitespace) else { return line }
        let rest = line[blank...].drop(while: \.isWhitespace)
        return rest.utf8.first == UInt8(ascii: "#") ? String(line[..<blank]) : line
    }
}

extension VaultError {
    /// The reason why a URL is malformed.
    fileprivate var reason: String {
        message.firstRange(of: ": ").map { String(message[$0.upperBound...]) } ?? message
    }
}

extension String {
    /// Returns the text without surrounding white space.
    fileprivate func trimmingSpace() -> String {
        let rest = drop(while: \.isWhitespace)
        guard let last = rest.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(rest[...last])
    }
}
