/// How long an MP3 file plays: the number of frames that a Xing, Info or VBRI header states, or else what its first
/// frames take of the file.
struct MP3Length {
    /// The duration in milliseconds.
    let milliseconds: Int64

    /// The number of bytes in which the first frame is searched, and frames are counted.
    private static let maxSearch = 64 << 10

    /// Reads the length; nil if no sound is found.
    ///
    /// - Parameter start: where the sound begins: behind the ID3 tag, if there is one. Without a tag, the sound begins
    ///   with the file.
    init?(of media: MediaBytes, from start: Int64) throws {
        let bytes = try media.read(start, Self.maxSearch)
        let places = start > 0 ? bytes.indices : bytes.indices.prefix(1)
        guard let offset = places.first(where: { Self.isSound(bytes[$0...]) }), let head = MP3Frame(bytes[offset...])
        else { return nil }
        let stated = Self.stated(bytes[offset...], head)
        let length = media.length - start - Int64(offset)
        let frames = stated.map { Double($0) } ?? Self.frames(bytes[offset...], in: length)
        guard let duration = MediaTags.duration(frames * head.samples, perSecond: head.sampleRate) else { return nil }
        milliseconds = duration
    }

    /// Returns whether bytes begin with a frame, and go on with another one of the same kind.
    private static func isSound(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard let frame = MP3Frame(bytes) else { return false }
        return MP3Frame(bytes.dropFirst(frame.byteCount))?.sampleRate == frame.sampleRate
    }

    /// Returns the number of frames in a number of bytes that begins with these ones.
    private static func frames(_ bytes: ArraySlice<UInt8>, in length: Int64) -> Double {
        var (count, taken) = (0, 0)
        while let frame = MP3Frame(bytes.dropFirst(taken)) {
            count += 1
            taken += frame.byteCount
        }
        return Double(length) / Double(taken) * Double(count)
    }

    /// Returns the number of frames that the first frame states in place of sound; nil if it states none.
    private static func stated(_ bytes: ArraySlice<UInt8>, _ head: MP3Frame) -> Int64? {
        let xing = bytes.dropFirst(4 + head.sideBytes).prefix(12)
        let vbri = bytes.dropFirst(4 + 32).prefix(18)
        var count: Int64 = 0
        if xing.starts(with: "Xing".utf8) || xing.starts(with: "Info".utf8) {
            let flags = MediaBytes.number(xing.dropFirst(4).prefix(4))
            if flags & 1 == 1 { count = MediaBytes.number(xing.dropFirst(8)) }
        } else if vbri.starts(with: "VBRI".utf8) {
            count = MediaBytes.number(vbri.dropFirst(14))
        }
        return count > 0 ? count : nil
    }
}

/// What the first four bytes of a frame of layer III state (ISO/IEC 11172-3 §2.4.1.3, ISO/IEC 13818-3, MPEG 2.5).
struct MP3Frame {
    /// The samples per second.
    let sampleRate: Double
    /// The number of samples in the frame.
    let samples: Double
    /// The number of bytes in the frame.
    let byteCount: Int
    /// The number of bytes between these four and a Xing header.
    let sideBytes: Int

    private static let rates = [44_100, 48_000, 32_000]
    private static let bitRates1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
    private static let bitRates2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]

    init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.first == 0xFF, bytes.count >= 4 else { return nil }
        let head = Array(bytes.prefix(4))
        let (version, layer) = (head[1] >> 3 & 3, head[1] >> 1 & 3)
        let (rate, bits) = (Int(head[2] >> 2 & 3), Int(head[2] >> 4))
        guard head[1] >= 0xE0, version != 1, layer == 1, rate < 3, (1...14).contains(bits) else { return nil }
        let (isFirst, isMono) = (version == 3, head[3] >> 6 == 3)
        let hertz = Self.rates[rate] / (isFirst ? 1 : version == 2 ? 2 : 4)
        let bitRate = 1000 * (isFirst ? Self.bitRates1[bits] : Self.bitRates2[bits])
        sampleRate = Double(hertz)
        samples = isFirst ? 1152 : 576
        byteCount = (isFirst ? 144 : 72) * bitRate / hertz + Int(head[2] >> 1 & 1)
        sideBytes = isFirst ? (isMono ? 17 : 32) : (isMono ? 9 : 17)
    }
}
