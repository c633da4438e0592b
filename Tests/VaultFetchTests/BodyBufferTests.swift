import Testing

@testable import VaultFetch

@Suite("The body buffer")
struct BodyBufferTests {
    @Test(
        "Bytes come out in order, at most a block at a time",
        arguments: [1, 1000, 16_384, 65_535, 65_536, 65_537, 200_000])
    func order(_ piece: Int) {
        var buffer = BodyBuffer()
        let all = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        var start = 0
        while start < all.count {
            let end = min(start + piece, all.count)
            buffer.append(Array(all[start..<end]).span)
            start = end
        }
        #expect(buffer.count == all.count)
        var out: [UInt8] = []
        while let block = buffer.popFirst() {
            #expect((1...BodyBuffer.blockSize).contains(block.count))
            out += block
        }
        #expect(out == all)
        #expect(buffer.count == 0)
    }

    @Test("An emptied buffer holds nothing")
    func emptied() {
        var buffer = BodyBuffer()
        buffer.append([1, 2].span)
        _ = buffer.removeAll()
        #expect(buffer.count == 0)
        #expect(buffer.popFirst() == nil)
    }
}
