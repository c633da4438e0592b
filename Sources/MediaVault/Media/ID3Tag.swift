/// The frames of an ID3 tag at the beginning of media (ID3v2.2 to 2.4), in the order in which they occur.
struct ID3Tag: Sequence, IteratorProtocol {
    /// One frame of the tag: it states one fact about the media.
    struct Frame {
        /// The frame's id: four letters in versions 2.3 and 2.4, three in version 2.2.
        let id: ArraySlice<UInt8>
        /// The frame's bytes that are present. If the tag is cut short, they are fewer than the frame states.
        fileprivate let stored: ArraySlice<UInt8>
        /// Whether all the bytes that the frame states are present.
        let isWhole: Bool
        fileprivate let format: Format

        /// Returns the frame's content; nil if it is compressed or encrypted.
        ///
        /// - Parameter limit: the maximum number of stored bytes to look at.
        func content(upTo limit: Int) -> ArraySlice<UInt8>? {
            guard !format.isUnreadable else { return nil }
            let bytes = stored.prefix(limit).dropFirst(format.extraBytes)
            return format.isUnsynchronised ? ID3Tag.synchronised(bytes)[...] : bytes
        }
    }

    /// What a frame's flags state about the form of its bytes.
    fileprivate struct Format {
        var isUnsynchronised = false
        /// Whether the content is compressed or encrypted.
        var isUnreadable = false
        /// The number of bytes before the content, which may be a group id and a length.
        var extraBytes = 0

        init(_ version: UInt8, flags: UInt8, tagIsUnsynchronised: Bool) {
            switch version {
            case 3: (isUnreadable, extraBytes) = (flags & 0xC0 != 0, flags & 0x20 == 0 ? 0 : 1)
            case 4:
                isUnsynchronised = tagIsUnsynchronised || flags & 0x02 != 0
                isUnreadable = flags & 0x0C != 0
                extraBytes = (flags & 0x40 == 0 ? 0 : 1) + (flags & 0x01 == 0 ? 0 : 4)
            default: break
            }
        }
    }

    private let version: UInt8
    private let isUnsynchronised: Bool
    private var rest: ArraySlice<UInt8>
    /// The number of bytes that the tag takes in the media, as it states.
    let byteCount: Int64

    /// Reads the beginning of a tag; nil if there is no tag.
    ///
    /// - Parameter limit: the maximum number of bytes of the tag to read.
    init?(of media: MediaBytes, upTo limit: Int) throws {
        let head = try media.read(0, 10)
        guard head.count == 10, head.starts(with: "ID3".utf8), (2...4).contains(head[3]) else { return nil }
        let (version, flags) = (head[3], head[5])
        var tag = try media.read(10, Swift.min(Self.synchsafe(head[6..<10]), limit))[...]
        if flags & 0x80 != 0, version < 4 { tag = Self.synchronised(tag)[...] }
        if flags & 0x40 != 0 {
            // In version 2.2, the flag stands for a compression method that was never defined.
            guard version > 2, tag.count >= 4 else { return nil }
            let size =
                version == 4 ? Self.synchsafe(tag.prefix(4)) : Int(MediaBytes.number(tag.prefix(4))) + 4
            tag = tag.dropFirst(size)
        }
        (self.version, isUnsynchronised, rest) = (version, flags & 0x80 != 0, tag)
        // A footer is as long as the header.
        byteCount = 10 + Int64(Self.synchsafe(head[6..<10])) + (version == 4 && flags & 0x10 != 0 ? 10 : 0)
    }

    /// Reads the frames within a frame's content, such as the name of a chapter.
    init(_ content: ArraySlice<UInt8>, within outer: ID3Tag) {
        (version, isUnsynchronised, rest) = (outer.version, false, content)
        byteCount = Int64(content.count)
    }

    /// Returns the next frame; nil at the end.
    mutating func next() -> Frame? {
        let (idBytes, headBytes) = version == 2 ? (3, 6) : (4, 10)
        guard rest.count > headBytes, rest.first != 0 else { return nil }
        let head = rest.prefix(headBytes)
        let sizeBytes = head.dropFirst(idBytes).prefix(idBytes)
        let size = version == 4 ? Self.synchsafe(sizeBytes) : Int(MediaBytes.number(sizeBytes))
        let stored = rest.dropFirst(headBytes).prefix(size)
        rest = rest.dropFirst(headBytes).dropFirst(size)
        return Frame(
            id: head.prefix(idBytes), stored: stored, isWhole: stored.count == size,
            format: Format(version, flags: head.last ?? 0, tagIsUnsynchronised: isUnsynchronised))
    }

    /// Returns a number that is encoded in seven bits per byte.
    private static func synchsafe(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 7 | Int($1 & 0x7F) } }

    /// Removes the zero bytes that were inserted to keep others from looking like the beginning of an audio frame
    /// (ID3v2.4 §6.1).
    private static func synchronised(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var last: UInt8 = 0
        for byte in bytes {
            if byte != 0 || last != 0xFF { result.append(byte) }
            last = byte
        }
        return result
    }
}
