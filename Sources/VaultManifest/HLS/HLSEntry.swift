import VaultModel

/// An entry of a multivariant playlist, which a selection can keep or drop.
struct HLSEntry: Sendable {
    /// The kind of an entry.
    enum Kind: Hashable, Sendable {
        /// A quality of the whole title (`EXT-X-STREAM-INF`).
        case variant
        /// Pictures for seeking (`EXT-X-I-FRAME-STREAM-INF`, `EXT-X-IMAGE-STREAM-INF`).
        case preview
        /// One of a group of alternatives (`EXT-X-MEDIA`).
        case member
    }

    let kind: Kind
    /// The rendition to choose; nil for a preview, or for an unknown media type.
    let rendition: Rendition?
    /// The group that a member belongs to; nil for a variant or a preview.
    let group: HLSGroup?
    /// The groups that a variant or a preview is played with, each with the index of the attribute that names it.
    let uses: [(group: HLSGroup, attribute: Int)]
    let attributes: HLSAttributes
    /// The entry's lines: the tag and, for a variant, its URI.
    var lines: [Range<Int>] = []
    /// The URL of the entry's media playlist; nil if its URI is refused, or if the media is contained in the variants.
    var url: MediaURL?
}

/// A group of alternatives: the members that share a type and a group id.
struct HLSGroup: Hashable, Sendable {
    let type: String
    let id: String
}

extension HLSEntry {
    /// The attributes that describe an entry.
    static let names =
        groupTypes + [
            "BANDWIDTH", "CODECS", "DEFAULT", "FORCED", "GROUP-ID", "LANGUAGE", "NAME", "RESOLUTION", "TYPE",
        ]

    /// The attributes that name groups. Their names are also the types of the groups' members.
    private static let groupTypes = ["AUDIO", "VIDEO", "SUBTITLES", "CLOSED-CAPTIONS"]

    /// Creates an entry from the values of ``names``.
    init(_ kind: Kind, id: String, _ attributes: HLSAttributes, _ values: [String: String]) {
        self.kind = kind
        self.attributes = attributes
        group = kind == .member ? HLSGroup(type: values["TYPE"] ?? "", id: values["GROUP-ID"] ?? "") : nil
        uses = Self.groupTypes.compactMap { type in
            // `CLOSED-CAPTIONS=NONE` is not quoted, and names no group.
            guard let index = attributes.index(of: type), attributes.list[index].isQuoted else { return nil }
            return (HLSGroup(type: type, id: values[type] ?? ""), index)
        }
        guard let chosen = Self.kind(of: kind, values) else {
            rendition = nil
            return
        }
        let size = values["RESOLUTION"]?.lowercased().split(separator: "x") ?? []
        var rendition = Rendition(id: id, kind: chosen)
        rendition.language = values["LANGUAGE"]
        rendition.name = values["NAME"]
        rendition.bandwidth = Self.number(values["BANDWIDTH"])
        if size.count == 2 { (rendition.width, rendition.height) = (Self.number(size[0]), Self.number(size[1])) }
        rendition.codecs = values["CODECS"]
        rendition.isDefault = values["DEFAULT"] == "YES"
        rendition.isForced = values["FORCED"] == "YES"
        rendition.groups = (group.map { [$0] } ?? uses.map(\.group)).map(\.id)
        self.rendition = rendition
    }

    /// Returns the attributes that distinguish a variant, regardless of their order.
    ///
    /// The same quality on another pathway names other groups, so groups are ignored across pathways.
    func quality(acrossPathways: Bool) -> Set<[UInt8]> {
        let ignored = acrossPathways ? (["PATHWAY-ID"] + Self.groupTypes).compactMap { attributes.index(of: $0) } : []
        return Set(attributes.list.indices.filter { !ignored.contains($0) }.map { attributes.bytes(at: $0) })
    }

    /// Whether decoding the audio requires a licence that many players lack.
    var hasSurroundCodec: Bool {
        Self.codecs(rendition?.codecs).contains { codec in Self.surround.contains { codec.hasPrefix($0) } }
    }

    private static func kind(of kind: Kind, _ values: [String: String]) -> Rendition.Kind? {
        switch kind {
        case .preview: return nil
        case .variant:
            let codecs = codecs(values["CODECS"])
            let isAudio = codecs.allSatisfy { codec in audio.contains { codec.hasPrefix($0) } }
            return isAudio && !codecs.isEmpty && values["RESOLUTION"] == nil ? .audio : .video
        case .member:
            switch values["TYPE"] {
            case "AUDIO": return .audio
            case "VIDEO": return .video
            case "SUBTITLES": return .subtitles
            case "CLOSED-CAPTIONS": return .closedCaptions
            default: return nil
            }
        }
    }

    private static func codecs(_ text: String?) -> [String] {
        (text ?? "").lowercased().split(separator: ",").map { String($0.trimmingBlanks()) }
    }

    private static let surround = ["ac-3", "ec-3", "ac-4", "dts"]
    private static let audio = surround + ["mp4a", "opus", "flac", "alac", "mp3", "vorbis"]

    /// Returns the whole number with which a text begins, up to 2⁵³ − 1; nil for anything else.
    ///
    /// Some encoders write a fraction, which players ignore.
    private static func number(_ text: (some StringProtocol)?) -> Int? {
        guard let text = text?.trimmingBlanks() else { return nil }
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        return DecimalNumber.exact(digits).flatMap { $0 <= ContentInformation.maxBytes ? Int($0) : nil }
    }
}
