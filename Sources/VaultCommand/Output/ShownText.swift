import VaultModel

/// Shortens text that should be a URL so that a message can show it, and leaves out possible secrets.
enum ShownText {
    /// The maximum number of characters shown.
    static let most = 60

    /// The request fields whose values are secrets.
    private static let secretFields: Set = ["authorization", "cookie", "proxy-authorization", "set-cookie"]

    static func of(_ text: String) -> String {
        if let colon = text.firstIndex(of: ":"), secretFields.contains(text[..<colon].lowercased()) {
            return text[...colon] + "…"
        }
        let mark = text.firstRange(of: "://")
        let isScheme = mark.map { text[..<$0.lowerBound].utf8.allSatisfy(isSchemeCharacter) } ?? false
        let scheme = isScheme ? mark.map { text[..<$0.upperBound] } ?? "" : ""
        let shown = Terminal.printable(String(scheme.prefix(most)) + address(text.dropFirst(scheme.count)))
        return shown.count <= most ? shown : String(shown.prefix(most - 1)) + "…"
    }

    /// Returns the form in which to show a text without a scheme, such as a name. Unless the text may contain a secret,
    /// only its length is limited.
    static func ofName(_ text: String) -> String {
        guard !text.contains(where: { ":@?=".contains($0) }) else { return of(text) }
        let shown = Terminal.printable(text)
        return shown.count <= most ? shown : String(shown.prefix(most - 1)) + "…"
    }

    private static func isSchemeCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2D, 0x2E: true
        default: false
        }
    }

    /// Returns the text after the scheme, without user name, password, query and any further words.
    private static func address(_ text: Substring) -> String {
        let isEnd: (Character) -> Bool = { "?#".contains($0) || $0.isWhitespace }
        let head = text.prefix { !isEnd($0) }
        let cut = head.endIndex < text.endIndex ? "…" : ""
        guard let at = head.lastIndex(of: "@") else {
            // The end may have been found within a password, which may contain the same characters.
            return text.contains("@") ? "…" : head + cut
        }
        return "…" + head[at...].dropFirst() + cut
    }
}
