package import VaultModel

/// Detects manifests by their first bytes, whatever their type and path say: players do so, too.
package enum ManifestContent {
    /// How many bytes are searched for the root element of a DASH manifest.
    private static let searched = 4096

    /// Returns whether a manifest may begin with this byte: media seldom do.
    package static func mayBegin(with byte: UInt8) -> Bool {
        byte == UInt8(ascii: "#") || byte == UInt8(ascii: "<") || byte == 0xEF || byte == 0x20
            || (0x09...0x0D).contains(byte)
    }

    /// Returns the kind of manifest that begins with these bytes; nil if they begin anything else.
    package static func kind(of start: [UInt8]) -> ManifestKind? {
        guard let first = start.first, mayBegin(with: first) else { return nil }
        var rest = start.prefix(searched)
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        if rest.starts(with: "#EXTM3U".utf8) { return .hls }
        rest = rest.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
        guard rest.first == UInt8(ascii: "<") else { return nil }
        return containsRoot(Array(rest)) ? .dash : nil
    }

    private static func containsRoot(_ text: [UInt8]) -> Bool {
        let name = Array("MPD".utf8)
        return text.indices.dropFirst().contains { index in
            // With or without a prefix of its namespace.
            (text[index - 1] == UInt8(ascii: "<") || text[index - 1] == UInt8(ascii: ":"))
                && text[index...].starts(with: name)
        }
    }
}
