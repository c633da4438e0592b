import VaultCache
import VaultModel

/// Finds a title's name within its media: `TIT2` of an ID3 tag (ID3v2.2 to 2.4), or `©nam` in the `moov` box of MP4
/// (ISO/IEC 14496-12, QuickTime metadata). Also finds how long an MP4 plays, which is stated in its `mvhd` box.
struct MediaName {
    private let media: MediaBytes

    /// The number of bytes of an ID3 tag that are searched, which is enough because names come before pictures.
    private static let maxTagBytes = 256 << 10
    /// The maximum length of a name in bytes.
    private static let maxNameBytes = 1024
    /// The longest accepted duration, in seconds: a leap year.
    private static let maxSeconds: Int64 = 366 * 86_400

    init(_ media: MediaBytes) { self.media = media }

    /// Returns the name stated in the media; nil if there is none.
    func find() throws -> String? {
        if let tag = try ID3Tag(of: media, upTo: Self.maxTagBytes) {
            let frame = tag.first { $0.id.elementsEqual("TIT2".utf8) || $0.id.elementsEqual("TT2".utf8) }
            return frame?.content(upTo: Self.maxNameBytes).flatMap(Self.text)
        }
        guard let data = try media.box("moov", "udta", "meta", "ilst", "\u{A9}nam", "data") else { return nil }
        // The content has four bytes of type, where 1 means UTF-8, and four of locale, before the text.
        let content = try media.read(data.body.lowerBound, min(Int(data.body.length), Self.maxNameBytes + 8))
        guard content.count > 8, MediaBytes.number(content[0..<4]) == 1 else { return nil }
        return Self.cleaned(String(decoding: content[8...], as: UTF8.self))
    }

    /// Returns how long MP4 media play, in milliseconds; nil if they do not state it, for example because they are
    /// still being written.
    func duration() throws -> Int64? {
        guard let header = try media.box("moov", "mvhd") else { return nil }
        // The content has a version and flags, two times, the timescale (units per second), and the duration in those
        // units. The times and the duration have 64 bits in version 1, and 32 bits in version 0.
        let content = try media.read(header.body.lowerBound, min(Int(header.body.length), 32))
        let isLong = content.first == 1
        let (units, end) = isLong ? (20, 32) : (12, 20)
        guard content.count >= end else { return nil }
        let (scale, count) = (
            MediaBytes.number(content[units..<units + 4]), MediaBytes.number(content[units + 4..<end])
        )
        // All bits set means that the duration is unknown.
        guard scale > 0, count > 0, isLong || count < Int64(UInt32.max) else { return nil }
        let (seconds, rest) = count.quotientAndRemainder(dividingBy: scale)
        guard seconds <= Self.maxSeconds else { return nil }
        let milliseconds = seconds * 1000 + rest * 1000 / scale
        return milliseconds > 0 ? milliseconds : nil
    }

    /// Decodes a string whose first byte states its encoding. If there are several strings, decodes only the first.
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

    /// Returns a name in the form in which the vault stores it: one line without control characters; nil if nothing is
    /// left.
    static func cleaned(_ name: String) -> String? {
        let scalars = name.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }
        let text = String(String.UnicodeScalarView(scalars)).split(separator: " ").joined(separator: " ")
        var kept = text.prefix(DownloadOptions.maxNameLength)
        // A character may have any number of combining accents, so the bytes are limited, too.
        while kept.utf8.count > maxBytes { kept = kept.dropLast() }
        return kept.isEmpty ? nil : String(kept)
    }

    /// The maximum length of a cleaned name in bytes.
    private static let maxBytes = 4 * DownloadOptions.maxNameLength
}
