import VaultModel

@testable import MediaVault

/// Builds small media, piece by piece, that state facts about themselves.
enum StatingMedia {
    static func media(_ bytes: [UInt8], heldUpTo end: Int = .max) -> MediaBytes {
        MediaBytes(length: Int64(bytes.count)) { position, count in
            guard Int(position) + count <= end else { throw VaultError(.notHeld, "not held") }
            return Array(bytes[Int(position)...].prefix(count))
        }
    }

    static func big(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    static func little(_ number: Int, _ count: Int = 4) -> [UInt8] { big(number, count).reversed() }

    // MARK: Matroska

    /// Returns an EBML element whose size has eight bytes.
    ///
    /// - Parameter size: the size that it states; nil for its own.
    static func element(_ id: Int, _ body: [UInt8], size: Int? = nil) -> [UInt8] {
        let idBytes = id > 0xFF_FFFF ? 4 : id > 0xFFFF ? 3 : id > 0xFF ? 2 : 1
        return big(id, idBytes) + [1] + big(size ?? body.count, 7) + body
    }

    static func element(_ id: Int, _ text: String) -> [UInt8] { element(id, Array(text.utf8)) }

    static func element(_ id: Int, _ number: Int) -> [UInt8] { element(id, big(number, 4)) }

    /// Returns a tag of Matroska.
    ///
    /// - Parameter chapter: the number of the chapter that it is about; nil if it is about the whole.
    static func tag(level: Int, of chapter: Int? = nil, _ members: [(String, String)]) -> [UInt8] {
        let place = element(0x68CA, level) + (chapter.map { element(0x63C4, $0) } ?? [])
        let texts = members.map { element(0x67C8, element(0x45A3, $0.0) + element(0x4487, $0.1)) }
        return element(0x7373, element(0x63C0, place) + texts.flatMap(\.self))
    }

    static func chapter(_ name: String, at nanoseconds: Int, isHidden: Bool = false) -> [UInt8] {
        let hidden = isHidden ? element(0x98, 1) : []
        return element(0xB6, element(0x91, big(nanoseconds, 8)) + hidden + element(0x80, element(0x85, name)))
    }

    static func matroska(_ parts: [UInt8]...) -> [UInt8] {
        element(0x1A45_DFA3, element(0x4282, "matroska")) + element(0x1853_8067, parts.flatMap(\.self))
    }

    // MARK: MP4

    static func box(_ type: String, _ body: [UInt8]...) -> [UInt8] {
        let body = body.flatMap(\.self)
        return big(body.count + 8, 4) + type.unicodeScalars.map { UInt8($0.value) } + body
    }

    static func item(_ type: String, _ text: String) -> [UInt8] { item(type, kind: 1, Array(text.utf8)) }

    static func item(_ type: String, kind: Int, _ value: [UInt8]) -> [UInt8] {
        box(type, box("data", big(kind, 4), big(0, 4), value))
    }

    static func mp4(_ movie: [UInt8]..., before: [UInt8] = []) -> [UInt8] {
        box("ftyp", Array("isom".utf8), big(0, 4)) + before + box("moov", movie.flatMap(\.self))
    }

    /// Returns a header with times: `mvhd` or `mdhd`.
    static func times(_ type: String, scale: Int, duration: Int, rest: [UInt8] = []) -> [UInt8] {
        box(type, big(0, 12), big(scale, 4), big(duration, 4), rest)
    }

    /// Returns a track: its number, kind and language, and more boxes.
    static func track(_ number: Int, _ kind: String, language: String = "und", _ more: [UInt8]...) -> [UInt8] {
        let packed = language.utf8.reduce(0) { $0 << 5 | (Int($1) - 0x60) }
        let media = box(
            "mdia", times("mdhd", scale: 1000, duration: 0, rest: big(packed, 2)),
            box("hdlr", big(0, 8), Array(kind.utf8)), more.first ?? [])
        return box("trak", box("tkhd", big(0, 12), big(number, 4), big(0, 8)), media, more.last ?? [])
    }

    // MARK: Comments

    static func comments(_ texts: [String], count: Int? = nil) -> [UInt8] {
        little(4) + Array("test".utf8) + little(count ?? texts.count)
            + texts.flatMap { little($0.utf8.count) + Array($0.utf8) }
    }

    // MARK: ID3

    /// Returns a frame of version 2.3.
    static func frame(_ id: String, _ content: [UInt8]) -> [UInt8] {
        Array(id.utf8) + big(content.count, 4) + [0, 0] + content
    }

    static func frame(_ id: String, _ text: String) -> [UInt8] { frame(id, [3] + Array(text.utf8)) }

    static func chapterFrame(_ id: String, at milliseconds: Int, _ frames: [UInt8]) -> [UInt8] {
        frame("CHAP", Array(id.utf8) + [0] + big(milliseconds, 4) + big(0, 12) + frames)
    }

    static func id3(_ frames: [UInt8]...) -> [UInt8] {
        let body = frames.flatMap(\.self)
        let size = (0..<4).reversed().map { UInt8(body.count >> (7 * $0) & 0x7F) }
        return Array("ID3".utf8) + [3, 0, 0] + size + body
    }

    // MARK: Chunks

    /// Returns a chunk of WAV, or of AIFF if `isAIFF` is true.
    static func chunk(_ name: String, _ body: [UInt8], isAIFF: Bool = false) -> [UInt8] {
        Array(name.utf8) + (isAIFF ? big(body.count, 4) : little(body.count)) + body
            + (body.count % 2 == 0 ? [] : [0])
    }
}
