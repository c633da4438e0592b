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
        fileprivate let type: [UInt8]
    }

    /// Returns the MP4 box at a path, which begins at the outermost box; nil if there is none, or if the media are not
    /// MP4.
    func box(_ path: String...) throws -> Box? {
        let head = try read(0, 12)
        guard head.count == 12, head[4..<8].elementsEqual("ftyp".utf8) else { return nil }
        var place = Box(body: 0..<length, type: [])
        for type in path {
            guard let inner = try child(Self.type(type), of: place) else { return nil }
            place = inner
        }
        return place
    }

    private func child(_ type: [UInt8], of outer: Box) throws -> Box? {
        var position = outer.body.lowerBound
        // In MP4, the content of a `meta` box begins with a version; in QuickTime it does not.
        if outer.type == Self.type("meta"), try Self.number(read(position, 4)[...]) == 0 { position += 4 }
        for _ in 0..<Self.maxBoxes where outer.body.upperBound - position >= 8 {
            let head = try read(position, 16)
            guard head.count >= 8 else { return nil }
            var size = Self.number(head[0..<4])
            var headBytes: Int64 = 8
            if size == 1, head.count == 16 {
                size = Self.number(head[8..<16])
                headBytes = 16
            } else if size == 0 {
                size = outer.body.upperBound - position
            }
            guard size >= headBytes, size <= outer.body.upperBound - position else { return nil }
            if head[4..<8].elementsEqual(type) {
                return Box(body: position + headBytes..<position + size, type: type)
            }
            position += size
        }
        return nil
    }

    /// Returns a box type as its four bytes, which are Latin-1.
    private static func type(_ text: String) -> [UInt8] {
        text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    }

    /// Returns a big-endian number. A number that needs more than 63 bits becomes negative, so that no check accepts
    /// it.
    static func number(_ bytes: ArraySlice<UInt8>) -> Int64 {
        Int64(bitPattern: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
