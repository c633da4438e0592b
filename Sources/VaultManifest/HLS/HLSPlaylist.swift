package import VaultModel

/// An HLS playlist (RFC 8216 and draft-pantos-hls-rfc8216bis). It may be multivariant, media, or a bare list of files.
///
/// It keeps the bytes as the origin sent them, except for invalid text (``HLSLines``), and records what to replace.
/// Variables are substituted in URIs and attributes before they are interpreted. A reference with an unknown variable
/// is refused like a reference to a local file, because a player might know the variable; see
/// ``ManifestTarget/refusal``.
///
/// Three things that could make a player bypass the vault are removed or refused: content steering and lists of
/// interstitial assets, whose responses name further hosts, and tags within other lines, which some players recognize.
package struct HLSPlaylist: Sendable {
    private let bytes: [UInt8]
    private(set) var edits: [HLSEdit]
    private(set) var entries: [HLSEntry]
    private let facts: HLSProperties
    private let variables: HLSVariables
    /// The number of bytes that parsing read, counting repeated reads.
    package let work: Int

    /// Parses a playlist.
    ///
    /// - Parameters:
    ///   - bytes: the whole playlist, in UTF-8. A byte order mark and all line breaks are kept.
    ///   - url: the URL that the playlist came from, after redirects.
    ///   - variables: the variables that this playlist inherits from its multivariant playlist.
    ///   - limits: the limits that the playlist must respect.
    /// - Throws: ``ManifestError`` if the playlist cannot be routed through the vault.
    package init(
        _ bytes: [UInt8], url: MediaURL, variables: [String: String] = [:], limits: ManifestLimits = .standard
    ) throws(ManifestError) {
        let parser = try HLSParser(bytes, url: url, variables: variables, limits: limits)
        self.bytes = parser.bytes
        edits = parser.edits
        entries = parser.entries
        facts = parser.facts
        self.variables = parser.variables
        work = parser.work
    }

    /// The variables that media playlists can import.
    package var exports: [String: String] { variables.values }

    /// Whether the playlist may change or grow. That is so for a media playlist without `EXT-X-ENDLIST`, unless its
    /// type is `VOD`.
    package var isLive: Bool { facts.isMedia && !facts.isEnded && !facts.isFixed }

    /// Whether the playlist states its end or need not do so; see ``Manifest/isEnded``.
    var isEnded: Bool { facts.isEnded || !facts.isMedia }

    /// The references that belong to the title, in order; see ``Manifest/references``.
    package var references: [ManifestReference] {
        edits.compactMap { edit in
            guard case .link(let reference, belongsToTitle: true) = edit.change else { return nil }
            return reference
        }
    }

    /// Whether the playlist names anything that belongs to the title, even if it is refused, or states its end. If so,
    /// it was not truncated.
    var namesSomething: Bool {
        facts.isEnded
            || edits.contains { edit in
                switch edit.change {
                case .link(_, let belongsToTitle): belongsToTitle
                case .refusal(let role): role != nil
                case .text: false
                }
            }
    }

    /// The first of the title's references that are refused. A refused variant does not count if another variant is
    /// left.
    var refusals: [ManifestRefusal] {
        let variants = entries.filter { $0.kind == .variant }
        let isLeft = variants.contains { $0.url != nil }
        var others = (isLeft ? variants.flatMap(\.lines) : []).sorted { $0.lowerBound < $1.lowerBound }[...]
        var (line, position) = (1, 0)
        var found: [ManifestRefusal] = []
        for edit in edits where found.count < ManifestRefusal.most {
            guard case .refusal(let role?) = edit.change else { continue }
            let start = max(position, edit.span.lowerBound)
            others = others.drop { $0.upperBound <= start }
            guard others.first?.contains(start) != true else { continue }
            line += bytes[position..<start].count { $0 == UInt8(ascii: "\n") }
            position = start
            found.append(ManifestRefusal(line: line, role: role))
        }
        return found
    }

    /// The approximate amount of memory that the playlist's text and edits occupy, in bytes.
    var weight: Int { bytes.count + edits.count * Self.editBytes }

    private static let editBytes = 256

    /// The total duration of the segments; nil for a multivariant playlist, a live playlist, or a list without
    /// durations.
    package var duration: Duration? { isLive ? nil : window }

    /// The total duration of the segments that the playlist names at present; nil if it states no durations.
    package var window: Duration? { facts.microseconds == 0 ? nil : .microseconds(facts.microseconds) }

    /// The title's name, from `#PLAYLIST` or from session data whose id ends in `.title`, cut to 200 characters.
    package var title: String? { facts.title }

    /// Returns the playlist's bytes with its URIs replaced; see ``Manifest/rewritten(hidesNames:_:)``.
    package func rewritten(_ link: (ManifestReference) throws -> String?) rethrows -> [UInt8] {
        try written { try $0.text(link) }
    }

    /// Returns the playlist's bytes with a text written for each edit. A nil text keeps the existing bytes.
    func written(_ text: (HLSEdit) throws -> String?) rethrows -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + edits.count * 64)
        var position = 0
        for edit in edits {
            result += bytes[position..<edit.span.lowerBound]
            position = edit.span.upperBound
            if let text = try text(edit) { result += text.utf8 } else { result += bytes[edit.span] }
        }
        result += bytes[position...]
        return result
    }

    /// Returns the playlist with only what a player needs; see ``Manifest/sanitized(_:)``.
    func sanitized(_ traces: OriginTraces) -> HLSPlaylist {
        keeping(entries, HLSSanitizer(bytes, written: edits.lazy.map(\.span), variables, traces).edits)
    }

    /// Returns the playlist with only the given entries, and without the bytes in `cuts`.
    func keeping(_ kept: [HLSEntry], without cuts: [Range<Int>]) -> HLSPlaylist {
        let cuts = cuts.map { HLSEdit($0, .text("")) }
        return keeping(kept, cuts.sorted { $0.span.lowerBound < $1.span.lowerBound })
    }

    /// Returns the playlist with only the given entries, and with further edits, which must be in order.
    private func keeping(_ kept: [HLSEntry], _ more: [HLSEdit]) -> HLSPlaylist {
        var playlist = self
        playlist.entries = kept
        playlist.edits = []
        var more = more[...]
        for edit in edits {
            while let new = more.first, new.span.upperBound <= edit.span.lowerBound {
                playlist.edits.append(new)
                more.removeFirst()
            }
            // A cut replaces any edit within it.
            if let new = more.first, new.span.contains(edit.span.lowerBound) { continue }
            playlist.edits.append(edit)
            // An edit of a whole line replaces any cut within it.
            while let new = more.first, new.span.lowerBound < edit.span.upperBound { more.removeFirst() }
        }
        playlist.edits += more
        return playlist
    }
}
