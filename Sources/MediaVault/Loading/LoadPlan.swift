package import VaultModel

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
