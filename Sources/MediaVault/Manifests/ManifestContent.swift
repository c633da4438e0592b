import VaultManifest
package import VaultModel

/// Detects what a player may take for a manifest by its first bytes, whatever its type and path say.
///
/// Players look at the content, too, and request what they find in it around the vault.
package enum ManifestContent {
    /// Returns whether a manifest may begin with this byte: media seldom do.
    package static func mayBegin(with byte: UInt8) -> Bool {
        byte == UInt8(ascii: "#") || byte == UInt8(ascii: "<") || byte == 0xEF || byte == 0x20
            || (0x09...0x0D).contains(byte)
    }

    /// Returns the kind of manifest that begins with these bytes; nil if they begin anything else.
    ///
    /// XML in which the root element of a DASH manifest comes later, such as after a document type, counts as one: if
    /// it is none, it is refused when it is parsed.
    package static func kind(of start: [UInt8]) -> ManifestKind? {
        guard let first = start.first, mayBegin(with: first) else { return nil }
        if let kind = ManifestDetection.kind(of: start) { return kind }
        let text = start.drop { $0 != UInt8(ascii: "<") && mayBegin(with: $0) || $0 == 0xBB || $0 == 0xBF }
        return text.first == UInt8(ascii: "<") && containsRoot(text) ? .dash : nil
    }

    private static func containsRoot(_ text: ArraySlice<UInt8>) -> Bool {
        // ffmpeg ignores the case of the name.
        let name = Array("mpd".utf8)
        return text.indices.dropFirst().contains { index in
            guard text[index].asciiLowercased == name[0],
                text[index...].starts(with: name, by: { $0.asciiLowercased == $1 })
            else { return false }
            if text[index - 1] == UInt8(ascii: "<") { return true }
            // The prefix of its namespace.
            guard text[index - 1] == UInt8(ascii: ":") else { return false }
            let before = text[..<(index - 1)].last { !isLetter($0) }
            return before == UInt8(ascii: "<")
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
    }
}
