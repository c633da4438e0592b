/// URL references, such as those in `Location` or in a manifest: absolute, or relative to the URL where they appear.
package enum URLReference {
    /// Returns the URL that `reference` denotes at `base` (RFC 3986 §5.2), without its fragment.
    ///
    /// Spaces are escaped, because some servers send them and browsers follow the resulting references.
    ///
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidURL`` if the result is not an http or https URL.
    package static func resolve(_ reference: String, at base: MediaURL) throws -> MediaURL {
        let text = reference.prefix { $0 != "#" }.split(separator: " ", omittingEmptySubsequences: false)
            .joined(separator: "%20")
        if scheme(of: Array(text.utf8)[...]) != nil { return try MediaURL(text) }
        if text.hasPrefix("//") { return try MediaURL("\(base.scheme):\(text)") }
        let root = "\(base.scheme)://\(base.authority)"
        if text.isEmpty { return try MediaURL(root + base.path + (base.query.map { "?\($0)" } ?? "")) }
        if text.hasPrefix("/") { return try MediaURL(root + text) }
        if text.hasPrefix("?") { return try MediaURL(root + base.path + text) }
        return try MediaURL(root + folder(of: base) + text)
    }

    /// Returns the scheme that a reference begins with, in lower case; nil if it is relative (RFC 3986 §3.1).
    package static func scheme(of reference: ArraySlice<UInt8>) -> String? {
        guard let first = reference.first, isLetter(first) else { return nil }
        for index in reference.indices {
            switch reference[index] {
            case UInt8(ascii: ":"): return String(decoding: reference[..<index], as: UTF8.self).lowercased()
            case 0x30...0x39, 0x2B, 0x2D, 0x2E, 0x41...0x5A, 0x61...0x7A: continue
            default: return nil
            }
        }
        return nil
    }

    /// Returns a URL's path up to and including its last slash.
    static func folder(of base: MediaURL) -> Substring {
        base.path[...(base.path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? base.path.startIndex)]
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte.asciiLowercased) }
}

/// Resolves the many references in one document.
///
/// Nearly all of them are plain: the name of a file beside the document, or a URL on the same host as the previous one.
/// The resolver assembles these without parsing the whole URL again.
package struct URLResolver {
    private let base: MediaURL
    private let folder: String
    /// The latest absolute reference: the bytes that spelled its `https://host`, and a URL with that host.
    private var latest: (root: [UInt8], host: MediaURL)?

    /// Creates a resolver for the references in the document at `base`.
    package init(_ base: MediaURL) {
        // A relative reference does not inherit the document's user name.
        self.base = base.withoutCredentials
        folder = String(URLReference.folder(of: base))
    }

    /// Returns the same URL as ``URLReference/resolve(_:at:)``.
    package mutating func resolve(_ reference: ArraySlice<UInt8>) throws -> MediaURL {
        let isPath = reference.first == UInt8(ascii: "/")
        if let url = Self.plain(reference, in: isPath ? "" : folder, of: base) { return url }
        if let latest, reference.starts(with: latest.root),
            let url = Self.plain(reference.dropFirst(latest.root.count), in: "", of: latest.host)
        {
            return url
        }
        let url = try URLReference.resolve(String(decoding: reference, as: UTF8.self), at: base)
        if URLReference.scheme(of: reference) != nil, let colon = reference.firstIndex(of: UInt8(ascii: ":")),
            let slash = reference[colon...].dropFirst(3).firstIndex(of: UInt8(ascii: "/"))
        {
            latest = (Array(reference[..<slash]), url)
        }
        return url
    }

    /// Returns the URL that a plain path with a plain query denotes; nil if parsing might change or refuse it.
    ///
    /// - Parameter folder: the path to which the reference is relative; empty if the reference begins with a slash.
    private static func plain(_ reference: ArraySlice<UInt8>, in folder: String, of host: MediaURL) -> MediaURL? {
        guard !reference.isEmpty, folder.utf8.count + reference.count <= 4096,
            folder.isEmpty == (reference.first == UInt8(ascii: "/"))
        else { return nil }
        var question: Int?
        var last = folder.isEmpty ? 0 : UInt8(ascii: "/")
        for index in reference.indices {
            let byte = reference[index]
            switch byte {
            case UInt8(ascii: "."), UInt8(ascii: "/"):
                // This may be the beginning of a dot segment, an empty segment, or a host.
                if question == nil, last == UInt8(ascii: "/") { return nil }
            case UInt8(ascii: "?"):
                // A reference that begins with a question mark keeps the document's path.
                if index == reference.startIndex { return nil }
                question = question ?? index
            case UInt8(ascii: "%"), UInt8(ascii: ":"):
                // In the path, this is an escape or the end of a scheme.
                if question == nil { return nil }
            case UInt8(ascii: "#"), UInt8(ascii: "\\"), ...0x20, 0x7F...: return nil
            default: break
            }
            last = byte
        }
        let path = String(decoding: reference[..<(question ?? reference.endIndex)], as: UTF8.self)
        let query = question.map { String(decoding: reference[($0 + 1)...], as: UTF8.self) }
        return MediaURL(
            scheme: host.scheme, host: host.host, port: host.port, path: folder.isEmpty ? path : folder + path,
            query: query, userInfo: host.userInfo)
    }
}
