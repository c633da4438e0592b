/// What is known about a representation without its bytes. The vault stores it and serves it from then on.
public struct ContentInformation: Hashable, Sendable {
    /// The maximum length of a representation: 2⁵³ − 1 bytes, the largest integer that every JSON reader keeps exactly.
    public static let maxBytes: Int64 = (1 << 53) - 1

    /// The representation's length in bytes; nil until the origin states it.
    public var length: Int64?
    /// The media type that the origin sent, or else one guessed from the path; nil if neither is known.
    public var type: String?
    /// The origin's validators.
    public var validators: Validators
    /// Whether the origin is known to support range requests, which only an actual 206 proves.
    public var supportsRanges: Bool
    /// The URL from which the bytes came if a redirect led there; references in a manifest are relative to this URL.
    public var location: MediaURL?
    /// The hosts that sent bytes from nonpublic addresses; nil if unknown, as in vaults that an older version wrote.
    package var privateHosts: Set<String>?
    /// The URL from which the bytes were requested, for a resource that is named by a content id and so may have
    /// several URLs; nil for any other resource, and if unknown, as in vaults that an older version wrote.
    package var source: MediaURL?
    /// Whether the bytes were imported from a file and the origin has not yet confirmed that it has the same bytes.
    package var isImported = false

    /// Creates content information from an origin's response.
    public init(
        length: Int64?, type: String?, validators: Validators, supportsRanges: Bool, location: MediaURL? = nil
    ) {
        self.length = length
        self.type = type
        self.validators = validators
        self.supportsRanges = supportsRanges
        self.location = location
    }
}

/// Parses and classifies media types, and guesses them from a path's extension if the origin sends no type or
/// `application/octet-stream`.
package enum MediaType {
    /// Returns the media type for `path`'s extension, or nil if media files do not use that extension.
    package static func guess(path: some StringProtocol) -> String? {
        guard let name = path.split(separator: "/").last, let dot = name.lastIndex(of: ".") else { return nil }
        return byExtension[name[name.index(after: dot)...].lowercased()]
    }

    private static let byExtension: [String: String] = [
        "mp4": "video/mp4", "m4v": "video/mp4", "mov": "video/quicktime", "webm": "video/webm",
        "mkv": "video/x-matroska", "ts": "video/mp2t", "m2ts": "video/mp2t", "avi": "video/x-msvideo",
        "mp3": "audio/mpeg", "m4a": "audio/mp4", "aac": "audio/aac", "flac": "audio/flac", "wav": "audio/wav",
        "ogg": "audio/ogg", "oga": "audio/ogg", "opus": "audio/ogg", "ogv": "video/ogg",
        "m3u8": "application/vnd.apple.mpegurl", "m3u": "audio/mpegurl", "mpd": "application/dash+xml",
        "m4s": "video/iso.segment", "vtt": "text/vtt", "srt": "application/x-subrip",
    ]
}

// MARK: Reading

extension MediaType {
    /// The media type for content whose type is unknown.
    package static let unknown = "application/octet-stream"

    /// The maximum length of a field value in bytes, including parameters.
    private static let maxBytes = 1024

    /// Parses a field value that is exactly one media type with its parameters (RFC 9110 §8.3.1).
    ///
    /// A list is refused because a browser may use any member of it: some treat `audio/mpeg, text/html` as a page.
    /// Types with several bodies (`multipart/…`) are refused because each body states its own type.
    ///
    /// - Returns: the value without surrounding white space, or nil if it is anything but one media type.
    package static func one(_ value: some StringProtocol) -> String? {
        let text = value.trimmingBlanks()
        guard text.utf8.count <= maxBytes else { return nil }
        var rest = Array(text.utf8)[...]
        guard skipToken(&rest), skip("/", &rest), skipToken(&rest), !text.lowercased().hasPrefix("multipart/") else {
            return nil
        }
        while !rest.isEmpty {
            skipBlanks(&rest)
            guard skip(";", &rest) else { return nil }
            skipBlanks(&rest)
            // A parameter may be empty.
            if rest.isEmpty || rest.first == UInt8(ascii: ";") { continue }
            guard skipToken(&rest), skip("=", &rest), skipQuoted(&rest) || skipToken(&rest) else { return nil }
        }
        return String(text)
    }

    /// Returns a media type without any parameter but `codecs`, which players need; other parameters could reveal the
    /// origin.
    ///
    /// - Parameter type: a string that is exactly one media type.
    package static func withoutOrigin(_ type: String) -> String {
        let name = type.prefix { $0 != ";" }.trimmingBlanks()
        let rest = type.dropFirst(name.count)
        // Quotation marks in other values are not interpreted, because they could only hide the parameter.
        guard let parameter = rest.lowercased().firstRange(of: "codecs=") else { return String(name) }
        let value = rest.lowercased()[parameter.upperBound...]
        let codecs = rest.dropFirst(rest.count - value.count).drop { $0 == "\"" }.prefix(while: isOfCodecs)
        return codecs.isEmpty ? String(name) : "\(name); codecs=\"\(codecs)\""
    }

    /// Returns whether a list of codecs may contain a character (RFC 6381).
    private static func isOfCodecs(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || ".,+-_ ".contains(character))
    }

    private static func skip(_ mark: Unicode.Scalar, _ rest: inout ArraySlice<UInt8>) -> Bool {
        guard rest.first == UInt8(ascii: mark) else { return false }
        rest.removeFirst()
        return true
    }

    private static func skipBlanks(_ rest: inout ArraySlice<UInt8>) {
        rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }

    private static func skipToken(_ rest: inout ArraySlice<UInt8>) -> Bool {
        let end = rest.firstIndex { !isTokenByte($0) } ?? rest.endIndex
        guard end > rest.startIndex else { return false }
        rest = rest[end...]
        return true
    }

    private static func skipQuoted(_ rest: inout ArraySlice<UInt8>) -> Bool {
        var inner = rest
        guard skip("\"", &inner) else { return false }
        while let byte = inner.popFirst() {
            if byte == UInt8(ascii: "\"") {
                rest = inner
                return true
            }
            let byte = byte == UInt8(ascii: "\\") ? inner.popFirst() : byte
            guard let byte, byte >= 0x20, byte < 0x7F else { return false }
        }
        return false
    }

    /// Returns whether a token may contain a byte (RFC 9110 §5.6.2), except that a single quote is not accepted.
    ///
    /// Browsers treat a single quote as a quotation mark when they look for the commas in a list.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        HTTPToken.contains(byte) && byte != UInt8(ascii: "'")
    }
}

// MARK: Types that are not pages

extension MediaType {
    /// Returns whether content of a media type may be played. It may not if the type is that of a page, a document or
    /// an archive.
    ///
    /// An unknown type counts as media, because many origins send no type, or a wrong one.
    package static func mayBeMedia(_ type: String) -> Bool {
        let name = type.prefix { $0 != ";" }.trimmingBlanks().lowercased()
        if name.hasPrefix("text/") { return timedText.contains(name) }
        return !documents.contains(name) && !feeds.contains(name)
    }

    /// Returns whether a media type is that of a feed, which names media rather than being one.
    package static func isFeed(_ type: String) -> Bool {
        feeds.contains(type.prefix { $0 != ";" }.trimmingBlanks().lowercased())
    }

    /// Returns whether the bytes begin like a feed in RSS, Atom or JSON Feed, regardless of the type that the origin
    /// states.
    package static func beginsFeed(_ bytes: [UInt8]) -> Bool {
        let text = String(decoding: bytes.prefix(feedBeginningByteCount), as: UTF8.self).lowercased()
        switch text.first(where: { !$0.isWhitespace && $0 != "\u{FEFF}" }) {
        case "<": return ["<rss", "<feed", "<rdf:rdf"].contains { text.contains($0) } && !beginsPage(bytes)
        case "{": return text.contains("jsonfeed.org/version")
        default: return false
        }
    }

    /// Returns whether a media type is that of a document or an archive. `text/plain` does not count, because many
    /// servers send it for any file whose type they do not know.
    package static func isDocument(_ type: String) -> Bool {
        !mayBeMedia(type) && type.prefix { $0 != ";" }.trimmingBlanks().lowercased() != "text/plain"
    }

    /// Returns whether a media type is that of a web page.
    package static func isPage(_ type: String) -> Bool {
        ["text/html", "application/xhtml+xml"].contains(type.prefix { $0 != ";" }.trimmingBlanks().lowercased())
    }

    /// Returns whether the bytes begin like a web page, regardless of the type that the origin states.
    package static func beginsPage(_ bytes: some Sequence<UInt8>) -> Bool {
        let isBlank: (UInt8) -> Bool = { $0 <= 0x20 || $0 == 0xEF || $0 == 0xBB || $0 == 0xBF }
        let text = Array(bytes.prefix(pageBeginningByteCount).drop(while: isBlank))
        return pageBeginnings.contains(where: { beginning in
            guard text.starts(with: beginning.utf8, by: { $0.asciiLowercased == $1 }) else { return false }
            // A tag's name must be followed by white space or the end of the tag.
            let next = text.dropFirst(beginning.utf8.count).first
            return beginning == "<!--" || next.map { $0 <= 0x20 || $0 == UInt8(ascii: ">") } ?? false
        })
    }

    /// The beginnings by which browsers recognize pages.
    private static let pageBeginnings = [
        "<!--", "<!doctype html", "<html", "<head", "<title", "<meta", "<script", "<style", "<body", "<iframe", "<h1",
        "<div", "<font", "<table", "<a", "<b", "<br", "<p",
    ]

    /// The number of bytes, including leading white space, that suffice to recognize a page.
    package static let pageBeginningByteCount = 64

    /// The number of bytes that suffice to recognize a feed, whose root follows a declaration and comments.
    private static let feedBeginningByteCount = 1024

    private static let feeds: Set<String> = [
        "application/atom+xml", "application/feed+json", "application/rdf+xml", "application/rss+xml",
    ]
    private static let timedText: Set<String> = ["text/vtt", "text/srt", "text/x-ssa"]
    private static let documents: Set<String> = [
        "application/gzip", "application/javascript", "application/json", "application/pdf",
        "application/problem+json", "application/x-tar", "application/xhtml+xml", "application/xml",
        "application/zip",
    ]

    /// Returns whether a media type is known to be audio, video or a bitmap image.
    ///
    /// A browser shows content of a known media type without running scripts in it. An SVG drawing can contain scripts,
    /// so its type is not included.
    package static func isKnownMedia(_ type: String) -> Bool {
        let name = type.prefix { $0 != ";" }.trimmingBlanks().lowercased()
        guard let slash = name.firstIndex(of: "/") else { return false }
        return media[String(name[..<slash])]?.contains(String(name[name.index(after: slash)...])) ?? false
    }

    private static let media: [String: Set<String>] = [
        "audio": [
            "3gpp", "3gpp2", "aac", "aacp", "ac3", "ac4", "aiff", "amr", "amr-wb", "basic", "eac3", "flac",
            "iso.segment", "l16", "m4a", "matroska", "midi", "mp3", "mp4", "mpa", "mpeg", "mpeg3", "ogg", "opus",
            "vnd.dts", "vnd.dts.hd", "vnd.wave", "vorbis", "wav", "wave", "webm", "x-aac", "x-aiff", "x-flac",
            "x-m4a", "x-matroska", "x-mp3", "x-mpeg", "x-ms-wma", "x-pn-wav", "x-wav",
        ],
        "video": [
            "3gpp", "3gpp2", "av1", "avi", "h264", "h265", "iso.segment", "matroska", "mp1s", "mp2p", "mp2t", "mp4",
            "mpeg", "msvideo", "ogg", "quicktime", "vnd.dlna.mpeg-tts", "webm", "x-flv", "x-m4v", "x-matroska",
            "x-mpeg", "x-ms-asf", "x-ms-wmv", "x-msvideo",
        ],
        "image": [
            "apng", "avif", "bmp", "gif", "heic", "heif", "jp2", "jpeg", "jpg", "jxl", "pjpeg", "png", "tiff",
            "vnd.microsoft.icon", "webp", "x-icon", "x-ms-bmp",
        ],
    ]
}

/// The kind of manifest that a resource is, if it refers to media rather than containing it.
public enum ManifestKind: String, Codable, Hashable, Sendable {
    /// An HLS playlist (RFC 8216).
    case hls
    /// A DASH media presentation description (ISO/IEC 23009-1).
    case dash
}
