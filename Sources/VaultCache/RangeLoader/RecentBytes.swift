import DequeModule

/// A fetch's most recently received bytes, in the chunks in which they arrived.
///
/// Readers take the bytes without waiting for them to be sealed, and the sealer takes them to seal them.
struct RecentBytes {
    private struct Chunk {
        let start: Int64
        let bytes: [UInt8]
        var end: Int64 { start + Int64(bytes.count) }
    }

    private var chunks = Deque<Chunk>()

    /// One past the last byte received.
    private(set) var end: Int64

    /// The offset of the first byte that is still in memory.
    var start: Int64 { chunks.first?.start ?? end }

    init(at start: Int64) { end = start }

    mutating func append(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        chunks.append(Chunk(start: end, bytes: bytes))
        end += Int64(bytes.count)
    }

    /// Returns the bytes from `offset` to the end of its chunk, but not past `limit`; nil if they are not in memory.
    func bytes(from offset: Int64, limit: Int64) -> ArraySlice<UInt8>? {
        guard offset >= start, offset < end, offset < limit else { return nil }
        guard let chunk = chunks.first(where: { $0.end > offset }) else { return nil }
        return chunk.bytes[Int(offset - chunk.start)..<Int(min(limit, chunk.end) - chunk.start)]
    }

    /// Frees chunks that end at or before `offset`.
    mutating func drop(before offset: Int64) {
        while let first = chunks.first, first.end <= offset { chunks.removeFirst() }
    }
}
