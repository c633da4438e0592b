/// What WAV and AIFF files state about themselves: both are a list of chunks with a name of four letters and a size.
struct ChunkTags {
    private let media: MediaBytes
    /// Whether numbers are little-endian, as in WAV.
    private let isWAV: Bool

    /// The maximum number of chunks to examine.
    private static let maxChunks = 64
    /// The maximum number of bytes of a list of texts to read.
    private static let maxListBytes = 64 << 10
    private static let names = [
        "INAM": "TITLE", "IART": "ARTIST", "IPRD": "ALBUM", "IPRT": "TRACK", "ITRK": "TRACK", "ILNG": "LANGUAGE",
        "NAME": "TITLE", "AUTH": "ARTIST",
    ]

    /// - Parameter head: the first twelve bytes.
    /// - Returns: nil if the media are neither WAV nor AIFF.
    init?(_ media: MediaBytes, beginningWith head: [UInt8]) {
        let (group, kind) = (head.prefix(4), head.dropFirst(8))
        isWAV = ["RIFF", "RF64"].contains { group.elementsEqual($0.utf8) } && kind.elementsEqual("WAVE".utf8)
        let isAIFF = group.elementsEqual("FORM".utf8) && ["AIFF", "AIFC"].contains { kind.elementsEqual($0.utf8) }
        guard isWAV || isAIFF else { return nil }
        self.media = media
    }

    /// Reads what the chunks state.
    func read(into tags: inout MediaTags) throws {
        var position: Int64 = 12
        var texts: [String: String] = [:]
        var bytesPerSecond = 0.0
        defer { tags.take(texts) }
        for _ in 0..<Self.maxChunks {
            let head = try media.read(position, 8)
            guard head.count == 8 else { return }
            let (name, size) = (String(decoding: head.prefix(4), as: UTF8.self), number(head.dropFirst(4)))
            let body = position + 8
            switch name {
            case "fmt ": bytesPerSecond = Double(number(try media.read(body, 12).dropFirst(8)))
            case "data":
                // A file that is longer than 4 GiB, or was written to a pipe, states no size.
                let bytes = min(size, media.length - body)
                tags.duration = MediaTags.duration(Double(bytes), perSecond: bytesPerSecond)
            case "COMM": tags.duration = Self.duration(try media.read(body, 18)[...])
            case "LIST": readTexts(try media.read(body, Int(min(size, Int64(Self.maxListBytes)))), into: &texts)
            case "NAME", "AUTH":
                read(name, try media.read(body, Int(min(size, Int64(MediaTags.maxTextBytes))))[...], into: &texts)
            case "id3 ", "ID3 ": try readTag(body, size, into: &tags)
            default: break
            }
            // A chunk of an odd size is followed by one byte.
            let next = size + size % 2
            guard next <= media.length - body else { return }
            position = body + next
        }
    }

    private func number(_ bytes: ArraySlice<UInt8>) -> Int64 {
        isWAV ? MediaBytes.littleEndian(bytes) : MediaBytes.number(bytes)
    }

    /// Returns the duration in a common chunk of AIFF: the number of frames at its second byte, and at its eighth the
    /// frames per second as a number of 80 bits, of which the first sixteen are the exponent.
    private static func duration(_ chunk: ArraySlice<UInt8>) -> Int64? {
        guard chunk.count == 18 else { return nil }
        let frames = Double(MediaBytes.number(chunk.dropFirst(2).prefix(4)))
        let exponent = Int(MediaBytes.number(chunk.dropFirst(8).prefix(2))) - 16_383
        let mantissa = Double(UInt64(bitPattern: MediaBytes.number(chunk.dropFirst(10))))
        guard (0..<63).contains(exponent) else { return nil }
        return MediaTags.duration(frames, perSecond: mantissa / Double(UInt64(1) << UInt64(63 - exponent)))
    }

    private func readTexts(_ list: [UInt8], into texts: inout [String: String]) {
        guard list.starts(with: "INFO".utf8) else { return }
        var rest = list.dropFirst(4)
        while rest.count > 8 {
            let name = String(decoding: rest.prefix(4), as: UTF8.self)
            let size = Int(number(rest.dropFirst(4).prefix(4)))
            rest = rest.dropFirst(8)
            read(name, rest.prefix(size), into: &texts)
            rest = rest.dropFirst(size + size % 2)
        }
    }

    private func read(_ name: String, _ text: ArraySlice<UInt8>, into texts: inout [String: String]) {
        guard let name = Self.names[name], texts[name] == nil else { return }
        texts[name] = MediaTags.text(text)
    }

    /// Reads an ID3 tag in a chunk.
    private func readTag(_ body: Int64, _ size: Int64, into tags: inout MediaTags) throws {
        let part = MediaBytes(length: min(size, max(0, media.length - body))) { position, count in
            position < size ? try media.read(body + position, Int(min(Int64(count), size - position))) : []
        }
        if let tag = try ID3Tag(of: part, upTo: ID3Tags.maxBytes) { ID3Tags(tag).read(into: &tags) }
    }
}
