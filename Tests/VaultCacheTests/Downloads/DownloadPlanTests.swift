import SeededRandom
import Testing
import VaultModel

@testable import VaultCache

@Suite("Which bytes each connection of a download fetches")
struct DownloadPlanTests {
    private let piece = DownloadPlan.minPieceSize

    private func pieces(of gaps: [ByteRange], connections: Int) -> [ByteRange] {
        Array(IteratorSequence(DownloadPlan(missing: gaps, connections: connections)))
    }

    @Test("A single connection requests each gap as a whole")
    func one() {
        let gaps: [ByteRange] = [0..<5, 10..<100_000_000]
        #expect(pieces(of: gaps, connections: 1) == gaps)
    }

    @Test("A gap that fits one piece is not split, and no gaps yield no pieces")
    func small() {
        #expect(pieces(of: [3..<piece], connections: 4) == [3..<piece])
        #expect(pieces(of: [], connections: 4).isEmpty && pieces(of: [7..<7], connections: 1).isEmpty)
    }

    @Test("A large resource is split into larger pieces, so that few requests are sent")
    func large() {
        let pieces = pieces(of: [0..<Int64(10) << 30], connections: 4)
        #expect(pieces.allSatisfy { $0.length <= 8 * piece } && pieces.count == 160)
    }

    @Test("A claimed length of a petabyte or of the maximum is split only as pieces are needed, and takes no memory")
    func claimed() {
        for length in [Int64(1) << 50, .max] {
            var plan = DownloadPlan(missing: [0..<length], connections: 2)
            var end: Int64 = 0
            for _ in 0..<1000 {
                let piece = plan.next()
                #expect(piece == end..<(end + 8 * self.piece))
                end = piece?.upperBound ?? end
            }
            // The plan keeps only the one remaining gap.
            var kept = ""
            dump(plan, to: &kept)
            #expect(kept.utf8.count < 1000, "\(kept.prefix(1000))")
        }
    }

    @Test("A piece that is taken back is the next one if nothing before it is missing")
    func takeBack() {
        var plan = DownloadPlan(missing: [0..<(4 * piece)], connections: 4)
        let taken = [plan.next(), plan.next(), plan.next()]
        #expect(taken == [0..<piece, piece..<(2 * piece), (2 * piece)..<(3 * piece)])
        plan.takeBack(piece..<(2 * piece))
        plan.takeBack(0..<0)
        #expect(Array(IteratorSequence(plan)) == [piece..<(2 * piece), (3 * piece)..<(4 * piece)])
    }

    @Test("Pieces cover the gaps, in order, without overlap")
    func property() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            var gaps: [ByteRange] = []
            var end: Int64 = 0
            for _ in 0..<Int.random(in: 0...5, using: &random) {
                let start = end + .random(in: 1...100_000_000, using: &random)
                end = start + .random(in: 1...500_000_000, using: &random)
                gaps.append(start..<end)
            }
            let connections = Int.random(in: 1...16, using: &random)
            let pieces = pieces(of: gaps, connections: connections)
            #expect(pieces.reduce(0) { $0 + $1.length } == gaps.reduce(0) { $0 + $1.length }, "seed \(seed)")
            #expect(pieces.reduce(into: ByteRanges()) { $0.insert(contentsOf: $1) } == ByteRanges(gaps), "seed \(seed)")
            #expect(zip(pieces, pieces.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound }, "seed \(seed)")
        }
    }
}
