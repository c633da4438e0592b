import VaultModel

/// Finds the cover within media: `APIC` of an ID3 tag (`PIC` in ID3v2.2), `covr` in the `moov` box of MP4, or the
/// picture block of FLAC (RFC 9639 §8.8), which is the comment `METADATA_BLOCK_PICTURE` in Ogg.
///
/// If the media have several pictures, the cover is the first one labelled as the front cover, or else the first one.
struct MediaPicture {
    private let media: MediaBytes

    /// The maximum size of a picture within media, in bytes. Podcast covers have 3000 pixels a side.
    static let maxBytes = 4 << 20
    /// The number of bytes of an ID3 tag that are searched, enough for a picture and the text before it.
    private static let maxTagBytes = maxBytes + maxTextBytes
    /// The maximum number of bytes in a picture's description, and in the text of a tag.
    private static let maxTextBytes = 256 << 10
    /// The maximum number of bytes in an Ogg file's comments: enough for a picture in base64 and the text beside it.
    private static let maxCommentBytes = (maxBytes + maxTextBytes) / 3 * 4 + maxTextBytes
    /// The maximum number of FLAC blocks to examine.
    private static let maxBlocks = 128
    /// The picture type that means a front cover, in both ID3 and FLAC.
    private static let frontCover: Int64 = 3

    init(_ media: MediaBytes) { self.media = media }

    /// Returns the cover; nil if the media have no picture of a supported type.
    func find() throws -> Picture? {
        if let tag = try ID3Tag(of: media, upTo: Self.maxTagBytes) {
            return Self.choice(tag.lazy.compactMap(Self.picture))
        }
        let start = try media.read(0, 4)
        if start.elementsEqual("fLaC".utf8) { return try pictureInFLAC() }
        if start.elementsEqual("OggS".utf8) { return try pictureInOgg() }
        guard let data = try media.box("moov", "udta", "meta", "ilst", "covr", "data"),
            // The content has four bytes of type, which may be wrong, and four of locale, before the picture.
            (1...Int64(Self.maxBytes)).contains(data.body.length - 8)
        else { return nil }
        return Picture(try media.read(data.body.lowerBound + 8, Int(data.body.length) - 8))
    }

    /// A picture with the number of its type, which says what it shows.
    private typealias Labelled = (use: Int64, picture: Picture)

    private static func choice(_ pictures: some Sequence<Labelled>) -> Picture? {
        var first: Picture?
        for found in pictures {
            if found.use == frontCover { return found.picture }
            first = first ?? found.picture
        }
        return first
    }

    // MARK: ID3

    private static func picture(in frame: ID3Tag.Frame) -> Labelled? {
        let isShort = frame.id.elementsEqual("PIC".utf8)
        guard frame.isWhole, isShort || frame.id.elementsEqual("APIC".utf8),
            let content = frame.content(upTo: maxTagBytes), let encoding = content.first
        else { return nil }
        // The content has the encoding of the description, the image format, the picture type, the description, and the
        // picture.
        var rest = content.dropFirst()
        if isShort {
            rest = rest.dropFirst(3)
        } else {
            guard let end = rest.prefix(maxTextBytes).firstIndex(of: 0) else { return nil }
            rest = rest[(end + 1)...]
        }
        guard let use = rest.first, let bytes = afterText(rest.dropFirst(), isWide: encoding == 1 || encoding == 2),
            bytes.count <= maxBytes, let picture = Picture(bytes)
        else { return nil }
        return (Int64(use), picture)
    }

    /// Returns the bytes after a zero-terminated string; nil if the string does not end.
    ///
    /// - Parameter isWide: whether each unit of the string has two bytes.
    private static func afterText(_ bytes: ArraySlice<UInt8>, isWide: Bool) -> ArraySlice<UInt8>? {
        let text = bytes.prefix(maxTextBytes)
        guard isWide else { return text.firstIndex(of: 0).map { bytes[($0 + 1)...] } }
        let units = stride(from: text.startIndex, to: text.endIndex - 1, by: 2)
        return units.first { text[$0] == 0 && text[$0 + 1] == 0 }.map { bytes[($0 + 2)...] }
    }

    // MARK: FLAC

    private func pictureInFLAC() throws -> Picture? {
        var pictures: [Labelled] = []
        var position: Int64 = 4
        for _ in 0..<Self.maxBlocks {
            // The highest bit marks the last block, and the other bits are the block's type. Three bytes of length
            // follow.
            let head = try media.read(position, 4)
            guard head.count == 4 else { break }
            let body = position + 4..<position + 4 + MediaBytes.number(head[1...])
            guard body.upperBound <= media.length else { break }
            if head[0] & 0x7F == 6, let found = try picture(inBlock: body) {
                pictures.append(found)
                if found.use == Self.frontCover { break }
            }
            guard head[0] & 0x80 == 0 else { break }
            position = body.upperBound
        }
        return Self.choice(pictures)
    }

    private func picture(inBlock block: ByteRange) throws -> Labelled? {
        var position = block.lowerBound
        func number() throws -> Int64? {
            let bytes = try media.read(position, 4)
            guard bytes.count == 4, position + 4 <= block.upperBound else { return nil }
            position += 4
            return MediaBytes.number(bytes[...])
        }
        guard let use = try number(), let typeBytes = try number() else { return nil }
        position += typeBytes
        guard position < block.upperBound, let textBytes = try number() else { return nil }
        // Skip the description, and the width, height, depth and number of colours.
        position += textBytes + 16
        guard position < block.upperBound, let count = try number(), (1...Int64(Self.maxBytes)).contains(count),
            count <= block.upperBound - position, let picture = Picture(try media.read(position, Int(count)))
        else { return nil }
        return (use, picture)
    }

    // MARK: Ogg

    private func pictureInOgg() throws -> Picture? {
        guard let comments = try OggTags(of: media, upTo: Self.maxCommentBytes)?.comments else { return nil }
        return Self.choice(comments.values("METADATA_BLOCK_PICTURE").lazy.compactMap(Self.picture(inComment:)))
    }

    /// Returns the picture in a base64-encoded FLAC block.
    private static func picture(inComment value: ArraySlice<UInt8>) -> Labelled? {
        guard let block = Base64.decode(String(decoding: value, as: UTF8.self)) else { return nil }
        let bytes = MediaBytes(length: Int64(block.count)) { position, count in
            position < block.count ? Array(block[Int(position)...].prefix(count)) : []
        }
        return (try? MediaPicture(bytes).picture(inBlock: 0..<bytes.length)) ?? nil
    }
}
