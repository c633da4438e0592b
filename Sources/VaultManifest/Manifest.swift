package import VaultModel

/// A parsed manifest: a file that names media instead of containing it.
///
/// Bytes in, values out. Content that the parser does not understand is kept. Every URI that a player would request is
/// resolved, so that the caller can lead the player to the vault instead.
package enum Manifest: Sendable {
    /// An HLS playlist (RFC 8216, and its second edition).
    case hls(HLSPlaylist)
    /// A DASH media presentation description (ISO/IEC 23009-1).
    case dash(DASHManifest)

    /// Parses a manifest.
    ///
    /// - Parameters:
    ///   - bytes: the whole manifest as the origin sent it, in UTF-8.
    ///   - kind: the kind of the manifest.
    ///   - url: where it was found, after redirects; relative references are resolved against it.
    ///   - variables: the variables that this media playlist gets from its multivariant playlist (see ``exports``).
    ///   - limits: the limits on what is parsed.
    /// - Throws: ``ManifestError`` if the manifest cannot be led through the vault.
    package init(
        _ bytes: [UInt8], kind: ManifestKind, url: MediaURL, variables: [String: String] = [:],
        limits: ManifestLimits = .standard
    ) throws(ManifestError) {
        switch kind {
        case .hls: self = .hls(try HLSPlaylist(bytes, url: url, variables: variables, limits: limits))
        case .dash: self = .dash(try DASHManifest(bytes, url: url, limits: limits))
        }
    }

    /// Whether the manifest may change or grow: it must be revalidated, and never kept beyond its use.
    package var isLive: Bool {
        switch self {
        case .hls(let playlist): playlist.isLive
        case .dash(let manifest): manifest.isLive
        }
    }

    /// Whether the manifest is not live, and shows no sign of being cut: players accept a playlist without its end.
    package var isEnded: Bool {
        switch self {
        case .hls(let playlist): playlist.isEnded
        case .dash(let manifest): !manifest.isLive
        }
    }

    /// All resources of the title that the manifest names, in order, each as a player would request it.
    ///
    /// A reference that the manifest repeats, such as a key, is repeated here. References that matter only while live,
    /// such as partial segments, are left out, but ``rewritten(hidesNames:_:)`` leads them through the vault, too.
    package var references: [ManifestReference] {
        switch self {
        case .hls(let playlist): playlist.references
        case .dash(let manifest): manifest.references
        }
    }

    /// The alternative URLs of files that have several, by the first URL: the one in ``references``.
    package var alternatives: [MediaURL: [MediaURL]] {
        switch self {
        case .hls: [:]
        case .dash(let manifest): manifest.alternatives
        }
    }

    /// Whether the manifest names anything; one that does not may have been cut.
    package var namesSomething: Bool {
        switch self {
        case .hls(let playlist): playlist.namesSomething
        case .dash(let manifest): manifest.namesSomething
        }
    }

    /// The references of the title that cannot be led through the vault, so that players are refused them: the first
    /// ``ManifestRefusal/most`` of them.
    package var refusals: [ManifestRefusal] {
        switch self {
        case .hls(let playlist): playlist.refusals
        case .dash(let manifest): manifest.refusals
        }
    }

    /// Returns the manifest for a player that finds it at another URL, so that its references lead to the same
    /// resources.
    ///
    /// - Parameter player: the URL that the player's link mirrors; the manifest's own, unless its origin redirected.
    package func placed(at player: MediaURL) -> Manifest {
        switch self {
        // Every file of a playlist gets a link.
        case .hls: self
        case .dash(let manifest): .dash(manifest.placed(at: player))
        }
    }

    /// Returns the bytes of the manifest with other URIs.
    ///
    /// - Parameters:
    ///   - hidesNames: whether to call `link` even for a file that a player would find without a link, because the
    ///     file's name or query must not be seen. Templates, which a player fills in, and folders stay as they are.
    ///   - link: returns the URI to write for a reference, or nil to keep the present one.
    package func rewritten(
        hidesNames: Bool = false, _ link: (ManifestReference) throws -> String?
    ) rethrows -> [UInt8] {
        switch self {
        // Every file of a playlist gets a link.
        case .hls(let playlist): try playlist.rewritten(link)
        case .dash(let manifest): try manifest.rewritten(hidesNames: hidesNames, link)
        }
    }

    /// The video, audio and subtitles to choose from. Empty if there is nothing to choose.
    package var renditions: [Rendition] {
        switch self {
        case .hls(let playlist): playlist.renditions
        case .dash(let manifest): manifest.renditions
        }
    }

    /// Returns the manifest as it will be played offline: with the chosen renditions only.
    package func selecting(_ selection: RenditionSelection) -> Manifest {
        switch self {
        case .hls(let playlist): .hls(playlist.selecting(selection))
        case .dash(let manifest): .dash(manifest.selecting(selection))
        }
    }

    /// Returns the manifest with only what a player needs: no comments, no tags, elements or attributes foreign to its
    /// format, and no text that names a place.
    ///
    /// - Parameter traces: the texts that would reveal the manifest's origin.
    package func sanitized(_ traces: OriginTraces) -> Manifest {
        switch self {
        case .hls(let playlist): .hls(playlist.sanitized(traces))
        case .dash(let manifest): .dash(manifest.sanitized(traces))
        }
    }

    /// Returns the bytes of the manifest for playing from a folder: with file names in place of all URIs, and otherwise
    /// only what a player needs.
    ///
    /// The manifest must not be live. References to resources that the title does not have lead nowhere.
    ///
    /// - Parameters:
    ///   - names: names the files of the title, and records the files to copy.
    ///   - traces: see ``sanitized(_:)``.
    package func local(_ names: inout LocalNames, without traces: OriginTraces) -> [UInt8] {
        switch self {
        case .hls(let playlist): playlist.sanitized(traces).local(&names)
        case .dash(let manifest): manifest.local(&names, without: traces)
        }
    }

    /// The approximate memory that the manifest takes, in bytes.
    package var weight: Int {
        switch self {
        case .hls(let playlist): playlist.weight
        case .dash(let manifest): manifest.weight
        }
    }

    /// The duration of the title; nil if the manifest does not state it, or is still growing.
    package var duration: Duration? {
        switch self {
        case .hls(let playlist): playlist.duration
        case .dash(let manifest): manifest.duration
        }
    }

    /// The duration of what the manifest names at present; nil if the manifest does not state it.
    package var window: Duration? {
        switch self {
        case .hls(let playlist): playlist.window
        case .dash(let manifest): manifest.duration
        }
    }

    /// The name of the title, if the manifest states one.
    package var title: String? {
        switch self {
        case .hls(let playlist): playlist.title
        case .dash(let manifest): manifest.title
        }
    }

    /// The variables that a multivariant playlist defines for the media playlists that it names (`EXT-X-DEFINE`).
    package var exports: [String: String] {
        switch self {
        case .hls(let playlist): playlist.exports
        case .dash: [:]
        }
    }
}
