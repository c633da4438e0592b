import VaultManifest
import VaultModel

/// What to fetch for a title besides its manifest: a pure value.
struct TitlePlan: Hashable {
    /// The media playlists of the chosen renditions (HLS).
    private(set) var playlists: [MediaURL] = []
    /// Media, initialization sections, keys and subtitles, in the order in which to fetch them.
    private(set) var parts: [MediaURL] = []
    /// The parts that are optional; see `ManifestReference.mayBeAbsent`.
    private(set) var mayBeAbsent: Set<MediaURL> = []
    /// The other places of parts, by the first place; see `Manifest.alternatives`.
    private(set) var alternatives: [MediaURL: [MediaURL]] = [:]

    /// The maximum number of media playlists of a title.
    static let maxPlaylists = 256
    /// The maximum memory for all media playlists of a title together, in bytes.
    static let maxWeight = 512 << 20

    /// Plans what a manifest itself names; for HLS, that is the media playlists of the chosen renditions.
    init(_ manifest: Manifest) {
        let references = manifest.references.filter { !$0.isFolder }
        playlists = Self.distinct(references.filter { $0.role == .playlist }.map(\.url))
        parts = Self.interleaved(Self.runs(of: references))
        alternatives = manifest.alternatives
        mayBeAbsent = Set(references.lazy.filter(\.mayBeAbsent).map(\.url))
        if !mayBeAbsent.isEmpty { mayBeAbsent.subtract(references.lazy.filter { !$0.mayBeAbsent }.map(\.url)) }
    }

    /// Adds what the media playlists name.
    mutating func add(_ media: [Manifest]) {
        let lists = media.map { list in
            list.references.filter { !$0.isFolder && Self.isPart($0.role) }.map(\.url)
        }
        parts = Self.distinct(parts + Self.interleaved(lists))
    }

    /// All resources: those that `fetch` fetches besides the manifest, and that `export` copies.
    var resources: Set<MediaURL> { Set(playlists).union(parts) }

    /// Returns whether a player needs it to play. Session data and seek thumbnails are left out.
    private static func isPart(_ role: ManifestReference.Role) -> Bool {
        switch role {
        case .segment, .initialization, .key: true
        case .playlist, .data: false
        }
    }

    /// Returns the parts of each rendition; in a DASH manifest, each begins with its initialization section.
    private static func runs(of references: [ManifestReference]) -> [[MediaURL]] {
        var runs: [[MediaURL]] = []
        var last: ManifestReference.Role?
        for reference in references where isPart(reference.role) {
            if runs.isEmpty || reference.role == .initialization && last != .initialization { runs.append([]) }
            runs[runs.count - 1].append(reference.url)
            last = reference.role
        }
        return runs
    }

    /// Returns the elements of several lists, each list spread evenly: audio and video of the same moment are fetched
    /// together, so that a partly fetched title plays, and the sizes seen so far are typical.
    private static func interleaved(_ lists: [[MediaURL]]) -> [MediaURL] {
        let lists = lists.map(distinct)
        let placed = lists.enumerated().flatMap { number, list in
            list.enumerated().map { index, url in (Double(index + 1) / Double(list.count), number, url) }
        }
        return distinct(placed.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2))
    }

    /// Returns each URL once. Several ranges of one file are one resource, which is fetched whole.
    private static func distinct(_ urls: [MediaURL]) -> [MediaURL] {
        var known: Set<MediaURL> = []
        return urls.filter { known.insert($0).inserted }
    }
}

/// The addresses that the parts of a title may be fetched from, and the fields to send: a pure value.
struct TitleReach {
    /// The URL that the operator named.
    let named: MediaURL
    /// Where the manifest came from: that URL, or the target of a redirect from it.
    let base: MediaURL
    /// Whether a manifest or a redirect named the manifest itself.
    let isDerived: Bool
    /// The fields that the manifest is requested with, and their origin.
    let fields: OriginFields?

    /// Whether the manifest came from the authority that the operator named, or from the same host over TLS.
    private var isBaseNamed: Bool { base.origin == named.origin || base.isUpgrade(of: named) }

    /// Returns the reference of a resource that the manifest names.
    ///
    /// The operator named the manifest's authority, so the manifest may name anything there, even at private addresses.
    /// Anything else is requested only from public addresses, and no other origin receives the fields.
    func reference(to url: MediaURL) -> MediaReference {
        let isOwn = url.origin == base.origin && isBaseNamed
        let own = fields.flatMap { $0.origin == url.origin && isOwn ? $0.fields : nil }
        var reference = MediaReference(url, fields: own ?? HeaderFields())
        reference.isDerived = isDerived || !isOwn
        return reference
    }
}

extension TitleReach {
    /// Creates the reach of the URLs in a manifest that is held as a resource.
    init(_ held: HeldManifest, of resource: NamedResource, _ loader: ResourceLoader) {
        let source = loader.urls.current
        self.init(
            named: resource.reference.url, base: held.base, isDerived: source.reach == .publicOnly,
            fields: source.fields)
    }
}
