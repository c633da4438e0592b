package import VaultModel
import VaultStorage

/// How a request is answered: which bytes are held, which are on their way, and which gaps must be fetched.
///
/// A pure function over (request, held, in flight): gaps only, byte-exact, each byte in exactly one piece.
package enum LoadPlan {
    /// One run of bytes and where it comes from.
    package enum Piece: Hashable, Sendable {
        /// Sealed in the vault: open it.
        case held(ByteRange)
        /// Being fetched for somebody already: wait and share.
        case inFlight(ByteRange)
        /// Nobody has it: fetch it.
        case gap(ByteRange)

        package var range: ByteRange {
            switch self {
            case .held(let range), .inFlight(let range), .gap(let range): range
            }
        }
    }

    /// The pieces of `request`, in ascending order.
    package static func pieces(of request: ByteRange, held: ByteRanges, inFlight: ByteRanges) -> [Piece] {
        var pieces: [Piece] = []
        var rest = request
        while let piece = first(of: rest, held: held, inFlight: inFlight) {
            pieces.append(piece)
            rest = piece.range.upperBound..<request.upperBound
        }
        return pieces
    }

    /// What is asked of an origin for a gap: one smaller than a block grows to whole blocks, as far as nothing is there.
    package static func roundedOut(
        _ gap: ByteRange, block: Int64, there: ByteRanges, length: Int64
    ) -> ByteRange {
        guard gap.length < block, gap.upperBound <= length else { return gap }
        let first = gap.lowerBound - gap.lowerBound % block
        let last = min(length, (gap.upperBound + block - 1) / block * block)
        return there.gaps(in: first..<last).first { $0.contains(gap.lowerBound) } ?? gap
    }

    /// The first piece of `request`; nil where it is empty. What is held counts before what is in flight.
    package static func first(of request: ByteRange, held: ByteRanges, inFlight: ByteRanges) -> Piece? {
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
