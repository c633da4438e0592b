import DequeModule
import VaultModel

/// The last bytes of a fetch, as they came: what its readers take before it is sealed, and what waits to be sealed.
struct RecentBytes {
    private struct Chunk {
        let start: Int64
        let bytes: [UInt8]
        var end: Int64 { start + Int64(bytes.count) }
    }

    private var chunks = Deque<Chunk>()

    /// One past the last byte.
    private(set) var end: Int64

    /// The offset of the first byte that is still here.
    var start: Int64 { chunks.first?.start ?? end }

    init(at start: Int64) { end = start }

    mutating func append(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        chunks.append(Chunk(start: end, bytes: bytes))
        end += Int64(bytes.count)
    }

    /// The bytes from `offset` to the end of the chunk that holds it, none past `limit`; nil where it is not here.
    func bytes(from offset: Int64, limit: Int64) -> ArraySlice<UInt8>? {
        guard offset >= start, offset < end, offset < limit else { return nil }
        guard let chunk = chunks.first(where: { $0.end > offset }) else { return nil }
        return chunk.bytes[Int(offset - chunk.start)..<Int(min(limit, chunk.end) - chunk.start)]
    }

    /// Lets go of chunks that lie wholly before `offset`.
    mutating func drop(before offset: Int64) {
        while let first = chunks.first, first.end <= offset { chunks.removeFirst() }
    }
}
