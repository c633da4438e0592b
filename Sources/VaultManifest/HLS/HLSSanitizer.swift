import VaultModel

/// Finds what no player needs in a playlist: comments, unknown tags and attributes, titles of segments, definitions of
/// variables, and everything that names a place but is not a reference.
///
/// What players depend on stays: the value of a variable replaces the variable, and a name that links renditions but
/// names a place becomes another name.
struct HLSSanitizer {
    private let bytes: [UInt8]
    /// The beginnings of the other edits, such as those of references.
    private let written: Set<Int>
    private let traces: OriginTraces
    private let variables: HLSVariables
    private var budget = ManifestBudget(.standard)
    /// The replacements for names that name a place.
    private var names: [[UInt8]: String] = [:]
    /// The removals and replacements, in order.
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
            // Other edits replace lines with links; no player requests the remaining ones.
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

    /// Keeps only the duration of a segment, as players read it, and the comma after it.
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

    /// Keeps only the clear attributes of a list that players read differently, the first of each name.
    ///
    /// No such list has a reference, which the parser would refuse. But the line of a variant must stay.
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

    /// How to change an attribute.
    private enum Fate {
        case stays, goes
        /// The attribute gets this value.
        case becomes(String)
    }

    private mutating func fate(
        of attribute: HLSAttributes.Attribute, in list: HLSAttributes, _ tag: String
    ) -> Fate {
        let name = list.name(of: attribute), text = bytes[attribute.value]
        guard Self.attributes.contains(name) else { return .goes }
        if written.contains(attribute.value.lowerBound) { return .stays }
        // The definitions of variables are removed, so their values are written.
        let value = try? variables.expanded(text, &budget)
        // A name that looks like a replacement gets one, too.
        let isTaken = Self.links.contains(name) && (value ?? text).starts(with: Self.hidden.utf8)
        if let value, !isTaken, isData(value, name, of: tag) || !traces.isPlace(value) {
            if value == text { return .stays }
            if Self.mayStand(value, inQuotes: attribute.isQuoted) {
                return .becomes(String(decoding: value, as: UTF8.self))
            }
        }
        // Without a format, the key would be an ordinary one.
        if name == "KEYFORMAT" { return .becomes("removed") }
        return Self.links.contains(name) ? .becomes(opaque(value ?? text)) : .goes
    }

    private static let hidden = "hidden-"

    /// Returns the replacement for a name that links renditions, or that they must have; always the same for one name.
    private mutating func opaque(_ name: ArraySlice<UInt8>) -> String {
        let name = Array(name), text = names[name] ?? "\(Self.hidden)\(names.count + 1)"
        names[name] = text
        return text
    }

    /// Returns whether a value can be written: values of variables must neither end the attribute nor contain a tag.
    private static func mayStand(_ value: ArraySlice<UInt8>, inQuotes: Bool) -> Bool {
        value.allSatisfy { $0 >= 0x20 && !(inQuotes ? "\"#" : "\"#, {").utf8.contains($0) }
    }

    /// Returns whether an attribute contains a key, or names one to a DRM system, rather than naming a place.
    ///
    /// A key's name does not count if it names the origin.
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

    /// The tags whose URI may be the data itself.
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
