import VaultModel

/// The comments of an Ogg file that contains Opus or Vorbis, such as `TITLE=A song` (RFC 3533, RFC 7845 §5.2).
///
/// They are the second packet of the file's first stream that is not a Skeleton stream, and may span several pages.
struct OggComments {
    /// The comments in file order, up to the first one that is cut short.
    let all: [ArraySlice<UInt8>]

    /// The maximum number of pages to examine.
    private static let maxPages = 1024
    /// The maximum number of comments.
    private static let maxCount = 1024
    /// The number of bytes in a page before the sizes of the page's parts.
    private static let headBytes = 27
    /// The possible first bytes of a comment packet.
    private static let kinds = [Array("OpusTags".utf8), [3] + Array("vorbis".utf8)]

    /// Reads the comments; nil if the media are not an Ogg file of this kind, or if the comments take up more than
    /// `limit` bytes.
    init?(of media: MediaBytes, upTo limit: Int) throws {
        guard let packet = try Self.secondPacket(of: media, upTo: limit),
            let kind = Self.kinds.first(where: packet.starts)
        else { return nil }
        var rest = packet.dropFirst(kind.count)
        // The encoder's name comes before the comments.
        guard Self.takeText(&rest) != nil, let count = Self.takeNumber(&rest) else { return nil }
        var all: [ArraySlice<UInt8>] = []
        while all.count < min(count, Self.maxCount), let text = Self.takeText(&rest) { all.append(text) }
        self.all = all
    }

    /// Returns the values of all comments with a name. The name's case is ignored.
    func values(_ name: String) -> [ArraySlice<UInt8>] {
        let start = Array((name + "=").utf8)
        return all.filter { $0.prefix(start.count).map(\.asciiUppercased) == start }.map { $0.dropFirst(start.count) }
    }

    // MARK: Packets

    private static func secondPacket(of media: MediaBytes, upTo limit: Int) throws -> [UInt8]? {
        var (position, packets): (Int64, Int) = (0, 0)
        var stream: ArraySlice<UInt8>?
        var packet: [UInt8] = []
        for _ in 0..<maxPages {
            let head = try media.read(position, headBytes)
            guard head.count == headBytes, head.starts(with: "OggS\0".utf8) else { return nil }
            let sizes = try media.read(position + Int64(headBytes), Int(head[26]))
            guard sizes.count == Int(head[26]) else { return nil }
            var body = position + Int64(headBytes + sizes.count)
            position = body + sizes.reduce(0) { $0 + Int64($1) }
            // A Skeleton stream comes before the streams that it describes, so it is skipped.
            if stream == nil, try media.read(body, 8).elementsEqual("fishead\0".utf8) { continue }
            // Pages of other streams may lie between the pages of the first stream.
            stream = stream ?? head[14..<18]
            guard stream?.elementsEqual(head[14..<18]) == true else { continue }
            // A part of 255 bytes continues in the next part, and a shorter part ends its packet.
            var run = 0
            for (index, size) in sizes.enumerated() {
                run += Int(size)
                guard size < 255 || index == sizes.count - 1 else { continue }
                if packets == 1 {
                    guard packet.count + run <= limit else { return nil }
                    let more = try media.read(body, run)
                    guard more.count == run else { return nil }
                    packet += more
                    if size < 255 { return packet }
                }
                body += Int64(run)
                run = 0
                if size < 255 { packets += 1 }
            }
        }
        return nil
    }

    // MARK: Numbers and strings

    /// Reads a little-endian number of four bytes, and removes it from `rest`.
    private static func takeNumber(_ rest: inout ArraySlice<UInt8>) -> Int? {
        guard rest.count >= 4 else { return nil }
        defer { rest = rest.dropFirst(4) }
        return rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    private static func takeText(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard let count = takeNumber(&rest), count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}

extension UInt8 {
    fileprivate var asciiUppercased: UInt8 { (0x61...0x7A).contains(self) ? self - 0x20 : self }
}
