import Foundation

/// One of the choices that a manifest offers: a video quality, an audio language or a subtitle language.
public struct Rendition: Hashable, Codable, Sendable {
    /// The kind of a rendition.
    public enum Kind: String, Hashable, Codable, Sendable {
        case video, audio, subtitles, closedCaptions
    }

    /// The rendition's identifier within its manifest. It is unique there, and stays the same after a selection.
    public let id: String
    /// The kind of the rendition.
    public let kind: Kind
    /// The language, as an RFC 5646 tag.
    public var language: String?
    /// The name that a player shows.
    public var name: String?
    /// The peak bit rate, in bits per second.
    public var bandwidth: Int?
    /// The width of the picture, in pixels.
    public var width: Int?
    /// The height of the picture, in pixels.
    public var height: Int?
    /// The codecs, in the notation of RFC 6381.
    public var codecs: String?
    /// Whether the manifest states that this rendition plays unless another is chosen.
    public var isDefault = false
    /// Whether the subtitles translate only speech that is not in the language of the audio.
    public var isForced = false
    /// The groups of alternatives that this rendition belongs to or, for a variant, is played with.
    public var groups: [String] = []

    /// Creates a rendition about which the manifest states nothing else.
    package init(id: String, kind: Kind) {
        self.id = id
        self.kind = kind
    }

    /// Returns whether the rendition's language is one of these, or a regional form of one.
    package func speaks(_ languages: LanguageRanges) -> Bool { language.map(languages.contains) ?? false }
}

/// The wanted languages, each with its regional forms: `en` includes `en-GB` (RFC 4647 §3.3.1).
package struct LanguageRanges: Sendable {
    private let ranges: Set<String>
    /// The maximum length of a tag to compare, in bytes; RFC 5646 §4.4.1 requires room for 35 characters.
    private static let maxBytes = 64

    /// Creates ranges from RFC 5646 tags, ignoring case; `*` means every language.
    package init(_ languages: [String]) { ranges = Set(languages.map(Self.spelled)) }

    /// Returns whether a language is within one of the ranges.
    package func contains(_ language: String) -> Bool {
        guard !ranges.contains("*") else { return true }
        guard language.utf8.count <= Self.maxBytes else { return false }
        let language = Self.spelled(language)
        return ranges.contains(language)
            || language.indices.contains { language[$0] == "-" && ranges.contains(String(language[..<$0])) }
    }

    /// Returns a tag in lower case, starting with the language's two-letter code if there is one (RFC 5646 §2.2.1).
    ///
    /// Manifests often use three-letter codes, and some languages have two of those (ISO 639-2).
    private static func spelled(_ tag: String) -> String {
        let tag = tag.lowercased()
        let language = tag.prefix { $0 != "-" }
        guard language.utf8.count == 3 else { return tag }
        let short =
            bibliographic[String(language)] ?? Locale.LanguageCode(String(language)).identifier(.alpha2)
        return short.map { $0 + tag[language.endIndex...] } ?? tag
    }

    private static let bibliographic = [
        "alb": "sq", "arm": "hy", "baq": "eu", "bur": "my", "chi": "zh", "cze": "cs", "dut": "nl", "fre": "fr",
        "geo": "ka", "ger": "de", "gre": "el", "ice": "is", "mac": "mk", "mao": "mi", "may": "ms", "per": "fa",
        "rum": "ro", "slo": "sk", "tib": "bo", "wel": "cy",
    ]
}
