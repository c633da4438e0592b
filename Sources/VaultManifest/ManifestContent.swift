package import VaultModel

/// Detects from a resource's first bytes whether a player may take it for a manifest, whatever its type and path
/// suggest.
///
/// Players look at the content too, and they request what they find in it without going through the vault. So a
/// playlist of another kind, or in another encoding, also counts as a manifest if some player accepts it; it is then
/// refused when it is parsed.
package enum ManifestContent {
    /// The number of bytes of a text that are examined. Players examine fewer.
    private static let textBytes = 64 << 10
    /// The maximum number of bytes read before the content is identified. It also limits the size of the ID3 tags that
    /// are skipped.
    package static let maxBytes = 1 << 20
    /// The minimum number of bytes that show whether a text may begin here.
    package static let minBytes = 16
    /// The maximum number of consecutive ID3 tags. Media have one.
    private static let maxTags = 8

    /// Returns how many first bytes are needed to identify the content. If the given bytes suffice, this is no more
    /// than their number.
    package static func bytesNeeded(after start: [UInt8]) -> Int {
        guard start.count >= minBytes else { return minBytes }
        guard let offset = offsetOfText(in: start) else { return start.count }
        // Bytes after a tag that is too long are not searched.
        return offset + minBytes > maxBytes ? start.count : min(offset + textBytes, maxBytes)
    }

    /// Returns whether a text may begin with these first bytes; always true for at least `minBytes` of them. If it is
    /// true, a player gets the bytes only after enough of them have arrived to identify the content.
    package static func mayBeginText(_ start: [UInt8]) -> Bool {
        guard start.count < minBytes else { return true }
        guard let first = start.first(where: { $0 != 0 && !isMark($0) }) else { return false }
        return isBlank(first) || isLetter(first) || "#<[".utf8.contains(first)
    }

    /// Returns the kind of manifest that begins with these bytes; nil if something else does.
    ///
    /// XML in which the root element of a DASH manifest comes later, for example after a document type, counts as DASH.
    /// If it is not DASH, it is refused when it is parsed. Text in UTF-16 or after an ID3 tag also counts.
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

    /// Returns the offset at which a text may begin; nil if the bytes begin media. The offset is past the end of these
    /// bytes if an ID3 tag reaches that far.
    private static func offsetOfText(in start: [UInt8]) -> Int? {
        var offset = 0
        for _ in 0..<maxTags {
            guard let length = tagLength(start[min(offset, start.count)...]) else { break }
            offset += length
        }
        guard offset < start.count else { return offset }
        let first = start[offset...].prefix(8)
        let isWide = first.contains(0)
        // In UTF-16 and UTF-32, every character here contains a zero byte. An MP4 box has no byte order mark, and its
        // name follows its zeros.
        let text = first.filter { $0 != 0 }.drop(while: isMark)
        if isWide, first.count == 8, text.count > 4 { return nil }
        guard let byte = text.first else { return isWide ? nil : offset }
        return isBlank(byte) || byte == UInt8(ascii: "#") || byte == UInt8(ascii: "<") || byte == UInt8(ascii: "[")
            || isLetter(byte) && !isWide && mayBeScheme(start[offset...]) ? offset : nil
    }

    /// Returns the length of the ID3 tag that begins here (ID3v2.4 §3.1), which players skip; nil if no tag begins
    /// here.
    private static func tagLength(_ bytes: ArraySlice<UInt8>) -> Int? {
        let head = Array(bytes.prefix(10))
        guard head.count == 10, head.starts(with: "ID3".utf8), head[3] != 0xFF, head[4] != 0xFF,
            head[6...].allSatisfy({ $0 < 0x80 })
        else { return nil }
        let size = head[6...].reduce(0) { $0 << 7 | Int($1) }
        return 10 + size + (head[5] & 0x10 == 0 ? 0 : 10)
    }

    /// The beginnings of other playlist formats that several players, Windows and mpv open.
    private static let lists = ["[playlist]", "[reference]", "[internetshortcut]", "# mpv edl"].map { Array($0.utf8) }
    /// The root elements of manifests and of other playlist formats that players open.
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

    /// Returns whether the bytes may begin with a scheme and `://`. If there are too few bytes to tell, an incomplete
    /// beginning suffices.
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
            // The root element may have a namespace prefix.
            guard text[index - 1] == UInt8(ascii: ":") else { return false }
            let before = text[..<(index - 1)].last { !isLetter($0) }
            return before == UInt8(ascii: "<")
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// Returns whether a byte occurs in a byte order mark, in any encoding.
    private static func isMark(_ byte: UInt8) -> Bool {
        byte == 0xEF || byte == 0xBB || byte == 0xBF || byte == 0xFE || byte == 0xFF
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
    }
}
