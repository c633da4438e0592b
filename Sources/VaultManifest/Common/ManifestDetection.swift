package import VaultModel

/// Detects manifests by their media type, path or first bytes.
package enum ManifestDetection {
    /// Returns the kind of manifest that a media type, or else the path's extension, indicates; nil for media.
    ///
    /// A media type for video, audio or images takes precedence over the extension, because origins may serve anything
    /// under any name.
    package static func kind(type: String?, path: some StringProtocol) -> ManifestKind? {
        if let type, let essence = type.split(separator: ";").first?.trimmingBlanks().lowercased() {
            if let kind = byType[essence] { return kind }
            if ["video/", "audio/", "image/"].contains(where: essence.hasPrefix) { return nil }
        }
        return MediaType.guess(path: path).flatMap { byType[$0] }
    }

    /// Returns whether a media type, or else the path's extension, indicates media.
    package static func isMedia(type: String?, path: some StringProtocol) -> Bool {
        type.map(MediaType.isKnownMedia) ?? false
            || MediaType.guess(path: path).map { byType[$0] == nil } ?? false
    }

    /// Returns whether a URI's path has the extension of a manifest.
    package static func isNamed(_ uri: ArraySlice<UInt8>) -> Bool {
        let end = uri.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? uri.endIndex
        let tail = uri[..<end].suffix(5)
        return extensions.contains { name in
            tail.count > name.count && tail.suffix(name.count + 1).first == UInt8(ascii: ".")
                && tail.suffix(name.count).elementsEqual(name) { $0.asciiLowercased == $1 }
        }
    }

    private static let extensions = ["m3u8", "m3u", "mpd"].map { Array($0.utf8) }

    /// Returns the kind of manifest that begins with these bytes; nil for anything else. Use this for resources whose
    /// type is unclear.
    ///
    /// - Parameter head: the first bytes of the resource; 1 KiB is enough.
    package static func kind(of head: some Sequence<UInt8>) -> ManifestKind? {
        var text = Array(head.prefix(1024))[...]
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
        skipBlanks(&text)
        if text.starts(with: "#EXTM3U".utf8) { return .hls }
        // Declarations and comments may precede the root element.
        while text.starts(with: "<?".utf8) || text.starts(with: "<!--".utf8) {
            let end = text.starts(with: "<?".utf8) ? "?>" : "-->"
            while !text.isEmpty, !text.starts(with: end.utf8) { text.removeFirst() }
            text = text.dropFirst(end.utf8.count)
            skipBlanks(&text)
        }
        // The root element's name may have a prefix, as in `<dash:MPD`.
        guard text.popFirst() == UInt8(ascii: "<") else { return nil }
        let name = text.prefix { $0 > 0x20 && $0 != UInt8(ascii: ">") && $0 != UInt8(ascii: "/") }
        let local = name.lastIndex(of: UInt8(ascii: ":")).map { name[($0 + 1)...] } ?? name
        // Like ffmpeg, this ignores the name's case.
        return local.elementsEqual("mpd".utf8) { $0.asciiLowercased == $1 } ? .dash : nil
    }

    private static func skipBlanks(_ text: inout ArraySlice<UInt8>) {
        text = text.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
    }

    private static let byType: [String: ManifestKind] = [
        "application/vnd.apple.mpegurl": .hls, "application/x-mpegurl": .hls, "audio/mpegurl": .hls,
        "audio/x-mpegurl": .hls, "application/dash+xml": .dash,
    ]
}
