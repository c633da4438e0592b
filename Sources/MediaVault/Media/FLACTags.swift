/// What a FLAC file states about itself (RFC 9639 §8): its comments, and its length.
struct FLACTags {
    private let media: MediaBytes
    private let start: Int64

    /// The maximum number of metadata blocks to examine.
    private static let maxBlocks = 128
    /// The maximum number of bytes of comments to read.
    private static let maxCommentBytes = 1 << 20

    /// - Parameter start: where the file begins: behind an ID3 tag, if there is one.
    init(_ media: MediaBytes, from start: Int64) { (self.media, self.start) = (media, start) }

    /// Reads what the metadata blocks state.
    func read(into tags: inout MediaTags) throws {
        var position = start + 4
        for _ in 0..<Self.maxBlocks {
            let head = try media.read(position, 4)
            guard head.count == 4 else { return }
            let size = Int(MediaBytes.number(head[1..<4]))
            let body = position + 4
            switch head[0] & 0x7F {
            case 0: tags.duration = Information(try media.read(body, min(size, 18))[...])?.duration ?? tags.duration
            case 4: VorbisComments(try media.front.read(body, min(size, Self.maxCommentBytes))[...])?.read(into: &tags)
            default: break
            }
            guard head[0] & 0x80 == 0 else { return }
            position = body + Int64(size)
        }
    }

    /// The block that describes the sound: a sample rate of 20 bits at its tenth byte, and a number of samples of 36.
    struct Information {
        let rate: Double
        private let samples: Double

        /// Reads a block; nil if it is cut short.
        init?(_ block: ArraySlice<UInt8>) {
            let bytes = block.dropFirst(10).prefix(8)
            guard bytes.count == 8 else { return nil }
            let packed = UInt64(bitPattern: MediaBytes.number(bytes))
            (rate, samples) = (Double(packed >> 44), Double(packed & 0xF_FFFF_FFFF))
        }

        var duration: Int64? { MediaTags.duration(samples, perSecond: rate) }
    }
}
