package import VaultModel

/// A resource, or a folder of resources, that a manifest names.
package struct ManifestReference: Hashable, Sendable {
    /// What a player uses a resource for.
    package enum Role: Hashable, Sendable {
        /// A further manifest.
        case playlist
        /// Media: a segment, or a part of one.
        case segment
        /// What a decoder needs before the first segment.
        case initialization
        /// A key that opens segments.
        case key
        /// Anything else to be fetched, such as session data and images.
        case data
    }

    /// The URL, resolved against the manifest's.
    package let url: MediaURL
    /// What the player uses it for.
    package let role: Role
    /// The range that is used, never empty; nil for the whole.
    package let range: ByteRange?
    /// Whether the URL is a prefix that templates are appended to (DASH); it ends in a slash then.
    package let isFolder: Bool
    /// Whether this is the last segment of a count that was rounded up: without it, the title ends before it.
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

/// A reference in a manifest that players are refused; see ``ManifestTarget/refusal``.
package struct ManifestRefusal: Hashable, Sendable {
    /// The line of the URI, or of the element that has it, counted from 1.
    package let line: Int
    package let role: ManifestReference.Role

    /// Maximum refusals reported for a manifest.
    package static let most = 16
}

/// How to rewrite a URI in a manifest.
package enum ManifestTarget: Hashable, Sendable {
    /// A player would request this URL: lead it through the vault.
    case url(MediaURL)
    /// A player requests nothing, so the text stays: `data:` contains its resource, which is not a manifest, and `skd:`
    /// names a key to a DRM system.
    case inert
    /// A player might bypass the vault, and for example open a file; write ``refusal`` instead.
    case refused

    /// The replacement for a refused URI: a path that the service does not have, so that a player gets a 404.
    ///
    /// Without the leading slash, the path would belong to the origin, and be requested there.
    package static let refusal = "/refused"

    /// Decides how to rewrite a URI.
    ///
    /// - Parameters:
    ///   - uri: the URI's bytes, without white space around them.
    ///   - role: what the player uses it for. A manifest in a `data:` URI is refused, because the URIs in it would not
    ///     lead through the vault; so are media that may be text, because some players would read them as a manifest.
    ///   - resolver: resolves relative references.
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

    /// Returns whether a `data:` URI might contain text (RFC 2397), or something that cannot be decoded.
    private static func mayContainText(_ uri: ArraySlice<UInt8>) -> Bool {
        guard let comma = uri.firstIndex(of: UInt8(ascii: ",")) else { return true }
        let head = String(decoding: uri[..<comma], as: UTF8.self).lowercased().filter { !$0.isWhitespace }
        var bytes = PercentEncoding.decoded(Array(uri[(comma + 1)...]))
        if head.hasSuffix(";base64") {
            // The first few whole groups are enough.
            let start = bytes.filter { $0 > 0x20 }.prefix(16)
            guard let decoded = Base64.decode(String(decoding: start, as: UTF8.self)) else { return true }
            bytes = decoded
        } else if head.contains("base64") {
            return true
        }
        return bytes.first.map { $0 != 0 && $0 != 0x1A && $0 != UInt8(ascii: "G") && $0 != UInt8(ascii: "W") } ?? false
    }
}

/// The links that stand for references in a rewritten manifest.
package enum ManifestLink {
    /// Returns a link, escaped so that it can stand anywhere in a manifest.
    ///
    /// Quotes, white space, braces and everything outside ASCII are escaped: a link may contain a file name from the
    /// origin, which must end neither the line nor the attribute, and must not be taken for a variable.
    package static func escaped(_ link: String) -> String {
        // Nearly every link is plain; checking it is cheaper than writing it again.
        link.utf8.allSatisfy(isPlain) ? link : PercentEncoding.escapingIllegal(link)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x2D...0x3B, 0x3D, 0x3F...0x5A, 0x5F, 0x61...0x7A, 0x7E, 0x23...0x2C: true
        default: false
        }
    }
}
