import MediaVault

/// The table that `list` prints: figures first, because their width is known; the URL, which may be long, last.
enum ListTable {
    static let heading = line("HELD", "BYTES", "SIZE", "TYPE", "URL")

    static func row(_ summary: ResourceSummary) -> String {
        line(
            TransferProgress(held: summary.bytes, total: summary.size).percent.map { "\($0) %" } ?? "?",
            ByteCount.text(summary.bytes), summary.size.map(ByteCount.text) ?? "?",
            Terminal.printable(summary.type ?? "?"), Terminal.printable(summary.url))
    }

    private static func line(_ held: String, _ bytes: String, _ size: String, _ type: String, _ url: String) -> String {
        [left(held, 5), left(bytes, 9), left(size, 9), right(type, 24), url].joined(separator: "  ") + "\n"
    }

    private static func left(_ text: String, _ count: Int) -> String {
        String(repeating: " ", count: max(0, count - text.count)) + text
    }

    private static func right(_ text: String, _ count: Int) -> String {
        text + String(repeating: " ", count: max(0, count - text.count))
    }
}
