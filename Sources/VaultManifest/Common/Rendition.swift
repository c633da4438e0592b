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

    /// Returns whether the language is one of these, or a regional form of one: `en` accepts `en-GB` (RFC 4647 §3.3.1).
    package func speaks(_ languages: [String]) -> Bool {
        guard let language = language?.lowercased() else { return false }
        return languages.contains { range in
            let range = range.lowercased()
            return range == "*" || language == range || language.hasPrefix(range + "-")
        }
    }
}
