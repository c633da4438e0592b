/// The first stream of an Ogg file that is not a Skeleton stream (RFC 3533): its first two packets, and where it ends.
struct OggStream {
    /// The first packet, which describes the stream.
    private(set) var head: [UInt8] = []
    /// The second packet, which contains the comments.
    private(set) var comments: [UInt8] = []
    /// The number that all pages of the stream have.
    private let number: ArraySlice<UInt8>

    /// The maximum number of pages to examine.
    private static let maxPages = 1024
    /// The number of bytes in a page before the sizes of the page's parts.
    private static let headBytes = 27
    /// The number of bytes at the end of the file in which its last page is searched. A page has less than 64 KiB.
    private static let endBytes = 128 << 10

    /// Reads the packets; nil if the media are not an Ogg file, or if a packet takes up more than `limit` bytes.
    init?(of media: MediaBytes, upTo limit: Int) throws {
        var (position, packets): (Int64, [[UInt8]]) = (0, [[]])
        var stream: ArraySlice<UInt8>?
        for _ in 0..<Self.maxPages where packets.count <= 2 {
            let head = try media.read(position, Self.headBytes)
            guard head.count == Self.headBytes, head.starts(with: "OggS\0".utf8) else { return nil }
            let sizes = try media.read(position + Int64(Self.headBytes), Int(head[26]))
            guard sizes.count == Int(head[26]) else { return nil }
            var body = position + Int64(Self.headBytes + sizes.count)
            position = body + sizes.reduce(0) { $0 + Int64($1) }
            // A Skeleton stream comes before the streams that it describes, so it is skipped.
            if stream == nil, try media.read(body, 8).elementsEqual("fishead\0".utf8) { continue }
            // Pages of other streams may lie between the pages of the first stream.
            stream = stream ?? head[14..<18]
            guard stream?.elementsEqual(head[14..<18]) == true else { continue }
            // A part of 255 bytes continues in the next part, and a shorter part ends its packet.
            var run = 0
            for (index, size) in sizes.enumerated() where packets.count <= 2 {
                run += Int(size)
                guard size < 255 || index == sizes.count - 1 else { continue }
                guard packets[packets.count - 1].count + run <= limit else { return nil }
                let more = try media.read(body, run)
                guard more.count == run else { return nil }
                packets[packets.count - 1] += more
                body += Int64(run)
                run = 0
                if size < 255 { packets.append([]) }
            }
        }
        guard packets.count > 2, let stream else { return nil }
        (head, comments, number) = (packets[0], packets[1], stream)
    }

    /// Returns the position that the stream's last page states, in the units of its kind; nil if it is not found.
    func end(in media: MediaBytes) throws -> Int64? {
        let bytes = try media.read(max(0, media.length - Int64(Self.endBytes)), Self.endBytes)
        let last = bytes.indices.dropLast(Self.headBytes - 1).last { index in
            let head = bytes[index..<index + Self.headBytes]
            // A page in which no packet ends states no position, but has all bits set.
            return head.starts(with: "OggS\0".utf8) && head.dropFirst(14).starts(with: number)
                && MediaBytes.number(head.dropFirst(6).prefix(8)) != -1
        }
        // The position is little-endian.
        return last.map { MediaBytes.number(Array(bytes[$0 + 6..<$0 + 14].reversed())[...]) }
    }
}
