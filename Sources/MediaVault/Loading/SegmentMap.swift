import VaultModel
import VaultStorage

/// Which segment holds which bytes of a representation, growing segments included: a value.
struct SegmentMap {
    /// A run of good bytes within one segment.
    struct Piece: Hashable {
        var range: ByteRange
        let segment: SegmentID
    }

    private var segments: [SegmentID: SegmentDescription] = [:]
    private var badBlocks: [SegmentID: Set<Int>] = [:]
    /// Sorted and disjoint: the good bytes of two segments never overlap.
    private(set) var pieces: [Piece] = []

    /// All bytes that can be opened.
    private(set) var covered = ByteRanges()
    /// Bytes that were there and failed their tag.
    private(set) var damaged = ByteRanges()

    init() {}

    init(_ representation: StoredRepresentation) {
        badBlocks = representation.badBlocks
        for segment in representation.segments { segments[segment.id] = segment }
        rebuild()
    }

    /// The segment and the run of good bytes that hold `offset`.
    func segment(at offset: Int64) -> (segment: SegmentDescription, run: ByteRange)? {
        let index = firstPiece(endingAfter: offset)
        guard index < pieces.count, pieces[index].range.contains(offset), let segment = segments[pieces[index].segment]
        else { return nil }
        return (segment, pieces[index].range)
    }

    /// Whether all of a range can be opened; it is not empty.
    func holds(_ range: ByteRange) -> Bool {
        var position = range.lowerBound
        var index = firstPiece(endingAfter: position)
        while index < pieces.count, pieces[index].range.lowerBound <= position {
            position = pieces[index].range.upperBound
            if position >= range.upperBound { return true }
            index += 1
        }
        return false
    }

    /// Adds a segment, or takes over that it has grown.
    mutating func put(_ segment: SegmentDescription) {
        guard let known = segments.updateValue(segment, forKey: segment.id), known.length > 0 else {
            guard segment.length > 0 else { return }
            let piece = Piece(range: segment.range, segment: segment.id)
            pieces.insert(piece, at: firstPiece(endingAfter: segment.start))
            covered.insert(contentsOf: segment.range)
            return
        }
        guard known.length != segment.length else { return }
        let grown = known.range.upperBound..<segment.range.upperBound
        let index = firstPiece(endingAfter: known.range.upperBound - 1)
        guard index < pieces.count, pieces[index].segment == segment.id else { return rebuild() }
        pieces[index].range = pieces[index].range.lowerBound..<grown.upperBound
        covered.insert(contentsOf: grown)
    }

    /// Takes a block whose tag failed out.
    mutating func markBad(_ id: SegmentID, block: Int) {
        badBlocks[id, default: []].insert(block)
        if let segment = segments[id], block < segment.blockCount {
            damaged.insert(contentsOf: segment.range(ofBlock: block))
        }
        rebuild()
    }

    /// The bytes of a segment; 0 where there is none.
    func length(of id: SegmentID) -> Int64 { segments[id]?.length ?? 0 }

    /// Takes a whole segment out.
    mutating func remove(_ id: SegmentID, isDamaged: Bool) {
        guard let segment = segments.removeValue(forKey: id) else { return }
        if isDamaged { damaged.insert(contentsOf: segment.range) }
        rebuild()
    }

    /// Puts segments in the place of others; nothing happens where none of those is one of these.
    mutating func exchange(_ old: [SegmentID], for new: [SegmentDescription]) {
        guard !old.filter({ segments.removeValue(forKey: $0) != nil }).isEmpty else { return }
        for id in old { badBlocks[id] = nil }
        for segment in new { segments[segment.id] = segment }
        rebuild()
    }

    private mutating func rebuild() {
        pieces = segments.values.flatMap { segment in
            segment.effectiveRanges(badBlocks: badBlocks[segment.id] ?? []).ranges
                .map { Piece(range: $0, segment: segment.id) }
        }
        pieces.sort { $0.range.lowerBound < $1.range.lowerBound }
        covered = pieces.reduce(into: ByteRanges()) { $0.insert(contentsOf: $1.range) }
    }

    /// The first piece that ends after `offset`, by halving.
    private func firstPiece(endingAfter offset: Int64) -> Int {
        var low = 0
        var high = pieces.count
        while low < high {
            let middle = low + (high - low) / 2
            if pieces[middle].range.upperBound <= offset { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
