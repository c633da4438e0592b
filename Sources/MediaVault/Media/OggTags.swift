/// What an Ogg file that contains Opus, Vorbis or FLAC states about itself: comments, and its length.
struct OggTags {
    let comments: VorbisComments
    private let stream: OggStream
    /// The samples per second in which positions are stated.
    private let rate: Double
    /// The number of samples at the beginning that are not played.
    private let skipped: Int64

    /// The maximum number of bytes in the comments: enough for a picture in base64 and the text beside it.
    static let maxBytes = 6 << 20

    /// Reads the comments; nil if the media are not an Ogg file of this kind, or if the comments take up more than
    /// `limit` bytes.
    init?(of media: MediaBytes, upTo limit: Int) throws {
        guard let stream = try OggStream(of: media, upTo: limit) else { return nil }
        let (head, packet) = (stream.head, stream.comments)
        let comments: VorbisComments?
        if packet.starts(with: "OpusTags".utf8) {
            // RFC 7845 §5.1: whatever the input had, positions are stated at 48 kHz.
            comments = VorbisComments(packet.dropFirst(8))
            (rate, skipped) = (48_000, MediaBytes.littleEndian(head.dropFirst(10).prefix(2)))
        } else if packet.starts(with: [3] + Array("vorbis".utf8)) {
            comments = VorbisComments(packet.dropFirst(7))
            (rate, skipped) = (Double(MediaBytes.littleEndian(head.dropFirst(12).prefix(4))), 0)
        } else if head.starts(with: [0x7F] + Array("FLAC".utf8)), packet.first.map({ $0 & 0x7F }) == 4 {
            // RFC 9639 §10.1: the first packet ends with the block of information, whose head has four bytes.
            comments = VorbisComments(packet.dropFirst(4))
            (rate, skipped) = (FLACTags.Information(head.dropFirst(17))?.rate ?? 0, 0)
        } else {
            return nil
        }
        guard let comments else { return nil }
        (self.comments, self.stream) = (comments, stream)
    }

    /// Takes what the comments state, and reads the length.
    func read(_ media: MediaBytes, into tags: inout MediaTags) throws {
        comments.read(into: &tags)
        guard let end = try stream.end(in: media), end > skipped else { return }
        tags.duration = MediaTags.duration(Double(end - skipped), perSecond: rate)
    }
}
