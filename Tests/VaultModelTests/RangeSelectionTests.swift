import SeededRandom
import Testing
import VaultModel

@Suite("Range selection")
struct RangeSelectionTests {
    @Test(
        "Several ranges become parts in the requested order, or a simpler answer",
        arguments: [
            ([.closed(first: 0, last: 0), .closed(first: 2, last: 2)], .several([0..<1, 2..<3])),
            ([.suffix(10), .closed(first: 0, last: 4)], .several([90..<100, 0..<5])),
            ([.closed(first: 0, last: 9), .closed(first: 10, last: 19)], .several([0..<10, 10..<20])),
            ([.closed(first: 0, last: 49), .from(50)], .several([0..<50, 50..<100])),
            ([.closed(first: 0, last: 4), .from(100)], .single(0..<5)),
            ([.from(100), .suffix(3), .suffix(0)], .single(97..<100)),
            ([.from(100), .closed(first: 200, last: 300)], .nothing), ([.suffix(0), .from(.max)], .nothing),
            ([.closed(first: 0, last: 99), .closed(first: 50, last: 149)], .overlapping),
            ([.from(0), .from(0)], .overlapping), ([.suffix(10), .closed(first: 85, last: 90)], .overlapping),
            ([.closed(first: 5, last: 5), .closed(first: 5, last: 5)], .overlapping),
        ] as [([RequestedRange], RangeSelection)])
    func selection(requested: [RequestedRange], expected: RangeSelection) {
        #expect(RangeSelection(requested, length: 100) == expected)
    }

    @Test("An empty representation has no ranges")
    func empty() {
        #expect(RangeSelection([.from(0), .suffix(1)], length: 0) == .nothing)
    }

    @Test("No part is empty or goes past the end, and together they never exceed the whole")
    func bounded() {
        let seed = UInt64.random(in: 0 ... .max)
        print("RangeSelectionTests: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0..<5000 {
            let length = Int64.random(in: 0...40, using: &random)
            let requested: [RequestedRange] = (0..<Int.random(in: 1...6, using: &random)).map { _ in
                let first = Int64.random(in: 0...45, using: &random)
                return switch Int.random(in: 0..<4, using: &random) {
                case 0: .from(first)
                case 1: .suffix(first)
                default: .closed(first: first, last: first + Int64.random(in: 0...5, using: &random))
                }
            }
            let bytes = requested.compactMap { $0.resolved(length: length) }.flatMap(Array.init)
            switch RangeSelection(requested, length: length) {
            case .nothing: #expect(bytes.isEmpty)
            case .single(let range): #expect(Array(range) == bytes)
            case .overlapping: #expect(Set(bytes).count < bytes.count)
            case .several(let parts):
                #expect(parts.flatMap(Array.init) == bytes && Set(bytes).count == bytes.count)
                #expect(parts.allSatisfy { !$0.isEmpty && $0.upperBound <= length })
            }
        }
    }
}
