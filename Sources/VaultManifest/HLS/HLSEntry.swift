import VaultModel

/// An entry of a multivariant playlist: one that a selection keeps or drops.
struct HLSEntry: Sendable {
    /// What an entry is.
    enum Kind: Hashable, Sendable {
        /// A quality of the whole title (`EXT-X-STREAM-INF`).
        case variant
        /// Pictures for seeking (`EXT-X-I-FRAME-STREAM-INF`, `EXT-X-IMAGE-STREAM-INF`).
        case preview
        /// A member of a group of alternatives (`EXT-X-MEDIA`).
        case member(HLSGroup)
    }

    let kind: Kind
    /// What a person can choose; nil for a preview, and for an unknown type of media.
    let rendition: Rendition?
    let attributes: HLSAttributes
    /// The groups that the entry is played with, and the attributes that name them.
    let uses: [(group: HLSGroup, attribute: Int)]
    /// The lines of the entry: the tag, and for a variant its URI.
    var lines: [Range<Int>]
    /// Where the media playlist is; nil if it is refused, or if the media is in the variants.
    var url: MediaURL?
}

/// A group of alternatives: members of one type with one name.
struct HLSGroup: Hashable, Sendable {
    let type: String
    let id: String
}

extension HLSEntry {
    /// The attributes that name groups, and the types of their members.
    static let groupTypes = ["AUDIO", "VIDEO", "SUBTITLES", "CLOSED-CAPTIONS"]

    static let kinds: [String: Rendition.Kind] = [
        "AUDIO": .audio, "VIDEO": .video, "SUBTITLES": .subtitles, "CLOSED-CAPTIONS": .closedCaptions,
    ]

    /// What distinguishes a variant for the viewer: its attributes, in any order.
    ///
    /// The same quality on another pathway names other groups, so across pathways these do not count.
    func quality(acrossPathways: Bool) -> Set<[UInt8]> {
        let ignored = acrossPathways ? (["PATHWAY-ID"] + Self.groupTypes).compactMap { attributes.index(of: $0) } : []
        return Set(attributes.list.indices.filter { !ignored.contains($0) }.map { attributes.bytes(at: $0) })
    }

    /// Returns whether all codecs are those of audio; not if none is stated.
    static func areAudio(_ codecs: String?) -> Bool {
        let codecs = (codecs ?? "").lowercased().split(separator: ",").map { $0.trimmingBlanks() }
        return !codecs.isEmpty && codecs.allSatisfy { codec in audio.contains { codec.hasPrefix($0) } }
    }

    private static let audio = ["mp4a", "ac-3", "ec-3", "ac-4", "opus", "flac", "alac", "mp3", "dts", "vorbis"]
}
