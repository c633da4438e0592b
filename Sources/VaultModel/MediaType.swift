/// What is known of a representation without its bytes: kept in the vault, and served from it on the next open.
public struct ContentInformation: Hashable, Sendable {
    /// The longest representation there can be: what every JSON reader keeps exactly, 2⁵³ − 1 bytes.
    public static let mostBytes: Int64 = (1 << 53) - 1

    /// The length in bytes, or nil while the origin has not said.
    public var length: Int64?
    /// The media type as the origin gave it, or one guessed from the path; nil where neither is known.
    public var type: String?
    /// The origin's validators.
    public var validators: Validators
    /// Whether the origin answers range requests, proved by a real 206.
    public var supportsRanges: Bool

    /// Facts as an origin gave them.
    public init(length: Int64?, type: String?, validators: Validators, supportsRanges: Bool) {
        self.length = length
        self.type = type
        self.validators = validators
        self.supportsRanges = supportsRanges
    }
}

/// Media types: read, told apart, and guessed from a path's extension for origins that send none or
/// `application/octet-stream`.
package enum MediaType {
    /// The type that `path`'s extension stands for; nil where the extension is not one of media.
    package static func guess(path: some StringProtocol) -> String? {
        guard let name = path.split(separator: "/").last, let dot = name.lastIndex(of: ".") else { return nil }
        return byExtension[name[name.index(after: dot)...].lowercased()]
    }

    private static let byExtension: [String: String] = [
        "mp4": "video/mp4", "m4v": "video/mp4", "mov": "video/quicktime", "webm": "video/webm",
        "mkv": "video/x-matroska", "ts": "video/mp2t", "m2ts": "video/mp2t", "avi": "video/x-msvideo",
        "mp3": "audio/mpeg", "m4a": "audio/mp4", "aac": "audio/aac", "flac": "audio/flac", "wav": "audio/wav",
        "ogg": "audio/ogg", "oga": "audio/ogg", "opus": "audio/ogg", "ogv": "video/ogg",
        "m3u8": "application/vnd.apple.mpegurl", "mpd": "application/dash+xml",
        "m4s": "video/iso.segment", "vtt": "text/vtt", "srt": "application/x-subrip",
    ]
}

// MARK: Reading

extension MediaType {
    /// What is nothing else.
    package static let unknown = "application/octet-stream"

    /// The longest that is read, in bytes, parameters included.
    private static let mostBytes = 1024

    /// Reads a field value that is exactly one media type (RFC 9110 §8.3.1), its parameters included; nil where it is
    /// anything else. Of a list a browser may take any member: `audio/mpeg, text/html` is a page to some. Several bodies in
    /// one (`multipart/…`) are no medium: each says of itself what it is.
    package static func one(_ value: some StringProtocol) -> String? {
        let text = value.trimmingBlanks()
        guard text.utf8.count <= mostBytes else { return nil }
        var rest = Array(text.utf8)[...]
        guard skipToken(&rest), skip("/", &rest), skipToken(&rest), !text.lowercased().hasPrefix("multipart/") else {
            return nil
        }
        while !rest.isEmpty {
            skipBlanks(&rest)
            guard skip(";", &rest) else { return nil }
            skipBlanks(&rest)
            // A parameter may be left out.
            if rest.isEmpty || rest.first == UInt8(ascii: ";") { continue }
            guard skipToken(&rest), skip("=", &rest), skipQuoted(&rest) || skipToken(&rest) else { return nil }
        }
        return String(text)
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

    /// A token's characters (RFC 9110 §5.6.2), without the single quote: browsers take it for a quote when they look for
    /// the commas of a list.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&*+-.^_`|~".utf8.contains(byte)
        }
    }
}

// MARK: What can be no page

extension MediaType {
    /// Whether a media type is one of the sounds, films and pictures of dots that are known: a browser shows nothing of it
    /// in which a script could be. A drawing (SVG) is a page.
    package static func isKnownMedia(_ type: String) -> Bool {
        let name = type.prefix { $0 != ";" }.trimmingBlanks().lowercased()
        guard let slash = name.firstIndex(of: "/") else { return false }
        return media[String(name[..<slash])]?.contains(String(name[name.index(after: slash)...])) ?? false
    }

    private static let media: [String: Set<String>] = [
        "audio": [
            "3gpp", "3gpp2", "aac", "aacp", "ac3", "ac4", "aiff", "amr", "amr-wb", "basic", "eac3", "flac", "iso.segment",
            "l16", "m4a", "matroska", "midi", "mp3", "mp4", "mpa", "mpeg", "mpeg3", "ogg", "opus", "vnd.dts",
            "vnd.dts.hd", "vnd.wave", "vorbis", "wav", "wave", "webm", "x-aac", "x-aiff", "x-flac", "x-m4a", "x-matroska",
            "x-mp3", "x-mpeg", "x-ms-wma", "x-pn-wav", "x-wav",
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

/// What kind of list a resource is, where it is one that names media rather than media itself.
public enum ManifestKind: String, Hashable, Sendable {
    /// An HLS playlist (RFC 8216).
    case hls
    /// A DASH media presentation description (ISO/IEC 23009-1).
    case dash
}
