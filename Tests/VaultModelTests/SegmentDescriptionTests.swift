import Testing
import VaultModel

@Suite("Segment description")
struct SegmentDescriptionTests {
    private static func segment(start: Int64 = 0, length: Int64, blockSize: Int = 4096) throws -> SegmentDescription {
        SegmentDescription(
            id: try #require(SegmentID(bytes: Array(repeating: 1, count: 16))),
            representation: try #require(RepresentationID(bytes: Array(repeating: 2, count: 16))), keyNumber: 1,
            blockSize: blockSize, start: start, length: length)
    }

    @Test(
        "Blocks and file size are exact at the edges of a block",
        arguments: [
            (0, 0, 88), (1, 1, 88 + 1 + 16), (4095, 1, 88 + 4095 + 16), (4096, 1, 88 + 4096 + 16),
            (4097, 2, 88 + 4097 + 32),
            (3 * 4096 - 1, 3, 88 + 3 * 4096 - 1 + 48), (3 * 4096, 3, 88 + 3 * 4096 + 48),
            (3 * 4096 + 1, 4, 88 + 3 * 4096 + 1 + 64),
            (8_388_608, 2048, 88 + 8_388_608 + 16 * 2048),
        ] as [(Int64, Int, Int64)])
    func sizes(length: Int64, blocks: Int, fileSize: Int64) throws {
        let segment = try Self.segment(length: length)
        #expect(segment.blockCount == blocks)
        #expect(segment.fileSize == fileSize)
    }

    @Test(
        "Blocks tile the segment and its file, for every block size",
        arguments: SegmentDescription.blockSizes.sorted())
    func tiling(blockSize: Int) throws {
        let size = Int64(blockSize)
        for length in [1, size - 1, size, size + 1, 2 * size - 1, 2 * size, 2 * size + 1, 8_388_608]
        where length <= 8_388_608 {
            let segment = try Self.segment(start: 1_234_567, length: length, blockSize: blockSize)
            var offset = segment.start
            var place = Int64(SegmentDescription.headerByteCount)
            for block in 0..<segment.blockCount {
                let range = segment.range(ofBlock: block)
                #expect(range.lowerBound == offset)
                #expect(!range.isEmpty && range.length <= size)
                #expect(range.length == size || block == segment.blockCount - 1)
                #expect(segment.fileOffset(ofBlock: block) == place)
                #expect(segment.block(holding: range.lowerBound) == block)
                #expect(segment.block(holding: range.upperBound - 1) == block)
                offset = range.upperBound
                place += range.length + Int64(SegmentDescription.tagByteCount)
            }
            #expect(offset == segment.range.upperBound)
            #expect(place == segment.fileSize)
        }
    }

    @Test(
        "A segment is possible only if its start, length and block size are in bounds",
        arguments: [
            (0, 0, 4096, true), (0, 8_388_608, 1_048_576, true), (0, 8_388_609, 4096, false), (0, -1, 4096, false),
            (-1, 1, 4096, false),
            (.max - 8_388_608, 8_388_608, 4096, true), (.max - 8_388_607, 1, 4096, false), (.max, 1, 4096, false),
            (.min, 1, 4096, false),
            (0, .max, 4096, false), (0, 1, 0, false), (0, 1, -4096, false), (0, 1, 2048, false), (0, 1, 4095, false),
            (0, 1, 12_288, false),
            (0, 1, 2_097_152, false), (0, 1, .max, false), (0, 1, .min, false),
        ] as [(Int64, Int64, Int, Bool)])
    func possible(start: Int64, length: Int64, blockSize: Int, isPossible: Bool) throws {
        #expect(try Self.segment(start: start, length: length, blockSize: blockSize).isPossible == isPossible)
    }

    @Test("Block sizes are the powers of two from 4 KiB to 1 MiB")
    func blockSizes() {
        #expect(
            SegmentDescription.blockSizes == [4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288, 1_048_576])
    }

    @Test(
        "The size of a file gives its length, for every block size",
        arguments: SegmentDescription.blockSizes.sorted())
    func lengthOfFile(blockSize: Int) throws {
        let id = try #require(SegmentID(bytes: [UInt8](repeating: 1, count: 16)))
        let representation = try #require(RepresentationID(bytes: [UInt8](repeating: 2, count: 16)))
        let edges = [1, 2, 15, 16, 17, blockSize - 1, blockSize, blockSize + 1, 2 * blockSize, 3 * blockSize - 1]
        for length in edges.map(Int64.init) + [SegmentDescription.maxBytes - 1, SegmentDescription.maxBytes] {
            let segment = SegmentDescription(
                id: id, representation: representation, keyNumber: 1, blockSize: blockSize, start: 0, length: length)
            #expect(SegmentDescription.length(inFileOf: segment.fileSize, blockSize: blockSize) == length)
        }
        for size in [Int64(0), 87, 88, 89, 104] {
            #expect(SegmentDescription.length(inFileOf: size, blockSize: blockSize) == 0)
        }
        #expect(SegmentDescription.length(inFileOf: .max, blockSize: blockSize) == SegmentDescription.maxBytes)
    }
}
