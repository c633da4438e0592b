import VaultModel

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
