package import VaultModel
package import VaultStorage

/// A plan for answering a request: which bytes are held, which are in flight, and which gaps must be fetched.
///
/// The plan is a pure function of the request and of the held and in-flight ranges. Each byte belongs to exactly one
/// piece.
enum LoadPlan {
    /// A run of bytes and its source.
    enum Piece: Hashable, Sendable {
        /// Bytes that are sealed in the vault, to be opened.
        case held(ByteRange)
        /// Bytes that are already being fetched, to be waited for and shared.
        case inFlight(ByteRange)
        /// Bytes that are neither held nor in flight, to be fetched.
        case gap(ByteRange)

        var range: ByteRange {
            switch self {
            case .held(let range), .inFlight(let range), .gap(let range): range
            }
        }
    }

    /// Returns the pieces of `request`, in ascending order.
    static func pieces(of request: ByteRange, held: ByteRanges, inFlight: ByteRanges) -> [Piece] {
        var pieces: [Piece] = []
        var rest = request
        while let piece = first(of: rest, held: held, inFlight: inFlight) {
            pieces.append(piece)
            rest = piece.range.upperBound..<request.upperBound
        }
        return pieces
    }

    /// Returns the range to request from an origin in order to fill a gap.
    ///
    /// A gap smaller than a block is extended towards the block boundaries, but stops at bytes that are already present.
    static func extendedToBlocks(
        _ gap: ByteRange, block: Int64, there: ByteRanges, length: Int64
    ) -> ByteRange {
        guard gap.length < block, gap.upperBound <= length else { return gap }
        let first = gap.lowerBound - gap.lowerBound % block
        let last = min(length, (gap.upperBound + block - 1) / block * block)
        return there.gaps(in: first..<last).first { $0.contains(gap.lowerBound) } ?? gap
    }

    /// Returns the first piece of `request`; nil if `request` is empty. Bytes that are both held and in flight count as
    /// held.
    static func first(of request: ByteRange, held: ByteRanges, inFlight: ByteRanges) -> Piece? {
        guard !request.isEmpty else { return nil }
        let position = request.lowerBound
        if let run = held.run(at: position) {
            return .held(run.clamped(to: request))
        }
        let nextHeld = held.firstHeld(from: position) ?? .max
        if let run = inFlight.run(at: position) {
            return .inFlight(position..<min(run.upperBound, nextHeld, request.upperBound))
        }
        let nextInFlight = inFlight.firstHeld(from: position) ?? .max
        return .gap(position..<min(nextHeld, nextInFlight, request.upperBound))
    }
}

/// A value with the segments that hold a representation's bytes, including segments that are still growing.
package struct SegmentMap {
    /// A run of good bytes within one segment.
    struct Piece: Hashable {
        var range: ByteRange
        let segment: SegmentID
    }

    private var segments: [SegmentID: SegmentDescription] = [:]
    /// The range of bytes that belong to the resource. In a pack's segments, only some bytes do.
    private var window: ByteRange = 0..<ContentInformation.maxBytes
    private var badBlocks: [SegmentID: Set<Int>] = [:]
    /// The runs of good bytes, sorted and disjoint: the good bytes of two segments never overlap.
    private(set) var pieces: [Piece] = []

    /// All bytes that can be opened.
    package private(set) var covered = ByteRanges()
    /// Bytes that were held but failed verification.
    private(set) var damaged = ByteRanges()

    init() {}

    package init(_ representation: StoredRepresentation) {
        badBlocks = representation.badBlocks
        window = representation.window
        for segment in representation.segments { segments[segment.id] = segment }
        rebuild()
    }

    /// Returns the segment that holds `offset`, and the run of good bytes around it; nil if there is none.
    package func segment(at offset: Int64) -> (segment: SegmentDescription, run: ByteRange)? {
        let index = firstPiece(endingAfter: offset)
        guard index < pieces.count, pieces[index].range.contains(offset), let segment = segments[pieces[index].segment]
        else { return nil }
        return (segment, pieces[index].range)
    }

    /// Returns whether an entire range can be opened. The range must not be empty.
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

    /// Adds a segment, or records that it has grown.
    mutating func put(_ segment: SegmentDescription) {
        guard window.contains(segment.range) else {
            segments[segment.id] = segment
            return rebuild()
        }
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

    /// Removes a block whose tag failed verification.
    mutating func markBad(_ id: SegmentID, block: Int) {
        badBlocks[id, default: []].insert(block)
        if let segment = segments[id], block < segment.blockCount {
            damaged.insert(contentsOf: segment.range(ofBlock: block))
        }
        rebuild()
    }

    /// Returns the number of bytes in a segment; 0 if it is not in the map.
    func length(of id: SegmentID) -> Int64 { segments[id]?.length ?? 0 }

    /// Removes a whole segment.
    mutating func remove(_ id: SegmentID, isDamaged: Bool) {
        guard let segment = segments.removeValue(forKey: id) else { return }
        if isDamaged { damaged.insert(contentsOf: segment.range) }
        rebuild()
    }

    /// Replaces segments with others; does nothing if the map has none of the old ones.
    mutating func exchange(_ old: [SegmentID], for new: [SegmentDescription]) {
        guard !old.filter({ segments.removeValue(forKey: $0) != nil }).isEmpty else { return }
        for id in old { badBlocks[id] = nil }
        for segment in new { segments[segment.id] = segment }
        rebuild()
    }

    private mutating func rebuild() {
        pieces = segments.values.flatMap { segment in
            segment.effectiveRanges(badBlocks: badBlocks[segment.id] ?? [], within: window).ranges
                .map { Piece(range: $0, segment: segment.id) }
        }
        pieces.sort { $0.range.lowerBound < $1.range.lowerBound }
        covered = pieces.reduce(into: ByteRanges()) { $0.insert(contentsOf: $1.range) }
    }

    /// Returns the index of the first piece that ends after `offset`, by binary search.
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
