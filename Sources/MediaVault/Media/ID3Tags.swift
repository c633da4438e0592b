import VaultModel

/// What an ID3 tag states about the media (ID3v2.2 to 2.4, and the chapter frames of the ID3v2 Chapter Frame Addendum).
struct ID3Tags {
    private let tag: ID3Tag

    /// The maximum number of bytes of a tag to read: chapters may stand behind a picture, and have pictures themselves.
    static let maxBytes = 6 << 20
    /// The maximum number of frames to examine.
    private static let maxFrames = 4096
    /// The maximum number of bytes of a chapter to examine.
    private static let maxChapterBytes = 256 << 10
    /// The names of the frames that contain one text.
    private static let names = [
        "TIT2": "TITLE", "TT2": "TITLE", "TPE1": "ARTIST", "TP1": "ARTIST", "TPE2": "ALBUMARTIST", "TP2": "ALBUMARTIST",
        "TALB": "ALBUM", "TAL": "ALBUM", "TRCK": "TRACK", "TRK": "TRACK", "TPOS": "DISC", "TPA": "DISC",
        "TLAN": "LANGUAGE", "TLA": "LANGUAGE", "TLEN": "LENGTH", "TLE": "LENGTH",
    ]

    init(_ tag: ID3Tag) { self.tag = tag }

    /// Takes what the tag states.
    func read(into tags: inout MediaTags) {
        var texts: [String: String] = [:]
        for frame in tag.prefix(Self.maxFrames) where frame.isWhole {
            let id = String(decoding: frame.id, as: UTF8.self)
            if let name = Self.names[id] {
                texts[name] = texts[name] ?? frame.content(upTo: MediaTags.maxTextBytes).flatMap(Self.text)
            } else if id == "TXXX" || id == "TXX" {
                guard let (name, text) = frame.content(upTo: MediaTags.maxTextBytes).flatMap(Self.named) else {
                    continue
                }
                texts[name] = texts[name] ?? text
            } else if id == "CHAP", let chapter = chapter(frame) {
                tags.add(chapter)
            }
        }
        tags.take(texts)
        tags.duration = tags.duration ?? texts["LENGTH"].flatMap { Int64($0) }.flatMap(MediaTags.duration)
    }

    /// Returns the chapter of a frame: an id that ends with a zero byte, two times in milliseconds, two offsets, and
    /// frames with the chapter's name.
    private func chapter(_ frame: ID3Tag.Frame) -> MediaChapter? {
        guard let content = frame.content(upTo: Self.maxChapterBytes), let end = content.firstIndex(of: 0) else {
            return nil
        }
        let times = content[(end + 1)...]
        guard times.count >= 16 else { return nil }
        let parts = ID3Tag(times.dropFirst(16), within: tag)
        let name = parts.prefix(Self.maxFrames).first { $0.id.elementsEqual("TIT2".utf8) }
        return MediaChapter(
            start: MediaBytes.number(times.prefix(4)),
            name: name?.content(upTo: MediaTags.maxTextBytes).flatMap(Self.text))
    }

    // MARK: Texts

    /// Decodes a string whose first byte states its encoding. If there are several strings, decodes only the first.
    static func text(_ content: ArraySlice<UInt8>) -> String? {
        strings(content).first.flatMap(MediaName.cleaned)
    }

    /// Decodes a name, which is returned in capitals, and a text.
    private static func named(_ content: ArraySlice<UInt8>) -> (String, String)? {
        let strings = strings(content)
        guard strings.count > 1, let text = MediaName.cleaned(strings[1]) else { return nil }
        return (strings[0].uppercased(), text)
    }

    /// Decodes strings with zeros between them. The first byte states their encoding: Latin-1, UTF-16 with a byte order
    /// mark, UTF-16 or UTF-8.
    private static func strings(_ content: ArraySlice<UInt8>) -> [String] {
        guard let encoding = content.first else { return [] }
        let bytes = Array(content.dropFirst())
        guard encoding == 1 || encoding == 2 else {
            return bytes.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false).map { part in
                encoding == 0
                    ? String(String.UnicodeScalarView(part.map { Unicode.Scalar($0) }))
                    : String(decoding: part, as: UTF8.self)
            }
        }
        let isLittle = encoding == 1 && bytes.starts(with: [0xFF, 0xFE])
        let units: [UInt16] = stride(from: 0, to: bytes.count - 1, by: 2).map { index in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isLittle ? second << 8 | first : first << 8 | second
        }
        return units.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false).map { part in
            String(decoding: part.drop { $0 == 0xFEFF }, as: UTF16.self)
        }
    }
}
