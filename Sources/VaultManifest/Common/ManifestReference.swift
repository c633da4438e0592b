package import VaultModel

/// A resource, or a folder of resources, that a manifest names.
package struct ManifestReference: Hashable, Sendable {
    /// The purpose for which a player uses a resource.
    package enum Role: Hashable, Sendable {
        /// Another manifest.
        case playlist
        /// Media, in the form of a segment or a part of one.
        case segment
        /// Data that a decoder needs before the first segment.
        case initialization
        /// A key that decrypts segments.
        case key
        /// Anything else that a player fetches, such as session data and images.
        case data
    }

    /// The URL, resolved against the manifest's URL.
    package let url: MediaURL
    /// The purpose for which the player uses the resource.
    package let role: Role
    /// The range that the player uses, which is never empty; nil for the whole resource.
    package let range: ByteRange?
    /// Whether the URL is a prefix to which players append templates (DASH). It then ends in a slash.
    package let isFolder: Bool
    /// Whether this is the last segment of a count that was rounded up. If it does not exist, the title simply ends
    /// before it.
    package let mayBeAbsent: Bool

    /// Creates a reference.
    package init(
        _ url: MediaURL, _ role: Role, range: ByteRange? = nil, isFolder: Bool = false, mayBeAbsent: Bool = false
    ) {
        self.url = url
        self.role = role
        self.range = range
        self.isFolder = isFolder
        self.mayBeAbsent = mayBeAbsent
    }
}

/// A reference that players are not allowed to follow; see ``ManifestTarget/refusal``.
package struct ManifestRefusal: Hashable, Sendable {
    /// The line of the URI, or of the element that contains it, counted from 1.
    package let line: Int
    package let role: ManifestReference.Role

    /// The maximum number of refusals reported for a manifest.
    package static let most = 16
}

/// How to rewrite a URI in a manifest.
package enum ManifestTarget: Hashable, Sendable {
    /// A player would request this URL, so it must be routed through the vault.
    case url(MediaURL)
    /// A player requests nothing, so the text is kept: a `data:` URI contains its resource, which is not a manifest,
    /// and a `skd:` URI names a key to a DRM system.
    case inert
    /// A player might bypass the vault, for example by opening a file, so ``refusal`` is written instead.
    case refused

    /// The replacement for a refused URI. The service does not have this path, so a player gets a 404.
    ///
    /// Without its leading slash, the path would resolve to a URL of the origin and be requested there.
    package static let refusal = "/refused"

    /// Decides how to rewrite a URI.
    ///
    /// - Parameters:
    ///   - uri: the URI's bytes, without surrounding white space.
    ///   - role: the purpose for which the player uses the resource. A manifest in a `data:` URI is refused, because
    ///     the URIs in it would not be routed through the vault. Media that may be text are refused too, because some
    ///     players would read them as a manifest.
    ///   - resolver: the resolver for relative references.
    package init(_ uri: ArraySlice<UInt8>, _ role: ManifestReference.Role, _ resolver: inout URLResolver) {
        // No player follows an empty reference.
        if uri.isEmpty {
            self = .inert
            return
        }
        guard let scheme = URLReference.scheme(of: uri), scheme != "http", scheme != "https" else {
            self = (try? resolver.resolve(uri)).map { .url($0) } ?? .refused
            return
        }
        switch scheme {
        case "skd": self = role == .playlist ? .refused : .inert
        case "data":
            let isInert = role != .playlist && (role == .key || !Self.mayContainText(uri))
            self = isInert ? .inert : .refused
        default: self = .refused
        }
    }

    /// Returns whether a `data:` URI might contain text (RFC 2397), or data that cannot be decoded.
    private static func mayContainText(_ uri: ArraySlice<UInt8>) -> Bool {
        guard let comma = uri.firstIndex(of: UInt8(ascii: ",")) else { return true }
        let head = String(decoding: uri[..<comma], as: UTF8.self).lowercased().filter { !$0.isWhitespace }
        var bytes = PercentEncoding.decoded(Array(uri[(comma + 1)...]))
        if head.hasSuffix(";base64") {
            // The first few whole base64 groups are enough.
            let start = bytes.filter { $0 > 0x20 }.prefix(16)
            guard let decoded = Base64.decode(String(decoding: start, as: UTF8.self)) else { return true }
            bytes = decoded
        } else if head.contains("base64") {
            return true
        }
        return bytes.first.map { $0 != 0 && $0 != 0x1A && $0 != UInt8(ascii: "G") && $0 != UInt8(ascii: "W") } ?? false
    }
}

/// Prepares the links that replace references in a rewritten manifest.
package enum ManifestLink {
    /// Returns a link, escaped so that it can stand anywhere in a manifest.
    ///
    /// Quotes, white space, braces and everything outside ASCII are escaped, because a link may contain a file name
    /// from the origin. That name must not end the line or the attribute, and must not be mistaken for a variable.
    package static func escaped(_ link: String) -> String {
        // Nearly every link is plain already, and checking it is cheaper than rewriting it.
        link.utf8.allSatisfy(isPlain) ? link : PercentEncoding.escapingIllegal(link)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x2D...0x3B, 0x3D, 0x3F...0x5A, 0x5F, 0x61...0x7A, 0x7E, 0x23...0x2C: true
        default: false
        }
    }
}
