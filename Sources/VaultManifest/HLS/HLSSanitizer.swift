import VaultModel

/// Finds everything in a playlist that no player needs: comments, unknown tags and attributes, segment titles, variable
/// definitions, and everything that names a place but is not a reference.
///
/// Anything that players depend on is kept: a variable is replaced by its value, and a name that links renditions but
/// also names a place is replaced by another name.
struct HLSSanitizer {
    private let bytes: [UInt8]
    /// The offsets at which the other edits begin, such as those of references.
    private let written: Set<Int>
    private let traces: OriginTraces
    private let variables: HLSVariables
    private var budget = ManifestBudget(.standard)
    /// The replacements for names that name a place.
    private var names: [[UInt8]: String] = [:]
    /// The removals and replacements, in order of position.
    private(set) var edits: [HLSEdit] = []

    init(_ bytes: [UInt8], written: some Sequence<Range<Int>>, _ variables: HLSVariables, _ traces: OriginTraces) {
        self.bytes = bytes
        self.written = Set(written.lazy.map(\.lowerBound))
        self.variables = variables
        self.traces = traces
        var start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
            let whole = start..<(end.map { $0 + 1 } ?? bytes.count)
            read(bytes.trimmingBlanks(start..<(end ?? bytes.count)), whole)
            start = whole.upperBound
        }
    }

    private mutating func read(_ content: Range<Int>, _ whole: Range<Int>) {
        guard let first = bytes[content].first else { return }
        guard first == UInt8(ascii: "#") else {
            // Other edits replace lines with links. No player requests the remaining lines.
            if !written.contains(content.lowerBound), traces.isUnrequestedPlace(bytes[content]) {
                edits.append(HLSEdit(content, .refusal(of: nil)))
            }
            return
        }
        if bytes[content].starts(with: "#EXTM3U".utf8) { return cut((content.lowerBound + 7)..<content.upperBound) }
        let colon = bytes[content].firstIndex(of: UInt8(ascii: ":")) ?? content.upperBound
        let value = min(colon + 1, content.upperBound)..<content.upperBound
        let name = String(decoding: bytes[content.lowerBound..<colon], as: UTF8.self)
        if name == "#EXTINF" {
            cutTitle(value)
        } else if Self.lists.contains(name) {
            cutAttributes(of: name, value, whole)
        } else if Self.plain.contains(name) {
            let isWritten = written.contains(bytes.trimmingBlanks(value).lowerBound)
            if !isWritten, traces.isPlace(bytes[value]) { cut(whole) }
        } else {
            cut(whole)
        }
    }

    private mutating func cut(_ range: Range<Int>) { if !range.isEmpty { edits.append(HLSEdit(range, .text(""))) } }

    /// Keeps only a segment's duration, as players read it, and the comma after it.
    private mutating func cutTitle(_ value: Range<Int>) {
        let start = bytes.trimmingBlanks(value).lowerBound
        let length = bytes[start..<value.upperBound].prefix { "0123456789.+-eE".utf8.contains($0) }
        let end = length.endIndex
        let comma = bytes[end..<value.upperBound].lastIndex(of: UInt8(ascii: ","))
        cut(end..<(comma ?? value.upperBound))
        if let comma { cut((comma + 1)..<value.upperBound) }
    }

    // MARK: Attributes

    private mutating func cutAttributes(of tag: String, _ value: Range<Int>, _ whole: Range<Int>) {
        let attributes = HLSAttributes(bytes, value)
        guard attributes.isClear else { return clear(attributes, of: tag, value, whole) }
        var unneeded: Set<Int> = []
        var replaced: [HLSEdit] = []
        for (index, attribute) in attributes.list.enumerated() {
            switch fate(of: attribute, in: attributes, tag) {
            case .stays: break
            case .goes: unneeded.insert(index)
            case .becomes(let text): replaced.append(HLSEdit(attribute.value, .text(text)))
            }
        }
        let cuts = attributes.cuts(without: unneeded).map { HLSEdit($0, .text("")) }
        edits += (cuts + replaced).sorted { $0.span.lowerBound < $1.span.lowerBound }
    }

    /// If players read a list differently, keeps only its clear attributes, and only the first of each name.
    ///
    /// Such a list contains no reference, because the parser would have refused it, but the line of a variant must
    /// still be kept.
    private mutating func clear(
        _ attributes: HLSAttributes, of tag: String, _ value: Range<Int>, _ whole: Range<Int>
    ) {
        var seen: Set<String> = []
        var texts: [String] = []
        for attribute in attributes.list where HLSAttributes(bytes, attribute.whole).isClear {
            guard seen.insert(attributes.name(of: attribute)).inserted else { continue }
            switch fate(of: attribute, in: attributes, tag) {
            case .goes: break
            case .stays: texts.append(String(decoding: bytes[attribute.whole], as: UTF8.self))
            case .becomes(let text):
                let mark = attribute.isQuoted ? "\"" : ""
                texts.append("\(attributes.name(of: attribute))=\(mark)\(text)\(mark)")
            }
        }
        if texts.isEmpty { cut(whole) } else { edits.append(HLSEdit(value, .text(texts.joined(separator: ",")))) }
    }

    /// The change to make to an attribute.
    private enum Fate {
        case stays, goes
        /// The attribute's value is replaced by this one.
        case becomes(String)
    }

    private mutating func fate(
        of attribute: HLSAttributes.Attribute, in list: HLSAttributes, _ tag: String
    ) -> Fate {
        let name = list.name(of: attribute), text = bytes[attribute.value]
        guard Self.attributes.contains(name) else { return .goes }
        if written.contains(attribute.value.lowerBound) { return .stays }
        // Variable definitions are removed, so their values are written in place of the variables.
        let value = try? variables.expanded(text, &budget)
        // A name that looks like a replacement is itself replaced.
        let isTaken = Self.links.contains(name) && (value ?? text).starts(with: Self.hidden.utf8)
        if let value, !isTaken, isData(value, name, of: tag) || !traces.isPlace(value) {
            if value == text { return .stays }
            if Self.mayStand(value, inQuotes: attribute.isQuoted) {
                return .becomes(String(decoding: value, as: UTF8.self))
            }
        }
        // Without a format, the key would be taken for an ordinary one.
        if name == "KEYFORMAT" { return .becomes("removed") }
        return Self.links.contains(name) ? .becomes(opaque(value ?? text)) : .goes
    }

    private static let hidden = "hidden-"

    /// Returns the replacement for a name that links renditions, or that each of them must have. It is always the same
    /// for one name.
    private mutating func opaque(_ name: ArraySlice<UInt8>) -> String {
        let name = Array(name), text = names[name] ?? "\(Self.hidden)\(names.count + 1)"
        names[name] = text
        return text
    }

    /// Returns whether a value can be written. The value of a variable must not end the attribute or contain a tag.
    private static func mayStand(_ value: ArraySlice<UInt8>, inQuotes: Bool) -> Bool {
        value.allSatisfy { $0 >= 0x20 && !(inQuotes ? "\"#" : "\"#, {").utf8.contains($0) }
    }

    /// Returns whether an attribute contains a key, or identifies one to a DRM system, rather than naming a place.
    ///
    /// An identifier of a key does not count if it reveals the origin.
    private func isData(_ value: ArraySlice<UInt8>, _ attribute: String, of tag: String) -> Bool {
        guard Self.dataTags.contains(tag), attribute == "URI" else { return false }
        switch URLReference.scheme(of: value) {
        case "data": return true
        case "skd": return !traces.isOfOrigin(value)
        default: return false
        }
    }

    // MARK: What players need (draft-pantos-hls-rfc8216bis §4.4)

    private static let lists = tags([
        "DATERANGE", "I-FRAME-STREAM-INF", "IMAGE-STREAM-INF", "KEY", "MAP", "MEDIA", "PART", "PART-INF",
        "PRELOAD-HINT", "RENDITION-REPORT", "SERVER-CONTROL", "SESSION-KEY", "SKIP", "START", "STREAM-INF", "TILES",
    ])

    private static let plain = tags([
        "BITRATE", "BYTERANGE", "DISCONTINUITY", "DISCONTINUITY-SEQUENCE", "ENDLIST", "GAP", "I-FRAMES-ONLY",
        "IMAGES-ONLY", "INDEPENDENT-SEGMENTS", "MEDIA-SEQUENCE", "PLAYLIST-TYPE", "PREFETCH", "PROGRAM-DATE-TIME",
        "TARGETDURATION", "TWITCH-PREFETCH", "VERSION",
    ])

    /// The tags whose URI may contain the data itself.
    private static let dataTags = tags(["KEY", "MAP", "SESSION-KEY"])

    private static func tags(_ names: [String]) -> Set<String> { Set(names.map { "#EXT-X-\($0)" }) }

    /// The attributes that link renditions, and the name that each rendition must have.
    private static let links: Set<String> = ["AUDIO", "CLOSED-CAPTIONS", "GROUP-ID", "NAME", "SUBTITLES", "VIDEO"]

    private static let attributes: Set<String> = [
        "ALLOWED-CPC", "ASSOC-LANGUAGE", "AUDIO", "AUTOSELECT", "AVERAGE-BANDWIDTH", "BANDWIDTH", "BIT-DEPTH",
        "BYTERANGE", "BYTERANGE-LENGTH", "BYTERANGE-START", "CAN-BLOCK-RELOAD", "CAN-SKIP-DATERANGES",
        "CAN-SKIP-UNTIL", "CHANNELS", "CHARACTERISTICS", "CLASS", "CLOSED-CAPTIONS", "CODECS", "CUE", "DEFAULT",
        "DURATION", "END-DATE", "END-ON-NEXT", "FORCED", "FRAME-RATE", "GAP", "GROUP-ID", "HDCP-LEVEL", "HOLD-BACK",
        "ID", "INDEPENDENT", "INSTREAM-ID", "IV", "KEYFORMAT", "KEYFORMATVERSIONS", "LANGUAGE", "LAST-MSN",
        "LAST-PART", "LAYOUT", "METHOD", "NAME", "PART-HOLD-BACK", "PART-TARGET", "PATHWAY-ID", "PLANNED-DURATION",
        "PRECISE", "PROGRAM-ID", "RECENTLY-REMOVED-DATERANGES", "REQ-VIDEO-LAYOUT", "RESOLUTION", "SAMPLE-RATE",
        "SCORE", "SCTE35-CMD", "SCTE35-IN", "SCTE35-OUT", "SKIPPED-SEGMENTS", "STABLE-RENDITION-ID",
        "STABLE-VARIANT-ID", "START-DATE", "SUBTITLES", "SUPPLEMENTAL-CODECS", "TIME-OFFSET", "TYPE", "URI", "VIDEO",
        "VIDEO-RANGE", "X-ASSET-URI", "X-PLAYOUT-LIMIT", "X-RESTRICT", "X-RESUME-OFFSET", "X-SNAP",
    ]
}
