import Testing
import VaultModel

/// Every set of bytes in a universe of eight against every range of it, compared with a plain set of offsets.
@Suite("Byte ranges")
struct ByteRangesTests {
    private static let universe: Int64 = 8
    private static let ranges: [ByteRange] = (0...universe).flatMap { lower in (lower...universe).map { lower..<$0 } }

    /// The offsets that the bits of `mask` represent.
    private static func offsets(_ mask: Int) -> Set<Int64> {
        Set((0..<universe).filter { mask >> Int($0) & 1 == 1 })
    }

    /// The maximal runs of a set of offsets, found by iteration.
    private static func runs(_ offsets: Set<Int64>) -> [ByteRange] {
        var runs: [ByteRange] = []
        for offset in offsets.sorted() {
            if let last = runs.last, last.upperBound == offset {
                runs[runs.count - 1] = last.lowerBound..<(offset + 1)
            } else {
                runs.append(offset..<(offset + 1))
            }
        }
        return runs
    }

    private static func ranges(of offsets: Set<Int64>) -> ByteRanges {
        ByteRanges(offsets.sorted().map { $0..<($0 + 1) })
    }

    @Test("Runs are sorted, disjoint and merged if they touch, and each byte is counted once")
    func runs() {
        for mask in 0..<(1 << Int(Self.universe)) {
            let offsets = Self.offsets(mask)
            let set = Self.ranges(of: offsets)
            #expect(Array(set.ranges) == Self.runs(offsets))
            #expect(set.byteCount == Int64(offsets.count))
        }
    }

    @Test("Gaps and overlaps of every range are exact")
    func gapsAndOverlaps() {
        for mask in 0..<(1 << Int(Self.universe)) {
            let offsets = Self.offsets(mask)
            let set = Self.ranges(of: offsets)
            for range in Self.ranges {
                #expect(set.gaps(in: range) == Self.runs(Set(range).subtracting(offsets)))
                #expect(set.overlaps(with: range) == Self.runs(Set(range).intersection(offsets)))
            }
        }
    }

    @Test("The run at an offset and the first held byte from it are exact")
    func runAndFirstHeld() {
        for mask in 0..<(1 << Int(Self.universe)) {
            let offsets = Self.offsets(mask)
            let set = Self.ranges(of: offsets)
            for offset in -1...(Self.universe + 1) {
                #expect(set.run(at: offset) == Self.runs(offsets).first { $0.contains(offset) })
                #expect(set.firstHeld(from: offset) == offsets.filter { $0 >= offset }.min())
            }
        }
    }

    @Test("Inserting and removing any two ranges gives the same result as a set of offsets")
    func insertAndRemove() {
        for first in Self.ranges {
            for second in Self.ranges {
                var set = ByteRanges(first)
                set.insert(contentsOf: second)
                #expect(Array(set.ranges) == Self.runs(Set(first).union(second)))
                set.remove(contentsOf: first)
                #expect(Array(set.ranges) == Self.runs(Set(second).subtracting(first)))
            }
        }
    }

    @Test("Offsets at the end of 63 bits do not overflow")
    func extremes() {
        let set = ByteRanges([0..<10, (Int64.max - 10)..<Int64.max])
        #expect(set.byteCount == 20)
        #expect(set.gaps(in: 0..<Int64.max) == [10..<(Int64.max - 10)])
        #expect(set.run(at: .max - 1) == (Int64.max - 10)..<Int64.max)
        #expect(set.run(at: .max) == nil)
        #expect(set.firstHeld(from: 10) == Int64.max - 10)
        #expect(set.firstHeld(from: .max) == nil)
    }
}
