import VaultModel
import VaultStorage

/// Finds the name of a title within its media: `TIT2` of an ID3 tag (ID3v2.2 to 2.4), or `©nam` in the `moov` box of
/// MP4 (ISO/IEC 14496-12, QuickTime metadata); and how long an MP4 plays, in its `mvhd` box.
///
/// Pure, but for the bytes that it asks for. Every size is bounded by where it is read.
struct MediaName {
    /// The length of the media in bytes.
    let length: Int64
    /// Returns at most so many bytes from a position; fewer at the end.
    let read: (_ position: Int64, _ count: Int) throws -> [UInt8]

    /// How much of an ID3 tag is searched: names come before pictures.
    private static let maxTagBytes = 256 << 10
    /// The most boxes that are looked at in one box.
    private static let maxBoxes = 256
    /// The most bytes of a name.
    private static let maxNameBytes = 1024
    /// The longest time that media plays, in seconds: a year.
    private static let maxSeconds: Int64 = 366 * 86_400

    /// Returns the name; nil if there is none.
    func find() throws -> String? {
        let head = try read(0, 12)
        if head.starts(with: "ID3".utf8) { return try nameInTag(head) }
        guard head.count == 12, head[4..<8].elementsEqual("ftyp".utf8) else { return nil }
        var place: Box? = Box(body: 0..<length, type: [])
        for type in ["moov", "udta", "meta", "ilst", "\u{A9}nam", "data"] {
            guard let outer = place else { return nil }
            place = try child(Self.type(type), of: outer)
        }
        guard let data = place else { return nil }
        // Four bytes of type, of which 1 is UTF-8, and four of locale.
        let content = try read(data.body.lowerBound, min(Int(data.body.length), Self.maxNameBytes + 8))
        guard content.count > 8, Self.number(content[0..<4]) == 1 else { return nil }
        return Self.cleaned(String(decoding: content[8...], as: UTF8.self))
    }

    // MARK: MP4

    /// Returns how long MP4 media plays, in milliseconds; nil if it does not say it, as while it is being written.
    func duration() throws -> Int64? {
        let head = try read(0, 12)
        guard head.count == 12, head[4..<8].elementsEqual("ftyp".utf8),
            let movie = try child(Self.type("moov"), of: Box(body: 0..<length, type: [])),
            let header = try child(Self.type("mvhd"), of: movie)
        else { return nil }
        // A version and flags, two times, the units of a second, and the duration in these. Version 1 has 64 bits for
        // the times and the duration, version 0 has 32.
        let content = try read(header.body.lowerBound, min(Int(header.body.length), 32))
        let isLong = content.first == 1
        let (units, end) = isLong ? (20, 32) : (12, 20)
        guard content.count >= end else { return nil }
        let (scale, count) = (Self.number(content[units..<units + 4]), Self.number(content[units + 4..<end]))
        // All ones stand for an unknown duration.
        guard scale > 0, count > 0, isLong || count < Int64(UInt32.max) else { return nil }
        let (seconds, rest) = count.quotientAndRemainder(dividingBy: scale)
        guard seconds <= Self.maxSeconds else { return nil }
        let milliseconds = seconds * 1000 + rest * 1000 / scale
        return milliseconds > 0 ? milliseconds : nil
    }

    private struct Box {
        let body: ByteRange
        let type: [UInt8]
    }

    /// Box types are four bytes of Latin-1.
    private static func type(_ text: String) -> [UInt8] {
        text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    }

    private func child(_ type: [UInt8], of outer: Box) throws -> Box? {
        var position = outer.body.lowerBound
        // In MP4, `meta` begins with a version; in QuickTime it does not.
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

    /// Returns a number with its highest byte first; one beyond 63 bits is negative, which no check accepts.
    private static func number(_ bytes: ArraySlice<UInt8>) -> Int64 {
        Int64(bitPattern: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    // MARK: ID3

    private func nameInTag(_ head: [UInt8]) throws -> String? {
        guard head.count >= 10, (2...4).contains(head[3]) else { return nil }
        let (version, flags) = (head[3], head[5])
        var tag = try read(10, min(Self.synchsafe(head[6..<10]), Self.maxTagBytes))[...]
        if flags & 0x80 != 0, version < 4 { tag = Self.synchronised(tag)[...] }
        if flags & 0x40 != 0, version > 2 {
            guard tag.count >= 4 else { return nil }
            let size = version == 4 ? Self.synchsafe(tag.prefix(4)) : Int(Self.number(tag.prefix(4))) + 4
            tag = tag.dropFirst(size)
        }
        let (nameBytes, headBytes) = version == 2 ? (3, 6) : (4, 10)
        while tag.count > headBytes, tag.first != 0 {
            let frame = tag.prefix(headBytes)
            let sizeBytes = frame.dropFirst(nameBytes).prefix(nameBytes)
            let size = version == 4 ? Self.synchsafe(sizeBytes) : Int(Self.number(sizeBytes))
            tag = tag.dropFirst(headBytes)
            if frame.starts(with: (version == 2 ? "TT2" : "TIT2").utf8) {
                let isUnsynchronised = version == 4 && (frame.last ?? 0) & 0x02 != 0
                let content = tag.prefix(min(size, Self.maxNameBytes))
                return Self.text(isUnsynchronised ? Self.synchronised(content)[...] : content)
            }
            tag = tag.dropFirst(size)
        }
        return nil
    }

    /// Returns a number of which each byte has seven bits.
    private static func synchsafe(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 7 | Int($1 & 0x7F) } }

    /// Removes the zeros that keep text from looking like the beginning of a frame of sound (ID3v2.4 §6.1).
    private static func synchronised(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        for byte in bytes where byte != 0 || result.last != 0xFF { result.append(byte) }
        return result
    }

    /// Returns a text with its encoding in the first byte; of several, the first.
    private static func text(_ content: ArraySlice<UInt8>) -> String? {
        guard let encoding = content.first else { return nil }
        let bytes = Array(content.dropFirst())
        switch encoding {
        case 0: return cleaned(String(String.UnicodeScalarView(bytes.prefix { $0 != 0 }.map { Unicode.Scalar($0) })))
        case 1, 2:
            let isLittle = encoding == 1 && bytes.starts(with: [0xFF, 0xFE])
            let units: [UInt16] = stride(from: 0, to: bytes.count - 1, by: 2).map { index in
                let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
                return isLittle ? second << 8 | first : first << 8 | second
            }
            return cleaned(String(decoding: units.prefix { $0 != 0 }.drop { $0 == 0xFEFF }, as: UTF16.self))
        default: return cleaned(String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
        }
    }

    /// Returns a name as it is kept: one line, without control characters; nil if nothing is left.
    static func cleaned(_ name: String) -> String? {
        let scalars = name.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }
        let text = String(String.UnicodeScalarView(scalars)).split(separator: " ").joined(separator: " ")
        var kept = text.prefix(DownloadOptions.maxNameLength)
        // A character may have any number of accents.
        while kept.utf8.count > maxBytes { kept = kept.dropLast() }
        return kept.isEmpty ? nil : String(kept)
    }

    /// The most bytes of a name.
    private static let maxBytes = 4 * DownloadOptions.maxNameLength
}

extension MediaName {
    /// Returns the name in media that is held whole, and how long that plays; nil for what it does not say. Blocks.
    static func held(
        _ resource: NamedResource, in store: VaultStore
    ) throws -> (name: String?, duration: Int64?) {
        var source = try ExportSource(store, resource.id, resource.reference.url)
        let length = source.length
        let media = MediaName(length: length) { position, count in
            var bytes: [UInt8] = []
            while bytes.count < count, position + Int64(bytes.count) < length {
                bytes += try source.bytes(at: position + Int64(bytes.count), upTo: count - bytes.count, of: store)
            }
            return Array(bytes.prefix(count))
        }
        return (try media.find(), try media.duration())
    }
}
