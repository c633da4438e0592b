public import VaultManifest
public import VaultModel

/// The options of a download.
public struct DownloadOptions: Hashable, Sendable {
    /// The number of parallel connections, from 1 to ``maxConnections``. A single resource uses several only if its
    /// origin supports ranges. Nil means one, or ``titleConnections`` for the resources of a title.
    public var connections: Int?
    /// The maximum number of bytes per second taken from the origin; nil for no limit.
    public var bytesPerSecond: Int64?
    /// What to fetch of a title if the resource is its manifest; nil to fetch only the manifest.
    public var selection: RenditionSelection?
    /// The title's name as people see it; nil to keep the current name, or to take one from the manifest or the media.
    public var name: String?
    /// Whether to refuse a resource that is not media, such as a web page.
    public var requiresMedia = false
    /// The picture that a feed names for the title. It becomes the title's cover if there is no other.
    package var picture: MediaReference?
    /// When the title was published, in seconds since 1970; nil if that is not known.
    package var published: Int64?

    /// The maximum number of connections per download. More would gain nothing and burden the origin.
    public static let maxConnections = 16

    /// The default number of connections for the resources of a title. It is as many as a browser opens to one host,
    /// because a small file takes as long to request as to send.
    public static let titleConnections = 6

    /// The maximum length of a title's name, in characters.
    public static let maxNameLength = MediaName.maxLength

    /// Creates options. The defaults set no rate limit and fetch whole titles; values out of bounds are clamped.
    public init(
        connections: Int? = nil, bytesPerSecond: Int64? = nil, selection: RenditionSelection? = RenditionSelection(),
        name: String? = nil
    ) {
        self.connections = connections.map { min(max(1, $0), Self.maxConnections) }
        self.bytesPerSecond = bytesPerSecond.map { max(1, $0) }
        self.selection = selection
        self.name = name.map { String($0.prefix(Self.maxNameLength)) }
    }
}

/// Divides what a download is missing into the ranges that its connections fetch.
///
/// With several connections, the missing ranges are cut into pieces that are fetched in parallel; with one connection,
/// each gap is one piece. Pieces are computed on demand, because an origin may claim any length and the claim must not
/// cost memory.
struct DownloadPlan: IteratorProtocol {
    /// The smallest piece. It fills a segment, so it is worth the round trip of its request.
    static let minPieceSize = SegmentDescription.maxBytes
    private static let maxPieceSize = 8 * SegmentDescription.maxBytes
    /// The number of pieces per connection. If one connection is slow or ends early, enough pieces are left for the
    /// others to share.
    private static let piecesPerConnection: Int64 = 4

    /// The ranges that no connection has taken yet, in ascending order.
    private var gaps: ArraySlice<ByteRange>
    private let size: Int64

    init(missing: [ByteRange] = [], connections: Int = 1) {
        gaps = missing.filter { !$0.isEmpty }[...]
        let length = missing.reduce(0) { $0 + $1.length }
        size = connections > 1 ? Self.pieceSize(for: length, connections: connections) : .max
    }

    /// Returns the next piece; nil if none is left.
    mutating func next() -> ByteRange? {
        guard let gap = gaps.first else { return nil }
        let piece = gap.lowerBound..<(gap.lowerBound + min(size, gap.length))
        if piece.upperBound < gap.upperBound {
            gaps[gaps.startIndex] = piece.upperBound..<gap.upperBound
        } else {
            gaps.removeFirst()
        }
        return piece
    }

    /// Puts a piece that could not be fetched back into the plan, for another connection.
    mutating func takeBack(_ piece: ByteRange) {
        guard !piece.isEmpty else { return }
        gaps = (gaps + [piece]).sorted { $0.lowerBound < $1.lowerBound }[...]
    }

    /// Returns the piece size, a multiple of the segment size.
    private static func pieceSize(for missing: Int64, connections: Int) -> Int64 {
        let fair = missing / (Int64(connections) * piecesPerConnection)
        return min(max(minPieceSize, fair - fair % minPieceSize), maxPieceSize)
    }
}

/// The progress of a download.
public struct DownloadProgress: Hashable, Codable, Sendable {
    /// The number of bytes that are in the vault or on their way into it.
    public let held: Int64
    /// The length in bytes; nil while it is unknown. For a title of several resources, this is an estimate until all of
    /// them are held.
    public let total: Int64?
    /// The media type, if known.
    public let type: String?

    /// The kind of manifest, if the resource is one.
    public let manifest: ManifestKind?
    /// How many resources the title needs, and how many of them are held; nil if this is not a title of several
    /// resources.
    public let resources: ResourceCount?

    package init(held: Int64, total: Int64?, type: String?, manifest: ManifestKind?, resources: ResourceCount?) {
        (self.held, self.total, self.type) = (held, total, type)
        (self.manifest, self.resources) = (manifest, resources)
    }

    /// Whether every byte is in the vault or on its way into it.
    public var isComplete: Bool { held == total }
}

/// How many resources a title needs, manifests included, and how many of them are held.
public struct ResourceCount: Hashable, Codable, Sendable {
    /// The number of resources that are completely held.
    public let held: Int
    /// The number of resources that the title needs.
    public let total: Int

    package init(held: Int, total: Int) { (self.held, self.total) = (held, total) }
}
