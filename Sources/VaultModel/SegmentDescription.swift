/// A contiguous range of held bytes of one representation, as the index describes it.
///
/// The file has a header of 88 bytes, followed by blocks. Each block is `blockSize` bytes of plaintext (fewer in the
/// last block), sealed, with a tag of 16 bytes. The arithmetic for that layout is here and nowhere else.
public struct SegmentDescription: Hashable, Sendable {
    /// The size of the header before a segment file's first block, in bytes.
    public static let headerByteCount = 88
    /// The number of bytes that sealing adds to a block.
    public static let tagByteCount = 16
    /// The maximum number of plaintext bytes in a segment: 8 MiB.
    public static let maxBytes: Int64 = 8_388_608
    /// The allowed block sizes: powers of two from 4 KiB to 1 MiB.
    public static let blockSizes = Set((12...20).map { 1 << $0 })

    /// The id of the segment and of its file.
    public let id: SegmentID
    /// The representation that the segment belongs to.
    public let representation: RepresentationID
    /// The number of the resource key under which the segment is sealed.
    public let keyNumber: Int
    /// The number of plaintext bytes in a full block.
    public let blockSize: Int
    /// The offset of the segment's first byte in the representation.
    public let start: Int64
    /// The number of plaintext bytes.
    public var length: Int64

    /// Creates a description without checking it; see ``isPossible``.
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

    /// The bytes of the representation that the segment holds.
    public var range: ByteRange { start..<(start + length) }

    /// The number of blocks.
    public var blockCount: Int { Int((length + Int64(blockSize) - 1) / Int64(blockSize)) }

    /// The size of the whole file in bytes.
    public var fileSize: Int64 {
        Int64(Self.headerByteCount) + length + Int64(Self.tagByteCount) * Int64(blockCount)
    }

    /// The space that the file takes up on disk, in bytes.
    public var diskSize: Int64 { Self.diskSize(ofFile: fileSize) }

    /// Returns the space that a file of a given size takes up on disk, in bytes rounded up to units of 4 KiB.
    public static func diskSize(ofFile size: Int64) -> Int64 {
        size > 0 && size < .max - diskUnit ? (size + diskUnit - 1) / diskUnit * diskUnit : size
    }

    /// The allocation unit of most file systems, in bytes; few have a larger one.
    public static let diskUnit: Int64 = 4096

    /// Returns the number of plaintext bytes in a file of a given size; a block that ends within its tag has none.
    public static func length(inFileOf size: Int64, blockSize: Int) -> Int64 {
        let sealed = max(0, size - Int64(headerByteCount))
        let (blocks, rest) = sealed.quotientAndRemainder(dividingBy: Int64(blockSize + tagByteCount))
        guard blocks <= maxBytes / Int64(blockSize) else { return maxBytes }
        return min(maxBytes, blocks * Int64(blockSize) + max(0, rest - Int64(tagByteCount)))
    }

    /// Returns the offset of block `index` in the file.
    public func fileOffset(ofBlock index: Int) -> Int64 {
        Int64(Self.headerByteCount) + Int64(index) * Int64(blockSize + Self.tagByteCount)
    }

    /// Returns the bytes of the representation that block `index` holds.
    public func range(ofBlock index: Int) -> ByteRange {
        let first = start + Int64(index) * Int64(blockSize)
        return first..<min(first + Int64(blockSize), start + length)
    }

    /// Returns the index of the block that holds `offset`, which must be within ``range``.
    public func block(holding offset: Int64) -> Int { Int((offset - start) / Int64(blockSize)) }

    /// Whether a segment can have these values; a damaged index may contain others.
    public var isPossible: Bool {
        Self.blockSizes.contains(blockSize) && start >= 0 && (0...Self.maxBytes).contains(length)
            && start <= .max - Self.maxBytes
    }
}
