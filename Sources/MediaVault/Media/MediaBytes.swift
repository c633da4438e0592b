import VaultModel

/// The bytes of media, of which only those that may contain metadata are read.
///
/// It is a value type whose only I/O is reading. Every size stated in the media is checked where it is used.
struct MediaBytes {
    /// The length of the media in bytes.
    let length: Int64
    /// Returns at most `count` bytes from a position; fewer at the end.
    let read: (_ position: Int64, _ count: Int) throws -> [UInt8]

    /// The maximum number of boxes to examine within one box.
    private static let maxBoxes = 256

    /// An MP4 box (ISO/IEC 14496-12).
    struct Box {
        /// The range of the box's content.
        let body: ByteRange
        /// The box's type: four characters of Latin-1.
        let type: String
    }

    /// Returns the MP4 box at a path, which begins at the outermost box; nil if there is none, or if the media are not
    /// MP4.
    func box(_ path: String...) throws -> Box? {
        let head = try read(0, 12)
        guard head.count == 12, head[4..<8].elementsEqual("ftyp".utf8) else { return nil }
        return try box(path, in: Box(body: 0..<length, type: ""))
    }

    /// Returns the MP4 box at a path, which begins within a box; nil if there is none.
    func box(_ path: [String], in outer: Box) throws -> Box? {
        var place = outer
        for type in path {
            guard let inner = try boxes(in: place, upTo: type).last, inner.type == type else { return nil }
            place = inner
        }
        return place
    }

    /// Returns the boxes directly within a box, up to the first one of a type, or the first malformed one.
    func boxes(in outer: Box, upTo type: String? = nil) throws -> [Box] {
        var found: [Box] = []
        var position = outer.body.lowerBound
        // In MP4, the content of a `meta` box begins with a version; in QuickTime it does not.
        if outer.type == "meta", try Self.number(read(position, 4)[...]) == 0 { position += 4 }
        while found.count < Self.maxBoxes, outer.body.upperBound - position >= 8 {
            let head = try read(position, 16)
            guard head.count >= 8 else { break }
            var size = Self.number(head[0..<4])
            var headBytes: Int64 = 8
            if size == 1, head.count == 16 {
                size = Self.number(head[8..<16])
                headBytes = 16
            } else if size == 0 {
                size = outer.body.upperBound - position
            }
            guard size >= headBytes, size <= outer.body.upperBound - position else { break }
            let box = Box(body: position + headBytes..<position + size, type: Self.type(head[4..<8]))
            found.append(box)
            if box.type == type { break }
            position += size
        }
        return found
    }

    /// Returns the first bytes of a box's content, at most `limit`.
    func content(of box: Box, upTo limit: Int) throws -> [UInt8] {
        try read(box.body.lowerBound, Int(min(box.body.length, Int64(limit))))
    }

    /// The same media, of which a long read returns less if not all of it is held: its first half, quarter, and so on.
    var front: MediaBytes {
        MediaBytes(length: length) { position, count in
            var count = count
            while count > 1024 {
                do {
                    return try read(position, count)
                } catch let error as VaultError where error.code == .notHeld {
                    count /= 2
                }
            }
            return try read(position, count)
        }
    }

    private static func type(_ bytes: ArraySlice<UInt8>) -> String {
        String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    /// Returns a big-endian number. A number that needs more than 63 bits becomes negative, so that no check accepts
    /// it.
    static func number(_ bytes: ArraySlice<UInt8>) -> Int64 {
        Int64(bitPattern: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    /// Returns a little-endian number of at most seven bytes.
    static func littleEndian(_ bytes: ArraySlice<UInt8>) -> Int64 {
        bytes.reversed().reduce(0) { $0 << 8 | Int64($1) }
    }
}
