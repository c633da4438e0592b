import Testing
import VaultModel

@testable import VaultCache

@Suite("Load plan")
struct LoadPlanTests {
    @Test("The range 0–1000 with 200–500 and 700–800 held yields five pieces, in order")
    func fivePieces() {
        let pieces = LoadPlan.pieces(of: 0..<1000, held: ByteRanges([200..<500, 700..<800]), inFlight: ByteRanges())
        #expect(pieces == [.gap(0..<200), .held(200..<500), .gap(500..<700), .held(700..<800), .gap(800..<1000)])
    }

    @Test("Bytes in flight are waited for, and held bytes take precedence over them")
    func inFlight() {
        let pieces = LoadPlan.pieces(
            of: 10..<100, held: ByteRanges([20..<30, 45..<50]), inFlight: ByteRanges([25..<60]))
        #expect(
            pieces == [
                .gap(10..<20), .held(20..<30), .inFlight(30..<45), .held(45..<50), .inFlight(50..<60), .gap(60..<100),
            ])
    }

    @Test("For all small ranges a plan covers its request exactly once, and only missing bytes are gaps")
    func exhaustive() {
        let size: Int64 = 5
        let sets = (0..<(1 << size)).map { bits in
            (0..<size).reduce(into: ByteRanges()) { if bits >> $1 & 1 == 1 { $0.insert(contentsOf: $1..<($1 + 1)) } }
        }
        for held in sets {
            for inFlight in sets {
                for first in 0..<size {
                    for end in first...size {
                        check(first..<end, held, inFlight)
                    }
                }
            }
        }
    }

    private func check(_ request: ByteRange, _ held: ByteRanges, _ inFlight: ByteRanges) {
        var position = request.lowerBound
        for piece in LoadPlan.pieces(of: request, held: held, inFlight: inFlight) {
            #expect(piece.range.lowerBound == position && !piece.range.isEmpty)
            for offset in piece.range {
                let expected: LoadPlan.Piece =
                    held.contains(offset)
                    ? .held(piece.range) : inFlight.contains(offset) ? .inFlight(piece.range) : .gap(piece.range)
                #expect(piece == expected, "request \(request), held \(held), in flight \(inFlight)")
            }
            position = piece.range.upperBound
        }
        #expect(position == request.upperBound, "request \(request), held \(held), in flight \(inFlight)")
    }
}
