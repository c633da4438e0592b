import VaultCache
import VaultManifest
import VaultModel

/// The resources to fetch for a title besides its manifest. It is a value type without I/O.
struct TitlePlan: Hashable {
    /// The media playlists of the chosen renditions (HLS).
    private(set) var playlists: [MediaURL] = []
    /// The media, initialization sections, keys and subtitles, in the order in which to fetch them.
    private(set) var parts: [MediaURL] = []
    /// The parts that are optional; see `ManifestReference.mayBeAbsent`.
    private(set) var mayBeAbsent: Set<MediaURL> = []
    /// The alternative places of parts, keyed by the first place; see `Manifest.alternatives`.
    private(set) var alternatives: [MediaURL: [MediaURL]] = [:]

    /// The maximum number of media playlists in a title.
    static let maxPlaylists = 256
    /// The maximum memory, in bytes, for all media playlists of a title together.
    static let maxWeight = 512 << 20

    /// Plans the resources that the manifest itself names. For HLS, these are the media playlists of the chosen
    /// renditions.
    init(_ manifest: Manifest) {
        let references = manifest.references.filter { !$0.isFolder }
        playlists = Self.distinct(references.filter { $0.role == .playlist }.map(\.url))
        parts = Self.interleaved(Self.runs(of: references))
        alternatives = manifest.alternatives
        mayBeAbsent = Set(references.lazy.filter(\.mayBeAbsent).map(\.url))
        if !mayBeAbsent.isEmpty { mayBeAbsent.subtract(references.lazy.filter { !$0.mayBeAbsent }.map(\.url)) }
    }

    /// Adds the resources that the media playlists name.
    mutating func add(_ media: [Manifest]) {
        let lists = media.map { list in
            list.references.filter { !$0.isFolder && Self.isPart($0.role) }.map(\.url)
        }
        parts = Self.distinct(parts + Self.interleaved(lists))
    }

    /// All planned resources. The command `fetch` fetches them besides the manifest, and `export` copies them.
    var resources: Set<MediaURL> { Set(playlists).union(parts) }

    /// Returns whether a player needs resources of this role for playback. Session data and seek thumbnails are left
    /// out.
    private static func isPart(_ role: ManifestReference.Role) -> Bool {
        switch role {
        case .segment, .initialization, .key: true
        case .playlist, .data: false
        }
    }

    /// Returns the parts of each rendition. In a DASH manifest, each rendition begins with its initialization section.
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

    /// Merges several lists, with the elements of each spread evenly. Audio and video for the same moment are then
    /// fetched together, so a partly fetched title plays, and the sizes seen so far are typical of the rest.
    private static func interleaved(_ lists: [[MediaURL]]) -> [MediaURL] {
        let lists = lists.map(distinct)
        let placed = lists.enumerated().flatMap { number, list in
            list.enumerated().map { index, url in (Double(index + 1) / Double(list.count), number, url) }
        }
        return distinct(placed.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2))
    }

    /// Returns each URL once. Several ranges of one file are a single resource, which is fetched whole.
    private static func distinct(_ urls: [MediaURL]) -> [MediaURL] {
        var known: Set<MediaURL> = []
        return urls.filter { known.insert($0).inserted }
    }
}

/// The addresses from which a title's parts may be fetched, and the header fields to send. It is a value type.
struct TitleReach {
    /// The URL that the operator named.
    let named: MediaURL
    /// The URL from which the manifest came: the named URL, or the target of a redirect from it.
    let base: MediaURL
    /// Whether the manifest's own URL was named by another manifest or a redirect, rather than by the operator.
    let isDerived: Bool
    /// The header fields with which the manifest is requested, and their origin.
    let fields: OriginFields?

    /// Whether the manifest came from the authority that the operator named, or from the same host over TLS.
    private var isBaseNamed: Bool { base.origin == named.origin || base.isUpgrade(of: named) }

    /// Returns the reference to a resource that the manifest names.
    ///
    /// Because the operator named the manifest's authority, the manifest may name anything there, even at private
    /// addresses. Any other resource is requested only from public addresses, and no other origin receives the header
    /// fields.
    func reference(to url: MediaURL) -> MediaReference {
        let isOwn = url.origin == base.origin && isBaseNamed
        let own = fields.flatMap { $0.origin == url.origin && isOwn ? $0.fields : nil }
        var reference = MediaReference(url, fields: own ?? HeaderFields())
        reference.isDerived = isDerived || !isOwn
        return reference
    }
}

extension TitleReach {
    /// Creates the reach for the URLs in a manifest that is held as a resource.
    init(_ held: HeldManifest, of resource: NamedResource, _ loader: ResourceLoader) {
        let source = loader.origin.urls.current
        self.init(
            named: resource.reference.url, base: held.base, isDerived: source.reach == .publicOnly,
            fields: source.fields)
    }
}
