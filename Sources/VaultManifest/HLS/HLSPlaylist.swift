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
    let bytes: [UInt8]
    var edits: [HLSEdit]
    var entries: [HLSEntry]
    private let facts: HLSProperties
    let variables: HLSVariables
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
}
