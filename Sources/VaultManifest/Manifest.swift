package import VaultModel

/// A parsed manifest, which is a file that names media instead of containing it.
///
/// Parsing turns bytes into values and does no I/O. Content that the parser does not understand is kept. Every URI that
/// a player would request is resolved, so that the caller can direct the player to the vault instead.
package enum Manifest: Sendable {
    /// An HLS playlist (RFC 8216 and its second edition).
    case hls(HLSPlaylist)
    /// A DASH media presentation description (ISO/IEC 23009-1).
    case dash(DASHManifest)

    /// Parses a manifest.
    ///
    /// - Parameters:
    ///   - bytes: the whole manifest, in UTF-8, as the origin sent it.
    ///   - kind: the kind of the manifest.
    ///   - url: the URL that the manifest came from, after redirects. Relative references are resolved against it.
    ///   - variables: the variables that a media playlist inherits from its multivariant playlist (see ``exports``).
    ///   - limits: the limits that the manifest must respect.
    /// - Throws: ``ManifestError`` if the manifest cannot be routed through the vault.
    package init(
        _ bytes: [UInt8], kind: ManifestKind, url: MediaURL, variables: [String: String] = [:],
        limits: ManifestLimits = .standard
    ) throws(ManifestError) {
        switch kind {
        case .hls: self = .hls(try HLSPlaylist(bytes, url: url, variables: variables, limits: limits))
        case .dash: self = .dash(try DASHManifest(bytes, url: url, limits: limits))
        }
    }

    /// Whether the manifest may change or grow. It must then be revalidated, and must not be kept after use.
    package var isLive: Bool {
        switch self {
        case .hls(let playlist): playlist.isLive
        case .dash(let manifest): manifest.isLive
        }
    }

    /// Whether the manifest is not live and shows no sign of being truncated. Players accept a playlist without its
    /// end.
    package var isEnded: Bool {
        switch self {
        case .hls(let playlist): playlist.isEnded
        case .dash(let manifest): !manifest.isLive
        }
    }

    /// All of the title's resources that the manifest names, in order, each as a player would request it.
    ///
    /// A reference that the manifest repeats, such as a key, is repeated here. References that matter only while the
    /// manifest is live, such as partial segments, are left out, but ``rewritten(hidesNames:_:)`` routes them through
    /// the vault, too.
    package var references: [ManifestReference] {
        switch self {
        case .hls(let playlist): playlist.references
        case .dash(let manifest): manifest.references
        }
    }

    /// The alternative URLs of files that have several. The key is the file's first URL, which is the one in
    /// ``references``.
    package var alternatives: [MediaURL: [MediaURL]] {
        switch self {
        case .hls: [:]
        case .dash(let manifest): manifest.alternatives
        }
    }

    /// Whether the manifest names anything. If it does not, it may have been truncated.
    package var namesSomething: Bool {
        switch self {
        case .hls(let playlist): playlist.namesSomething
        case .dash(let manifest): manifest.namesSomething
        }
    }

    /// The title's references that cannot be routed through the vault, so that players are not allowed to follow them.
    /// Only the first ``ManifestRefusal/most`` are listed.
    package var refusals: [ManifestRefusal] {
        switch self {
        case .hls(let playlist): playlist.refusals
        case .dash(let manifest): manifest.refusals
        }
    }

    /// Returns the manifest for a player that finds it at another URL, changed so that its references lead to the same
    /// resources.
    ///
    /// - Parameter player: the URL that the player's link mirrors. It is the manifest's own URL unless the origin
    ///   redirected the request.
    package func placed(at player: MediaURL) -> Manifest {
        switch self {
        // Every file of a playlist gets a link.
        case .hls: self
        case .dash(let manifest): .dash(manifest.placed(at: player))
        }
    }

    /// Returns the manifest's bytes with its URIs replaced.
    ///
    /// - Parameters:
    ///   - hidesNames: whether to call `link` even for a file that a player would find without a link, because the
    ///     file's name or query must not be seen. Templates, which players fill in, and folders are left as they are.
    ///   - link: returns the URI to write for a reference, or nil to keep the existing one.
    package func rewritten(
        hidesNames: Bool = false, _ link: (ManifestReference) throws -> String?
    ) rethrows -> [UInt8] {
        switch self {
        // Every file of a playlist gets a link.
        case .hls(let playlist): try playlist.rewritten(link)
        case .dash(let manifest): try manifest.rewritten(hidesNames: hidesNames, link)
        }
    }

    /// The video, audio and subtitle renditions to choose from; empty if there is no choice.
    package var renditions: [Rendition] {
        switch self {
        case .hls(let playlist): playlist.renditions
        case .dash(let manifest): manifest.renditions
        }
    }

    /// Returns the manifest for playing offline, with only the chosen renditions.
    package func selecting(_ selection: RenditionSelection) -> Manifest {
        switch self {
        case .hls(let playlist): .hls(playlist.selecting(selection))
        case .dash(let manifest): .dash(manifest.selecting(selection))
        }
    }

    /// Returns the manifest with only what a player needs. Comments, foreign tags, elements and attributes, and text
    /// that names a place are removed.
    ///
    /// - Parameter traces: the strings that would reveal the manifest's origin.
    package func sanitized(_ traces: OriginTraces) -> Manifest {
        switch self {
        case .hls(let playlist): .hls(playlist.sanitized(traces))
        case .dash(let manifest): .dash(manifest.sanitized(traces))
        }
    }

    /// Returns the manifest's bytes for playing from a folder. All URIs are replaced by file names, and otherwise only
    /// what a player needs is kept.
    ///
    /// The manifest must not be live. References to resources that do not belong to the title are replaced by ones that
    /// lead nowhere.
    ///
    /// - Parameters:
    ///   - names: assigns file names to the title's resources, and records the files to copy.
    ///   - traces: see ``sanitized(_:)``.
    package func local(_ names: inout LocalNames, without traces: OriginTraces) -> [UInt8] {
        switch self {
        case .hls(let playlist): playlist.sanitized(traces).local(&names)
        case .dash(let manifest): manifest.local(&names, without: traces)
        }
    }

    /// The approximate amount of memory that the manifest occupies, in bytes.
    package var weight: Int {
        switch self {
        case .hls(let playlist): playlist.weight
        case .dash(let manifest): manifest.weight
        }
    }

    /// The title's duration; nil if the manifest does not state it, or is still growing.
    package var duration: Duration? {
        switch self {
        case .hls(let playlist): playlist.duration
        case .dash(let manifest): manifest.duration
        }
    }

    /// The duration of the media that the manifest names at present; nil if the manifest does not state it.
    package var window: Duration? {
        switch self {
        case .hls(let playlist): playlist.window
        case .dash(let manifest): manifest.duration
        }
    }

    /// The title's name, if the manifest states one.
    package var title: String? {
        switch self {
        case .hls(let playlist): playlist.title
        case .dash(let manifest): manifest.title
        }
    }

    /// The variables that a multivariant playlist defines for its media playlists (`EXT-X-DEFINE`).
    package var exports: [String: String] {
        switch self {
        case .hls(let playlist): playlist.exports
        case .dash: [:]
        }
    }
}
