package import VaultModel

/// A parsed manifest: a file that names media instead of containing it.
///
/// Bytes in, values out. What is not understood stays byte for byte as it stands; every URI that a player would request
/// is resolved, so that the caller can lead the player to the vault instead.
package enum Manifest: Sendable {
    /// An HLS playlist (RFC 8216, and its second edition).
    case hls(HLSPlaylist)
    /// A DASH media presentation description (ISO/IEC 23009-1).
    case dash(DASHManifest)

    /// Parses a manifest.
    ///
    /// - Parameters:
    ///   - bytes: the whole manifest as the origin sent it, in UTF-8.
    ///   - kind: what the manifest is.
    ///   - url: where it was found, after redirects; relative references are resolved against it.
    ///   - variables: what the multivariant playlist defines that names this media playlist (see ``exports``).
    ///   - limits: the bounds of what is parsed.
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

    /// Whether the manifest is not live, and was not cut as far as it tells: players accept a playlist without its end.
    package var isEnded: Bool {
        switch self {
        case .hls(let playlist): playlist.isEnded
        case .dash(let manifest): !manifest.isLive
        }
    }

    /// All that the manifest names and that belongs to the title, in order, each as it would be requested.
    ///
    /// A reference that the manifest repeats, such as a key, is repeated here. What matters only while live, such as
    /// partial segments, is left out; ``rewritten(_:)`` leads it through the vault all the same.
    package var references: [ManifestReference] {
        switch self {
        case .hls(let playlist): playlist.references
        case .dash(let manifest): manifest.references
        }
    }

    /// The other places of files that it names several for, by the first of them: the one in ``references``.
    package var alternatives: [MediaURL: [MediaURL]] {
        switch self {
        case .hls: [:]
        case .dash(let manifest): manifest.alternatives
        }
    }

    /// Whether it names anything; one that does not may be cut.
    package var namesSomething: Bool {
        switch self {
        case .hls(let playlist): playlist.namesSomething
        case .dash(let manifest): manifest.namesSomething
        }
    }

    /// The first of what belongs to the title and cannot be led through the vault, so that players are refused it: at most
    /// ``ManifestRefusal/most``.
    package var refusals: [ManifestRefusal] {
        switch self {
        case .hls(let playlist): playlist.refusals
        case .dash(let manifest): manifest.refusals
        }
    }

    /// Returns the manifest as a player must get it that finds it elsewhere: what it names is found all the same.
    ///
    /// - Parameter player: the URL that the player's link mirrors; the manifest's own, unless its origin redirected.
    package func placed(at player: MediaURL) -> Manifest {
        switch self {
        // Every file of a playlist gets a link.
        case .hls: self
        case .dash(let manifest): .dash(manifest.placed(at: player))
        }
    }

    /// Returns the manifest with other URIs.
    ///
    /// - Parameters:
    ///   - hidesNames: whether a link is asked for also if a player would find a file without one, because the name of
    ///     the file or its query must not be seen. Templates, which a player fills, and folders stay as they are.
    ///   - link: returns the URI to write for a reference, or nil to keep what stands there.
    package func rewritten(
        hidesNames: Bool = false, _ link: (ManifestReference) throws -> String?
    ) rethrows -> [UInt8] {
        switch self {
        // Every file of a playlist gets a link.
        case .hls(let playlist): try playlist.rewritten(link)
        case .dash(let manifest): try manifest.rewritten(hidesNames: hidesNames, link)
        }
    }

    /// The choices: video, audio and subtitles. Empty if there is nothing to choose.
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

    /// Returns the manifest with nothing but what a player needs: no comments, no tags, elements and attributes that are
    /// not of its format, and no text that names a place.
    ///
    /// - Parameter traces: what would show where the manifest came from.
    package func sanitized(_ traces: OriginTraces) -> Manifest {
        switch self {
        case .hls(let playlist): .hls(playlist.sanitized(traces))
        case .dash(let manifest): .dash(manifest.sanitized(traces))
        }
    }

    /// Returns the manifest as it plays from a folder, with names of files in place of all URIs, and with nothing else but
    /// what a player needs.
    ///
    /// It must not be live. What the title does not have leads nowhere.
    ///
    /// - Parameters:
    ///   - names: names the files of the title, and records what has to be copied.
    ///   - traces: see ``sanitized(_:)``.
    package func local(_ names: inout LocalNames, without traces: OriginTraces) -> [UInt8] {
        switch self {
        case .hls(let playlist): playlist.sanitized(traces).local(&names)
        case .dash(let manifest): manifest.local(&names, without: traces)
        }
    }

    /// About how many bytes of memory it takes.
    package var weight: Int {
        switch self {
        case .hls(let playlist): playlist.weight
        case .dash(let manifest): manifest.weight
        }
    }

    /// How long the title plays; nil if the manifest does not say it, or is still growing.
    package var duration: Duration? {
        switch self {
        case .hls(let playlist): playlist.duration
        case .dash(let manifest): manifest.duration
        }
    }

    /// How long that plays which the manifest names now; nil if it does not say it.
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
