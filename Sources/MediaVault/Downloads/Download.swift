import VaultModel

/// A download into the vault: begins when it is iterated, goes on where an earlier one stopped, ends when everything is
/// held. Leaving the loop, or cancelling its task, stops it; bytes that came are kept.
public struct Download: AsyncSequence, Sendable {
    /// How far it is, told ten times a second at most.
    public typealias Element = DownloadProgress

    let vault: Vault
    let reference: MediaReference
    let options: DownloadOptions

    /// Begins the download. The iterator throws ``VaultError`` where it cannot go on.
    public func makeAsyncIterator() -> AsyncThrowingStream<DownloadProgress, any Error>.Iterator {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: DownloadProgress.self, bufferingPolicy: .bufferingNewest(1))
        let (vault, reference, options) = (vault, reference, options)
        let task = Task {
            do {
                try await vault.fill(reference, options) { continuation.yield($0) }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream.makeAsyncIterator()
    }
}

/// How a download goes about it.
public struct DownloadOptions: Hashable, Sendable {
    /// How many connections fetch at a time, where the origin can jump: 1 to ``mostConnections``.
    public var connections: Int
    /// The most bytes taken from the origin in a second; nil is as many as come.
    public var bytesPerSecond: Int64?

    /// The most connections of one download: more bring nothing, and are not polite.
    public static let mostConnections = 16

    /// One connection, as fast as it goes, unless told otherwise. What lies out of bounds is brought within them.
    public init(connections: Int = 1, bytesPerSecond: Int64? = nil) {
        self.connections = min(max(1, connections), Self.mostConnections)
        self.bytesPerSecond = bytesPerSecond.map { max(1, $0) }
    }
}

/// Which bytes each connection of a download fetches: what is missing, cut into pieces that are fetched side by side; one
/// piece for each gap where there is one connection.
///
/// A piece is made when it is asked for: an origin may claim any length, and no memory is spent on a claim.
struct DownloadPlan: IteratorProtocol {
    /// A piece is never smaller: it fills a segment, and outweighs the round trip that asking for it costs.
    static let leastPiece = SegmentDescription.mostBytes
    private static let mostPiece = 8 * SegmentDescription.mostBytes
    /// So many pieces for each connection: one that is slow, or ends early, leaves enough for the others to share.
    private static let piecesEach: Int64 = 4

    /// What no connection has taken yet, in ascending order.
    private var gaps: ArraySlice<ByteRange>
    private let size: Int64

    init(missing: [ByteRange] = [], connections: Int = 1) {
        gaps = missing.filter { !$0.isEmpty }[...]
        let length = missing.reduce(0) { $0 + $1.length }
        size = connections > 1 ? Self.pieceSize(for: length, connections: connections) : .max
    }

    /// The next piece; nil where none is left.
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

    /// A whole number of segments.
    private static func pieceSize(for missing: Int64, connections: Int) -> Int64 {
        let fair = missing / (Int64(connections) * piecesEach)
        return min(max(leastPiece, fair - fair % leastPiece), mostPiece)
    }
}

/// How far a download is.
public struct DownloadProgress: Hashable, Sendable {
    /// The bytes that are in the vault, or on their way into it.
    public let held: Int64
    /// The length; nil while nobody knows.
    public let total: Int64?
    /// The media type, where it is known.
    public let type: String?

    /// The kind of manifest it is, where it is one: then what it names is not fetched with it.
    public let manifest: ManifestKind?

    /// Whether nothing is missing.
    public var isComplete: Bool { held == total }
}

extension Vault {
    /// Fetches what is missing of a resource; its bytes are kept before those of what was merely played. A player that
    /// waits for bytes of its own has them first.
    public func download(_ reference: MediaReference, options: DownloadOptions = DownloadOptions()) -> Download {
        Download(vault: self, reference: reference, options: options)
    }

    /// Fetches what is missing; returns when all of it is durable.
    func fill(
        _ reference: MediaReference, _ options: DownloadOptions, tell: @escaping @Sendable (DownloadProgress) -> Void
    ) async throws {
        let (loader, lease) = try await use(reference)
        defer { withExtendedLifetime(lease) {} }
        try await DownloadJob(loader, options, tell: tell).run()
    }
}
