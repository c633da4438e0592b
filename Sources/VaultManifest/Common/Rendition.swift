import Foundation

/// One choice that a manifest offers: a quality of the video, a language of the audio or of the subtitles.
public struct Rendition: Hashable, Codable, Sendable {
    /// The kind of a rendition.
    public enum Kind: String, Hashable, Codable, Sendable {
        case video, audio, subtitles, closedCaptions
    }

    /// The name of the rendition within its manifest; distinct, and the same after a selection.
    public let id: String
    /// The kind of the rendition.
    public let kind: Kind
    /// The language, a tag of RFC 5646.
    public var language: String?
    /// The name that a player shows.
    public var name: String?
    /// The peak bit rate, in bits per second.
    public var bandwidth: Int?
    /// The width of the picture, in pixels.
    public var width: Int?
    /// The height of the picture, in pixels.
    public var height: Int?
    /// The codecs, as RFC 6381 spells them.
    public var codecs: String?
    /// Whether the manifest states that it plays unless another is chosen.
    public var isDefault = false
    /// Whether the subtitles only translate what is not in the language of the audio.
    public var isForced = false
    /// The groups of alternatives that a member belongs to, or that a variant is played with.
    public var groups: [String] = []

    /// Creates a rendition without anything stated about it.
    package init(id: String, kind: Kind) {
        self.id = id
        self.kind = kind
    }

    /// Returns whether the language is one of these, or a regional form of one.
    package func speaks(_ languages: LanguageRanges) -> Bool { language.map(languages.contains) ?? false }
}

/// The wanted languages, each with its regional forms: `en` includes `en-GB` (RFC 4647 §3.3.1).
package struct LanguageRanges: Sendable {
    private let ranges: Set<String>
    /// Maximum length of a compared tag; RFC 5646 §4.4.1 requires room for 35 characters.
    private static let maxBytes = 64

    /// Creates ranges from tags of RFC 5646 in any case; `*` means every language.
    package init(_ languages: [String]) { ranges = Set(languages.map(Self.spelled)) }

    /// Returns whether a language is within one of the ranges.
    package func contains(_ language: String) -> Bool {
        guard !ranges.contains("*") else { return true }
        guard language.utf8.count <= Self.maxBytes else { return false }
        let language = Self.spelled(language)
        return ranges.contains(language)
            || language.indices.contains { language[$0] == "-" && ranges.contains(String(language[..<$0])) }
    }

    /// Returns a tag in lower case, with the two-letter code of its language if there is one (RFC 5646 §2.2.1).
    ///
    /// Manifests often use three-letter codes, of which some languages have two (ISO 639-2).
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
