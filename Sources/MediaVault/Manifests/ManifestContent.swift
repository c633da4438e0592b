import VaultManifest
package import VaultModel

/// Detects by its first bytes what a player may take for a manifest, whatever its type and path say.
///
/// Players look at the content, too, and request what they find in it without the vault. So a playlist of another kind
/// or in another encoding that some player accepts counts as a manifest, too; it is refused when it is parsed.
package enum ManifestContent {
    /// How much of a text is examined; players examine less.
    private static let textBytes = 64 << 10
    /// Maximum bytes read before the decision. This also bounds the ID3 tags that are skipped.
    package static let maxBytes = 1 << 20
    /// Minimum bytes that show whether a text may begin.
    static let minBytes = 16
    /// Maximum ID3 tags in a row; media have one.
    private static let maxTags = 8

    /// Returns how many first bytes identify the content; no more than the given ones if those suffice.
    package static func bytesNeeded(after start: [UInt8]) -> Int {
        guard start.count >= minBytes else { return minBytes }
        guard let offset = offsetOfText(in: start) else { return start.count }
        // Nothing is searched for behind a longer tag.
        return offset + minBytes > maxBytes ? start.count : min(offset + textBytes, maxBytes)
    }

    /// Returns whether these first bytes may begin a text, which is always so for `minBytes` or more. Then a player
    /// gets them only after more bytes have shown what they begin.
    package static func mayBeginText(_ start: [UInt8]) -> Bool {
        guard start.count < minBytes else { return true }
        guard let first = start.first(where: { $0 != 0 && !isMark($0) }) else { return false }
        return isBlank(first) || isLetter(first) || "#<[".utf8.contains(first)
    }

    /// Returns the kind of manifest that begins with these bytes; nil if they begin anything else.
    ///
    /// XML with the root element of a DASH manifest further on, such as after a document type, counts as DASH; if it is
    /// not, it is refused when it is parsed. Text in UTF-16 or behind an ID3 tag counts, too.
    package static func kind(of start: [UInt8]) -> ManifestKind? {
        guard let offset = offsetOfText(in: start), offset < start.count else { return nil }
        let text = start[offset...].prefix(textBytes).filter { $0 != 0 }.drop { isMark($0) || isBlank($0) }
        if let kind = ManifestDetection.kind(of: text) { return kind }
        switch text.first {
        case UInt8(ascii: "<"): return containsRoot(text) ? .dash : nil
        case UInt8(ascii: "["), UInt8(ascii: "#"):
            let isList = lists.contains { list in text.starts(with: list) { $0.asciiLowercased == $1 } }
            return isList || listsURLs(text) ? .hls : nil
        default: return listsURLs(text) ? .hls : nil
        }
    }

    /// Returns where a text may begin, which is past these bytes if an ID3 tag ends there; nil if they begin media.
    private static func offsetOfText(in start: [UInt8]) -> Int? {
        var offset = 0
        for _ in 0..<maxTags {
            guard let length = tagLength(start[min(offset, start.count)...]) else { break }
            offset += length
        }
        guard offset < start.count else { return offset }
        let first = start[offset...].prefix(8)
        let isWide = first.contains(0)
        // UTF-16 and UTF-32 have a zero in every character; an MP4 box has no mark, and its name follows the zeros.
        let text = first.filter { $0 != 0 }.drop(while: isMark)
        if isWide, first.count == 8, text.count > 4 { return nil }
        guard let byte = text.first else { return isWide ? nil : offset }
        return isBlank(byte) || byte == UInt8(ascii: "#") || byte == UInt8(ascii: "<") || byte == UInt8(ascii: "[")
            || isLetter(byte) && !isWide && mayBeScheme(start[offset...]) ? offset : nil
    }

    /// Returns the length of the ID3 tag that begins here (ID3v2.4 §3.1), which players skip; nil if there is none.
    private static func tagLength(_ bytes: ArraySlice<UInt8>) -> Int? {
        let head = Array(bytes.prefix(10))
        guard head.count == 10, head.starts(with: "ID3".utf8), head[3] != 0xFF, head[4] != 0xFF,
            head[6...].allSatisfy({ $0 < 0x80 })
        else { return nil }
        let size = head[6...].reduce(0) { $0 << 7 | Int($1) }
        return 10 + size + (head[5] & 0x10 == 0 ? 0 : 10)
    }

    /// The beginnings of other playlists that players open, from several players, Windows and mpv.
    private static let lists = ["[playlist]", "[reference]", "[internetshortcut]", "# mpv edl"].map { Array($0.utf8) }
    /// The root elements of manifests and of other playlists that players open.
    private static let roots = ["mpd", "smoothstreamingmedia", "playlist", "asx", "smil", "winampxml"]
        .map { Array($0.utf8) }

    /// Returns whether the first line that is not a comment begins with a URL.
    private static func listsURLs(_ text: [UInt8].SubSequence) -> Bool {
        var rest = text
        while let first = rest.first {
            if first == UInt8(ascii: "#") {
                rest = rest.drop { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
            } else if isBlank(first) {
                rest = rest.dropFirst()
            } else {
                return isLetter(first) && rest.drop(while: isLetter).starts(with: "://".utf8)
            }
        }
        return false
    }

    /// Returns whether the bytes may begin with a scheme and `://`; a shorter start of that is enough.
    private static func mayBeScheme(_ bytes: ArraySlice<UInt8>) -> Bool {
        let name = bytes.prefix(16).prefix { isLetter($0) }
        let rest = bytes[name.endIndex...].prefix(3)
        return rest.elementsEqual("://".utf8.prefix(rest.count)) && (rest.count == 3 || bytes.count < minBytes)
    }

    private static func containsRoot(_ text: ArraySlice<UInt8>) -> Bool {
        text.indices.dropFirst().contains { index in
            let name = text[index...]
            let isRoot = roots.contains { root in name.starts(with: root) { $0.asciiLowercased == $1 } }
            guard isRoot else { return false }
            if text[index - 1] == UInt8(ascii: "<") { return true }
            // A namespace prefix.
            guard text[index - 1] == UInt8(ascii: ":") else { return false }
            let before = text[..<(index - 1)].last { !isLetter($0) }
            return before == UInt8(ascii: "<")
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// Whether a byte belongs to a byte order mark, in any encoding.
    private static func isMark(_ byte: UInt8) -> Bool {
        byte == 0xEF || byte == 0xBB || byte == 0xBF || byte == 0xFE || byte == 0xFF
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
    }
}

extension MediaReader {
    /// Returns the first bytes, enough to identify the content if there are so many; nil at the end.
    ///
    /// - Throws: as ``next()``.
    package func start() async throws -> [UInt8]? {
        guard var start = try await next() else { return nil }
        while start.count < ManifestContent.bytesNeeded(after: start), let more = try await next() { start += more }
        return start
    }
}
