import Foundation

/// One choice that a manifest offers: a quality of the video, a language of the audio or of the subtitles.
public struct Rendition: Hashable, Codable, Sendable {
    /// What a rendition is.
    public enum Kind: String, Hashable, Codable, Sendable {
        case video, audio, subtitles, closedCaptions
    }

    /// The name of the rendition within its manifest; distinct, and the same after a selection.
    public let id: String
    /// What it is.
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
    /// Whether the manifest says that it plays unless the viewer chooses another.
    public var isDefault = false
    /// Whether the subtitles only translate what a viewer who understands the audio would not understand.
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

/// Languages that are wanted: each stands for its regional forms, too, as `en` does for `en-GB` (RFC 4647 §3.3.1).
package struct LanguageRanges: Sendable {
    private let ranges: Set<String>
    /// The longest tag that is compared; RFC 5646 §4.4.1 asks for room for 35 characters.
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

    /// Returns a tag in lower case, its language with two letters if it has such a code (RFC 5646 §2.2.1).
    ///
    /// Manifests often have the codes of three letters, of which some languages have two (ISO 639-2).
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
