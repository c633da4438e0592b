package import VaultModel

/// A reference to a URL as it stands in `Location`: absolute, or relative to where it was found.
package enum URLReference {
    /// The URL that `reference` means at `base` (RFC 3986 §5.2); its fragment is dropped.
    ///
    /// Blanks are escaped: servers send them, and browsers follow.
    ///
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidURL`` where that is no http or https URL.
    package static func resolve(_ reference: String, at base: MediaURL) throws -> MediaURL {
        let text = reference.prefix { $0 != "#" }.split(separator: " ", omittingEmptySubsequences: false)
            .joined(separator: "%20")
        if hasScheme(text) { return try MediaURL(text) }
        if text.hasPrefix("//") { return try MediaURL("\(base.scheme):\(text)") }
        let root = "\(base.scheme)://\(base.authority)"
        if text.isEmpty { return try MediaURL(root + base.path + (base.query.map { "?\($0)" } ?? "")) }
        if text.hasPrefix("/") { return try MediaURL(root + text) }
        if text.hasPrefix("?") { return try MediaURL(root + base.path + text) }
        let folder = base.path[...(base.path.lastIndex(of: "/") ?? base.path.startIndex)]
        return try MediaURL(root + folder + text)
    }

    private static func hasScheme(_ text: String) -> Bool {
        guard let colon = text.firstIndex(of: ":"), let first = text.utf8.first, isLetter(first) else { return false }
        return text[..<colon].utf8.allSatisfy {
            isLetter($0) || ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte.asciiLowercased) }
}
