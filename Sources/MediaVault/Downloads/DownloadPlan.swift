import VaultModel

/// Which bytes each connection of a download fetches.
enum DownloadPlan {
    /// A piece is never smaller: it fills a segment, and outweighs the round trip that asking for it costs.
    static let leastPiece = SegmentDescription.mostBytes
    private static let mostPiece = 8 * SegmentDescription.mostBytes
    /// So many pieces for each connection: one that is slow, or ends early, leaves enough for the others to share.
    private static let piecesEach: Int64 = 4

    /// What is missing, cut into pieces that are fetched side by side; one piece for each gap where there is one
    /// connection.
    static func pieces(of missing: [ByteRange], connections: Int) -> [ByteRange] {
        guard connections > 1 else { return missing }
        let size = pieceSize(for: missing.reduce(0) { $0 + $1.length }, connections: connections)
        return missing.flatMap { gap in
            stride(from: gap.lowerBound, to: gap.upperBound, by: Int64.Stride(size)).map {
                $0..<min($0 + size, gap.upperBound)
            }
        }
    }

    /// A whole number of segments.
    private static func pieceSize(for missing: Int64, connections: Int) -> Int64 {
        let fair = missing / (Int64(connections) * piecesEach)
        return min(max(leastPiece, fair - fair % leastPiece), mostPiece)
    }
}
