/// A contiguous cached byte range of one representation, as the index knows it.
///
/// The file is a header of 88 bytes, then blocks: each `blockSize` bytes of plaintext (the last one perhaps fewer),
/// sealed, with a tag of 16 bytes. The arithmetic of that layout lives here and nowhere else.
public struct SegmentDescription: Hashable, Sendable {
    /// The bytes of a segment file before its first block.
    public static let headerByteCount = 88
    /// The bytes that sealing adds to a block.
    public static let tagByteCount = 16
    /// The most plaintext a segment holds: 8 MiB.
    public static let mostBytes: Int64 = 8_388_608
    /// The sizes a block may have: powers of two from 4 KiB to 1 MiB.
    public static let blockSizes = Set((12...20).map { 1 << $0 })

    /// The segment's name, and its file's.
    public let id: SegmentID
    /// The representation it belongs to.
    public let representation: RepresentationID
    /// Which of its resource's keys it is sealed under.
    public let keyNumber: Int
    /// Plaintext bytes of a full block.
    public let blockSize: Int
    /// The offset of its first byte in the representation.
    public let start: Int64
    /// The number of plaintext bytes it holds.
    public var length: Int64

    /// A segment of these facts; see ``isPossible``.
    public init(
        id: SegmentID, representation: RepresentationID, keyNumber: Int, blockSize: Int, start: Int64, length: Int64
    ) {
        self.id = id
        self.representation = representation
        self.keyNumber = keyNumber
        self.blockSize = blockSize
        self.start = start
        self.length = length
    }

    /// The bytes of the representation that it holds.
    public var range: ByteRange { start..<(start + length) }

    /// The number of blocks.
    public var blockCount: Int { Int((length + Int64(blockSize) - 1) / Int64(blockSize)) }

    /// The size of the whole file in bytes.
    public var fileSize: Int64 {
        Int64(Self.headerByteCount) + length + Int64(Self.tagByteCount) * Int64(blockCount)
    }

    /// What the file takes on a disk.
    public var diskSize: Int64 { Self.diskSize(ofFile: fileSize) }

    /// What a file of this size takes on a disk, which gives whole units of 4 KiB.
    public static func diskSize(ofFile size: Int64) -> Int64 {
        size > 0 && size < .max - diskUnit ? (size + diskUnit - 1) / diskUnit * diskUnit : size
    }

    /// The least that file systems give; few give more.
    public static let diskUnit: Int64 = 4096

    /// The plaintext bytes that a file of this size can hold: a block that ends within its tag holds none.
    public static func length(inFileOf size: Int64, blockSize: Int) -> Int64 {
        let sealed = max(0, size - Int64(headerByteCount))
        let (blocks, rest) = sealed.quotientAndRemainder(dividingBy: Int64(blockSize + tagByteCount))
        guard blocks <= mostBytes / Int64(blockSize) else { return mostBytes }
        return min(mostBytes, blocks * Int64(blockSize) + max(0, rest - Int64(tagByteCount)))
    }

    /// Where block `index` begins in the file.
    public func fileOffset(ofBlock index: Int) -> Int64 {
        Int64(Self.headerByteCount) + Int64(index) * Int64(blockSize + Self.tagByteCount)
    }

    /// The bytes of the representation that block `index` holds.
    public func range(ofBlock index: Int) -> ByteRange {
        let first = start + Int64(index) * Int64(blockSize)
        return first..<min(first + Int64(blockSize), start + length)
    }

    /// The block that holds `offset`, an offset within ``range``.
    public func block(holding offset: Int64) -> Int { Int((offset - start) / Int64(blockSize)) }

    /// Whether the numbers can be those of a segment at all; rows of a damaged index need not be.
    public var isPossible: Bool {
        Self.blockSizes.contains(blockSize) && start >= 0 && (0...Self.mostBytes).contains(length)
            && start <= .max - Self.mostBytes
    }
}
