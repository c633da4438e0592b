/// Bytes of a body that nobody has asked for yet, in blocks as large as a reader takes at once: a byte is copied into
/// its block and handed on with it.
struct BodyBuffer {
    /// The most bytes of one block.
    static let blockSize = 64 * 1024

    /// The bytes that wait.
    private(set) var count = 0
    private var blocks: [[UInt8]] = []

    /// Adds bytes at the end.
    mutating func append(_ bytes: Span<UInt8>) {
        var start = 0
        while start < bytes.count {
            if blocks.last.map({ $0.count < Self.blockSize }) != true {
                var block: [UInt8] = []
                block.reserveCapacity(Self.blockSize)
                blocks.append(block)
            }
            let end = min(start + Self.blockSize - blocks[blocks.count - 1].count, bytes.count)
            unsafe bytes.extracting(start..<end).withUnsafeBufferPointer {
                unsafe blocks[blocks.count - 1].append(contentsOf: $0)
            }
            start = end
        }
        count += bytes.count
    }

    /// Takes the oldest block, from one byte to ``blockSize``; nil where none waits.
    mutating func popFirst() -> [UInt8]? {
        guard !blocks.isEmpty else { return nil }
        let block = blocks.removeFirst()
        count -= block.count
        return Self.fitted(block)
    }

    /// Takes everything.
    mutating func removeAll() -> [[UInt8]] {
        defer { (blocks, count) = ([], 0) }
        return blocks.map(Self.fitted)
    }

    /// A block that is not nearly full moves into memory of its own size: it may be kept for long.
    private static func fitted(_ block: [UInt8]) -> [UInt8] {
        guard block.count < blockSize - blockSize / 8 else { return block }
        return unsafe block.withUnsafeBufferPointer { unsafe Array($0) }
    }
}
