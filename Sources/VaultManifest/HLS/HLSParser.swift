import VaultModel

/// Parses a playlist line by line, and records the edits that route it through the vault.
///
/// The syntax is that of RFC 8216 and of its second edition (draft-pantos-hls-rfc8216bis).
struct HLSParser {
    /// The playlist as valid text; see ``HLSLines``.
    let bytes: [UInt8]
    private var resolver: URLResolver
    private var budget: ManifestBudget
    private(set) var variables: HLSVariables
    private(set) var edits: [HLSEdit] = []
    private(set) var entries: [HLSEntry] = []
    private(set) var facts = HLSProperties()
    /// The number of bytes read, counting repeated reads. It grows no faster than the size of the playlist.
    private(set) var work = 0

    /// The facts that tags have stated about the next URI line.
    private var next = NextURI()
    private var segments = HLSRangeChain()
    private var parts = HLSRangeChain()
    /// The URI lines that no tag announced, each with the index of its edit.
    private var bare: [(edit: Int, line: Range<Int>)] = []
    /// Whether a header, or the first line that names a file, has shown that this is a playlist.
    private var isList = false

    private struct NextURI {
        /// The index of the entry that the line completes.
        var variant: Int?
        var range: HLSByteRange?
        var microseconds: Int64 = 0
        var isGap = false
        /// Whether a tag has announced a segment.
        var isAnnounced = false
    }

    init(_ bytes: [UInt8], url: MediaURL, variables: [String: String], limits: ManifestLimits) throws(ManifestError) {
        var lines = try HLSLines(bytes, limits)
        self.bytes = lines.bytes
        resolver = URLResolver(url)
        budget = ManifestBudget(limits)
        self.variables = HLSVariables(url: url, imports: variables)
        while let line = try lines.next() {
            work += line.whole.count
            if line.content.isEmpty { continue }
            if !facts.hasBegun { try begin(line) }
            try read(line)
        }
        guard facts.hasBegun else { throw .notAManifest }
        // In a plain list, every line is a file. In other playlists, a line that no tag announces does not belong to
        // the title.
        if facts.isMedia && facts.hasLengths || !entries.isEmpty {
            for (index, line) in bare { edits[index] = edits[index].beside(line) }
        }
    }

    /// Accepts a list even without a header, as players do. Refuses a web page, JSON, HLS tags without a header, and
    /// mpv edit lists.
    private mutating func begin(_ line: HLSLine) throws(ManifestError) {
        let text = bytes[line.content]
        let isEdits = text.starts(with: "# mpv edl".utf8) { $0.asciiLowercased == $1 }
        let isList =
            !"<{[".utf8.contains(bytes[line.content.lowerBound]) && !text.starts(with: "#EXT-X-".utf8) && !isEdits
        guard isList, !hidesTag(line.content) else { throw .notAManifest }
        facts.hasBegun = true
    }

    /// Returns whether the first line of a list without a header names a file. Without this check, an error text would
    /// pass for a list.
    private func namesFile(_ uri: ArraySlice<UInt8>) -> Bool {
        let path = String(decoding: uri.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }, as: UTF8.self)
        let suffix = path.utf8.reversed().prefix { $0 != UInt8(ascii: ".") }
        let isSuffix =
            (2...4).contains(suffix.count) && suffix.count < path.utf8.count
            && suffix.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20) }
            && suffix.contains { $0 > 0x39 }
        if isSuffix || path.contains("://") { return true }
        return ["/", "./", "../"].contains { path.hasPrefix($0) } && !path.utf8.contains { $0 <= 0x20 }
    }

    private mutating func read(_ line: HLSLine) throws(ManifestError) {
        // Some players find a tag anywhere in a line, so a tag within a comment or a value must not be kept.
        if hidesTag(line.content) {
            try write(HLSEdit(line.whole, .text("")))
        } else if bytes[line.content.lowerBound] == UInt8(ascii: "#") {
            try readTag(line)
        } else {
            try readURI(line)
        }
    }

    private func hidesTag(_ content: Range<Int>) -> Bool {
        var index = content.lowerBound + 1
        while let mark = bytes[index..<content.upperBound].firstIndex(of: UInt8(ascii: "#")) {
            if bytes[mark..<content.upperBound].starts(with: "#EXT-X-".utf8) { return true }
            index = mark + 1
        }
        return false
    }

    // MARK: URIs

    private mutating func readURI(_ line: HLSLine) throws(ManifestError) {
        let next = next
        self.next = NextURI()
        if let variant = next.variant {
            entries[variant].lines.append(line.whole)
            entries[variant].url = try lead(line.content, .playlist, belongsToTitle: true)
            return
        }
        guard isList || namesFile(bytes[line.content]) else { throw .notAManifest }
        isList = true
        let range = try segments.range(next.range, bytes[line.content], line)
        facts.add(microseconds: next.microseconds)
        let edit = edits.count
        try lead(line.content, nil, range: range, belongsToTitle: !next.isGap)
        if !next.isAnnounced { bare += (edit..<edits.count).map { ($0, line.whole) } }
    }

    /// Routes the URI in an attribute through the vault.
    ///
    /// - Parameter countsWithout: whether the line has a meaning without the URI.
    /// - Throws: ``ManifestError/malformed(line:_:)`` if some players might see another URI.
    private mutating func lead(
        _ name: String, of attributes: HLSAttributes, _ line: HLSLine, _ role: ManifestReference.Role,
        range: ByteRange? = nil, belongsToTitle: Bool = true, countsWithout: Bool = false
    ) throws(ManifestError) -> MediaURL? {
        let uri = attributes[name]
        guard attributes.isClear || !attributes.mentions(name) else {
            throw .malformed(line: line.number, .attributes)
        }
        guard let uri else { return nil }
        return try lead(
            uri.value, role, range: range, belongsToTitle: belongsToTitle, lacksQuotes: !uri.isQuoted,
            line: countsWithout ? nil : line.whole)
    }

    /// Routes a URI through the vault.
    ///
    /// - Parameters:
    ///   - role: nil for a segment, or for a playlist if the URI has the extension of one, because some players would
    ///     open it as such.
    ///   - line: see ``HLSEdit/line``.
    @discardableResult
    private mutating func lead(
        _ span: Range<Int>, _ role: ManifestReference.Role?, range: ByteRange? = nil, belongsToTitle: Bool,
        lacksQuotes: Bool = false, line: Range<Int>? = nil
    ) throws(ManifestError) -> MediaURL? {
        work += span.count
        // A player may know a variable that the vault does not know, so the reference could lead anywhere.
        let uri = try variables.expanded(bytes[span], &budget).flatMap { HLSLines.isMended($0) ? nil : $0 }
        let role = role ?? (uri.map(ManifestDetection.isNamed) ?? false ? .playlist : .segment)
        var target = uri.map { ManifestTarget($0, role, &resolver) } ?? .refused
        // A URI that is kept must show that nothing is requested even before its variables are substituted.
        if role == .segment, case .inert = target, uri != bytes[span] { target = .refused }
        switch target {
        case .url(let url):
            try budget.spend(on: url)
            work += url.path.utf8.count
            let reference = ManifestReference(url, role, range: range)
            let change = HLSEdit.Change.link(reference, belongsToTitle: belongsToTitle)
            edits.append(HLSEdit(span, change, lacksQuotes: lacksQuotes, line: line))
            return url
        case .inert: return nil
        case .refused:
            let change = HLSEdit.Change.refusal(of: belongsToTitle && role != .data ? role : nil)
            try write(HLSEdit(span, change, lacksQuotes: lacksQuotes, line: line))
            return nil
        }
    }

    private mutating func write(_ edit: HLSEdit) throws(ManifestError) {
        try budget.spendOne()
        edits.append(edit)
    }

    // MARK: Tags

    private mutating func readTag(_ line: HLSLine) throws(ManifestError) {
        let content = bytes[line.content]
        if content.starts(with: "#EXTM3U".utf8) {
            isList = true
            return try leadChannelURLs(line.content, after: "\"'=,")
        }
        let colon = content.firstIndex(of: UInt8(ascii: ":")) ?? content.endIndex
        // No known tag name has more than 31 bytes.
        guard colon - content.startIndex <= 32, content.starts(with: "#EXT".utf8) else {
            if content.starts(with: "#PLAYLIST:".utf8) {
                facts.setTitle(String(decoding: content[(colon + 1)...], as: UTF8.self))
            }
            return
        }
        let value = min(colon + 1, content.endIndex)..<content.endIndex
        if content.starts(with: "#EXT-X-".utf8) {
            return try readTag(String(decoding: content[..<colon].dropFirst(7), as: UTF8.self), value, line)
        }
        switch String(decoding: content[..<colon].dropFirst(), as: UTF8.self) {
        case "EXTINF":
            (facts.hasLengths, next.isAnnounced) = (true, true)
            next.microseconds = HLSProperties.microseconds(bytes[value])
            // A comma ends the attributes, and the title after it may be a URL.
            try leadChannelURLs(value, after: "\"'=")
        case "EXTALBUMARTURL":
            try lead(bytes.trimmingBlanks(value), .data, belongsToTitle: true, line: line.whole)
        default: break
        }
    }

    /// Routes the URLs in channel lists through the vault: those of logos (`tvg-logo="…"`) and guides (`url-tvg`).
    ///
    /// Each player searches for them in its own way, so every URL that follows one of these marks counts.
    private mutating func leadChannelURLs(_ text: Range<Int>, after marks: String) throws(ManifestError) {
        var start = text.lowerBound
        while let mark = bytes[start..<text.upperBound].firstIndex(where: marks.utf8.contains) {
            start = mark + 1
            let rest = bytes[start..<text.upperBound]
            let isURL =
                rest.starts(with: "//".utf8)
                || URLReference.scheme(of: rest).map {
                    rest.dropFirst($0.utf8.count + 1).starts(with: "//".utf8)
                } ?? false
            guard isURL else { continue }
            let end = rest.firstIndex { "\"', \t".utf8.contains($0) } ?? text.upperBound
            try lead(start..<end, .data, belongsToTitle: false)
            start = end
        }
    }

    private mutating func readTag(_ name: String, _ value: Range<Int>, _ line: HLSLine) throws(ManifestError) {
        switch name {
        case "PREFETCH", "TWITCH-PREFETCH":
            facts.isMedia = true
            try lead(bytes.trimmingBlanks(value), .segment, belongsToTitle: false, line: line.whole)
        case "BYTERANGE", "PART", "KEY", "MAP", "GAP", "PRELOAD-HINT", "RENDITION-REPORT", "DATERANGE":
            facts.isMedia = true
            try readMediaTag(name, value, line)
        case "STREAM-INF", "I-FRAME-STREAM-INF", "IMAGE-STREAM-INF", "MEDIA", "SESSION-KEY", "SESSION-DATA",
            "CONTENT-STEERING":
            try readMultivariantTag(name, value, line)
        case "VERSION", "INDEPENDENT-SEGMENTS", "START": break
        case "ENDLIST": (facts.isMedia, facts.isEnded) = (true, true)
        case "PLAYLIST-TYPE":
            let type = bytes[bytes.trimmingBlanks(value)]
            (facts.isMedia, facts.isFixed) = (true, type.elementsEqual("vod".utf8) { $0.asciiLowercased == $1 })
        case "TARGETDURATION", "MEDIA-SEQUENCE", "DISCONTINUITY-SEQUENCE", "I-FRAMES-ONLY", "DISCONTINUITY",
            "PROGRAM-DATE-TIME", "BITRATE", "SKIP", "PART-INF", "SERVER-CONTROL":
            facts.isMedia = true
        case "DEFINE":
            if let edit = try variables.define(attributes(value), line, &budget) { try write(edit) }
        default: break
        }
    }

    private mutating func readMediaTag(
        _ name: String, _ value: Range<Int>, _ line: HLSLine
    ) throws(ManifestError) {
        if name == "GAP" {
            next.isGap = true
            return
        }
        if name == "BYTERANGE" {
            next.range = try HLSByteRange(bytes[bytes.trimmingBlanks(value)], line)
            return
        }
        let list = attributes(value)
        switch name {
        case "KEY": try readKey(list, line, countsWithout: true)
        case "MAP":
            let uri = list["URI"].map { list.bytes(of: $0) } ?? []
            var alone = HLSRangeChain()
            let range = try alone.range(byteRange(of: list, line), uri, line)
            _ = try lead("URI", of: list, line, .initialization, range: range)
        case "PART":
            next.isAnnounced = true
            let uri = list["URI"].map { list.bytes(of: $0) } ?? []
            let range = try parts.range(byteRange(of: list, line), uri, line)
            _ = try lead("URI", of: list, line, .segment, range: range, belongsToTitle: false)
        case "PRELOAD-HINT":
            let isMap = try text("TYPE", of: list) == "MAP"
            _ = try lead("URI", of: list, line, isMap ? .initialization : .segment, belongsToTitle: false)
        case "RENDITION-REPORT": _ = try lead("URI", of: list, line, .playlist, belongsToTitle: false)
        default: try readInterstitial(list, line)
        }
    }

    /// Routes an interstitial through the vault. A list of assets is refused, whether it is played or preloaded
    /// (`X-URI`), because the URIs in it would not be routed through the vault.
    private mutating func readInterstitial(_ list: HLSAttributes, _ line: HLSLine) throws(ManifestError) {
        guard list.mentions("X-ASSET-") || list.mentions("X-URI") else { return }
        for attribute in list.list {
            let name = list.name(of: attribute)
            guard name.hasPrefix("X-ASSET-") || name == "X-URI" || !list.isClear else { continue }
            guard list.isClear else { throw .malformed(line: line.number, .attributes) }
            let lacksQuotes = !attribute.isQuoted
            switch name {
            case "X-ASSET-URI":
                try lead(
                    attribute.value, .playlist, belongsToTitle: false, lacksQuotes: lacksQuotes, line: line.whole)
            case "X-ASSET-LIST", "X-URI":
                try write(
                    HLSEdit(attribute.value, .refusal(of: nil), lacksQuotes: lacksQuotes, line: line.whole))
            default: break
            }
        }
    }

    /// Routes a key through the vault. A key in a format other than `identity` does not belong to the title, because a
    /// DRM system requests it. With the method `NONE` there is no key, but some players would still request the URI, so
    /// it is removed.
    private mutating func readKey(
        _ list: HLSAttributes, _ line: HLSLine, countsWithout: Bool
    ) throws(ManifestError) {
        let (format, method) = (try text("KEYFORMAT", of: list), try text("METHOD", of: list))
        if method == "NONE", list.isClear {
            guard let uri = list.index(of: "URI") else { return }
            for cut in list.cuts(without: [uri]) { try write(HLSEdit(cut, .text(""))) }
            return
        }
        let isFetched = list["KEYFORMAT"] == nil || format == "identity"
        _ = try lead("URI", of: list, line, .key, belongsToTitle: isFetched, countsWithout: countsWithout)
    }

    private mutating func readMultivariantTag(
        _ name: String, _ value: Range<Int>, _ line: HLSLine
    ) throws(ManifestError) {
        let list = attributes(value)
        switch name {
        case "STREAM-INF":
            next = NextURI(variant: entries.count)
            try add(.variant, list, line, nil)
        case "MEDIA": try add(.member, list, line, lead("URI", of: list, line, .playlist))
        case "SESSION-KEY": try readKey(list, line, countsWithout: false)
        case "SESSION-DATA":
            if let id = try text("DATA-ID", of: list), id.hasSuffix(".title"), let title = try text("VALUE", of: list) {
                facts.setTitle(title)
            }
            _ = try lead("URI", of: list, line, .data)
        case "CONTENT-STEERING":
            // A steering server's response names hosts, and requests to those hosts would not be routed through the
            // vault.
            try write(HLSEdit(line.whole, .text("")))
        default: try add(.preview, list, line, lead("URI", of: list, line, .playlist))
        }
    }

    private mutating func add(
        _ kind: HLSEntry.Kind, _ list: HLSAttributes, _ line: HLSLine, _ url: MediaURL?
    ) throws(ManifestError) {
        try budget.spendOne()
        var values: [String: String] = [:]
        for name in HLSEntry.names { values[name] = try text(name, of: list) }
        var entry = HLSEntry(kind, id: String(entries.count), list, values)
        entry.lines = [line.whole]
        entry.url = url
        entries.append(entry)
    }

    // MARK: Values

    private mutating func attributes(_ value: Range<Int>) -> HLSAttributes {
        work += value.count
        return HLSAttributes(bytes, value)
    }

    /// Returns an attribute's value with its variables substituted; nil if the attribute is missing, or if a variable
    /// is unknown.
    private mutating func text(_ name: String, of list: HLSAttributes) throws(ManifestError) -> String? {
        guard let value = list[name] else { return nil }
        let bytes = list.bytes(of: value)
        let expanded = value.isQuoted ? try variables.expanded(bytes, &budget) : bytes
        return expanded.map { String(decoding: $0, as: UTF8.self) }
    }

    private mutating func byteRange(of list: HLSAttributes, _ line: HLSLine) throws(ManifestError) -> HLSByteRange? {
        guard let range = list["BYTERANGE"] else { return nil }
        return try HLSByteRange(variables.expanded(list.bytes(of: range), &budget) ?? [], line)
    }
}
