import Foundation

@testable import MediaVault

/// Media with pictures in them, for tables of tests: valid ones, and ones with a single fault.
enum PicturedMedia {
    /// The first bytes of a JPEG, and as many more as are wanted.
    static func jpeg(_ count: Int = 24) -> [UInt8] {
        let rest = (4..<max(4, count)).map { number -> UInt8 in number % 7 == 0 ? 0xFF : UInt8(number % 5) }
        return [0xFF, 0xD8, 0xFF, 0xE0] + rest
    }

    static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13]
    static let webp: [UInt8] = Array("RIFF".utf8) + [4, 0, 0, 0] + Array("WEBPVP8 ".utf8)
    static let svg = Array(#"<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>"#.utf8)

    /// Returns a number with its highest byte first.
    static func big(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    /// Returns a number with seven bits in each byte.
    static func safe(_ number: Int) -> [UInt8] { (0..<4).reversed().map { UInt8(number >> ($0 * 7) & 0x7F) } }

    // MARK: MP4

    /// Returns a box.
    ///
    /// - Parameter size: the size that it states; nil for its own.
    static func box(_ type: String, _ content: [UInt8], size: Int? = nil) -> [UInt8] {
        big(size ?? content.count + 8, 4) + type.utf8 + content
    }

    /// Returns an MP4 with a picture.
    ///
    /// - Parameters:
    ///   - kind: the type that it states: 13 for JPEG, 14 for PNG.
    ///   - size: the size that the box of the picture states; nil for its own.
    static func film(_ picture: [UInt8], kind: Int = 13, size: Int? = nil, before: [UInt8] = []) -> [UInt8] {
        let data = box("data", big(kind, 4) + big(0, 4) + picture, size: size)
        let meta = box("meta", [0, 0, 0, 0] + box("hdlr", [1, 2]) + box("ilst", box("covr", data)))
        let movie = box("moov", box("mvhd", []) + box("udta", meta))
        return box("ftyp", Array("isom".utf8)) + before + movie
    }

    // MARK: ID3

    /// Returns a tag, and the first bytes of sound.
    static func tag(_ version: UInt8, flags: UInt8 = 0, size: Int? = nil, _ frames: [UInt8]) -> [UInt8] {
        let parts: [[UInt8]] = [
            Array("ID3".utf8), [version, 0, flags], safe(size ?? frames.count), frames, [0xFF, 0xFB],
        ]
        return parts.flatMap { $0 }
    }

    static func frame(
        _ id: String, _ version: UInt8, flags: UInt8 = 0, size: Int? = nil, _ content: [UInt8]
    ) -> [UInt8] {
        let stated = size ?? content.count
        return switch version {
        case 2: Array(id.utf8) + big(stated, 3) + content
        case 3: Array(id.utf8) + big(stated, 4) + [0, flags] + content
        default: Array(id.utf8) + safe(stated) + [0, flags] + content
        }
    }

    /// Returns the content of a frame with a picture.
    ///
    /// - Parameters:
    ///   - use: the type of the picture; 3 is the front cover.
    ///   - text: its description, with its end, in the encoding with this number.
    static func picture(
        _ picture: [UInt8], use: UInt8 = 3, encoding: UInt8 = 0, text: [UInt8] = [0], isShort: Bool = false
    ) -> [UInt8] {
        let type = Array((isShort ? "JPG" : "image/jpeg\0").utf8)
        let parts: [[UInt8]] = [[encoding], type, [use], text, picture]
        return parts.flatMap { $0 }
    }

    /// Inserts a zero after each byte of ones that would look like sound.
    static func unsynchronised(_ bytes: [UInt8]) -> [UInt8] {
        var sent: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            sent.append(byte)
            let next = index + 1 < bytes.count ? bytes[index + 1] : 0
            if byte == 0xFF, next >= 0xE0 || next == 0 { sent.append(0) }
        }
        return sent
    }

    // MARK: FLAC

    static func block(_ type: UInt8, _ content: [UInt8], size: Int? = nil) -> [UInt8] {
        [type] + big(size ?? content.count, 3) + content
    }

    static func flacPicture(_ picture: [UInt8], use: Int = 3, text: String = "front", size: Int? = nil) -> [UInt8] {
        let type = Array("image/jpeg".utf8)
        let parts: [[UInt8]] = [
            big(use, 4), big(type.count, 4), type, big(text.utf8.count, 4), Array(text.utf8), big(0, 16),
            big(size ?? picture.count, 4), picture,
        ]
        return parts.flatMap { $0 }
    }

    static func flac(_ blocks: [UInt8]...) -> [UInt8] {
        let first: [[UInt8]] = [Array("fLaC".utf8), block(0, big(0, 34))]
        return (first + blocks + [block(0x81, [0, 0])]).flatMap { $0 }
    }

    // MARK: Ogg

    /// Returns a page.
    ///
    /// - Parameters:
    ///   - sizes: the sizes of the packet parts on the page.
    ///   - stream: the number of its stream.
    static func oggPage(_ sizes: [UInt8], _ body: [UInt8], stream: Int = 7) -> [UInt8] {
        let parts: [[UInt8]] = [
            Array("OggS".utf8), [0, 0], big(0, 8), big(stream, 4), big(0, 8), [UInt8(sizes.count)], sizes, body,
        ]
        return parts.flatMap { $0 }
    }

    /// Returns the pages of a stream.
    ///
    /// - Parameter other: a page of another stream, which follows each page.
    static func ogg(_ packets: [[UInt8]], partsOnPage: Int = 255, other: [UInt8] = []) -> [UInt8] {
        let sizes = packets.flatMap { [UInt8](repeating: 255, count: $0.count / 255) + [UInt8($0.count % 255)] }
        var (pages, rest): ([UInt8], ArraySlice<UInt8>) = ([], packets.flatMap { $0 }[...])
        for first in stride(from: 0, to: sizes.count, by: partsOnPage) {
            let parts = Array(sizes[first...].prefix(partsOnPage))
            let count = parts.reduce(0) { $0 + Int($1) }
            pages += oggPage(parts, Array(rest.prefix(count))) + other
            rest = rest.dropFirst(count)
        }
        return pages
    }

    /// Returns the packet with comments.
    ///
    /// - Parameter count: the stated number; nil for the actual number.
    static func comments(_ texts: [String], kind: [UInt8] = Array("OpusTags".utf8), count: Int? = nil) -> [UInt8] {
        let text = { (text: String) in Array(big(text.utf8.count, 4).reversed()) + Array(text.utf8) }
        return kind + text("encoder") + big(count ?? texts.count, 4).reversed() + texts.flatMap(text)
    }

    /// Returns the comment with a picture.
    static func oggPicture(_ picture: [UInt8], use: Int = 3, name: String = "METADATA_BLOCK_PICTURE") -> String {
        name + "=" + Data(flacPicture(picture, use: use)).base64EncodedString()
    }
}
