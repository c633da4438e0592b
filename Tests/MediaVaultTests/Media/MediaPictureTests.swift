import SeededRandom
import Testing
import VaultModel

@testable import MediaVault

@Suite("Pictures within media", .timeLimit(.minutes(5)))
struct MediaPictureTests {
    private typealias Media = PicturedMedia

    private static func picture(in bytes: [UInt8], length: Int64? = nil) throws -> [UInt8]? {
        try MediaPicture(
            MediaBytes(length: length ?? Int64(bytes.count)) { position, count in
                #expect(position >= 0 && (0...MediaPicture.maxBytes + 256 << 10).contains(count))
                return position < bytes.count ? Array(bytes[Int(position)...].prefix(count)) : []
            }
        ).find()?.bytes
    }

    @Test(
        "A picture is what its first bytes say, whatever else is said of it",
        arguments: [
            (Media.jpeg(), .jpeg), (Media.png, .png), (Media.webp, .webp), (Media.svg, nil),
            (Array("<html><img src=x onerror=1>".utf8), nil), (Array("GIF89a".utf8), nil),
            (Array("RIFF1234WAVE".utf8), nil),
            ([0xFF, 0xD8], nil), ([], nil), (Array(" ".utf8) + Media.png, nil),
        ] as [([UInt8], PictureType?)])
    func kinds(bytes: [UInt8], type: PictureType?) { #expect(PictureType(of: bytes) == type) }

    // MARK: MP4

    @Test("The picture of an MP4 is in its covr box, before or after the media")
    func mp4() throws {
        let media = Media.big(1, 4) + Array("mdat".utf8) + Media.big(16 + 5, 8) + [1, 2, 3, 4, 5]
        #expect(try Self.picture(in: Media.film(Media.jpeg())) == Media.jpeg())
        #expect(try Self.picture(in: Media.film(Media.png, kind: 14, before: media)) == Media.png)
        // Some programs state no type.
        #expect(try Self.picture(in: Media.film(Media.webp, kind: 0)) == Media.webp)
    }

    @Test("A picture of an MP4 that is none, or has a size that is none, is not given")
    func hostileMP4() throws {
        for bytes in [
            Media.film(Media.svg), Media.film([]), Media.film(Media.jpeg(), size: 7),
            Media.film(Media.jpeg(), size: 1 << 31),
            Media.film(Media.jpeg(), size: 1), Media.film(Media.jpeg(MediaPicture.maxBytes + 1)),
            Array(Media.film(Media.jpeg()).dropLast(1)), Array(Media.film(Media.jpeg()).dropFirst(1)),
        ] as [[UInt8]] { #expect(try Self.picture(in: bytes) == nil) }
        #expect(try Self.picture(in: Media.film(Media.jpeg(MediaPicture.maxBytes)))?.count == MediaPicture.maxBytes)
        // At most 256 boxes are examined, even if there are endlessly many.
        let head = Media.box("ftyp", Array("isom".utf8))
        var asked = 0
        let endless = MediaBytes(length: 1 << 50) { position, count in
            asked += 1
            return position == 0
                ? Array((head + head).prefix(count)) : Array(Media.box("free", [1, 2, 3, 4, 5, 6, 7, 8]).prefix(count))
        }
        #expect(try MediaPicture(endless).find() == nil)
        #expect((200...300).contains(asked))
    }

    // MARK: ID3

    @Test("The picture of an ID3 tag is in its APIC frame, or PIC in version 2.2, behind a text of any encoding")
    func id3() throws {
        let wide = Media.picture(Media.jpeg(), encoding: 1, text: [0xFF, 0xFE, 0x41, 0, 0, 1, 0, 0])
        let other = Media.frame("TPE1", 4, [3] + Array(repeating: 0x41, count: 30_000))
        for bytes in [
            Media.tag(
                2, Media.frame("TT2", 2, [0, 0x41]) + Media.frame("PIC", 2, Media.picture(Media.jpeg(), isShort: true))),
            Media.tag(3, Media.frame("APIC", 3, Media.picture(Media.jpeg()))),
            Media.tag(4, other + Media.frame("APIC", 4, Media.picture(Media.jpeg(), text: Array("Cover".utf8) + [0]))),
            Media.tag(3, Media.frame("APIC", 3, wide)),
            Media.tag(4, Media.frame("APIC", 4, Media.picture(Media.jpeg(), encoding: 2, text: [0, 0x41, 0, 0]))),
            // The name of a group and a length precede the content.
            Media.tag(3, Media.frame("APIC", 3, flags: 0x20, [7] + Media.picture(Media.jpeg()))),
            Media.tag(4, Media.frame("APIC", 4, flags: 0x41, [7, 0, 0, 1, 1] + Media.picture(Media.jpeg()))),
            Media.tag(4, flags: 0x40, [0, 0, 0, 6, 1, 0] + Media.frame("APIC", 4, Media.picture(Media.jpeg()))),
        ] as [[UInt8]] { #expect(try Self.picture(in: bytes) == Media.jpeg()) }
    }

    @Test("A picture is the same after unsynchronisation, of the whole tag or of one frame")
    func unsynchronised() throws {
        let jpeg = Media.jpeg(2000) + [0xFF, 0, 0, 0xFF, 0, 0xFF, 0xE1, 0xFF, 0xFF]
        let content = Media.picture(jpeg)
        let sent = Media.unsynchronised(content)
        #expect(sent.count > content.count, "premise")
        for bytes in [
            Media.tag(3, flags: 0x80, Media.unsynchronised(Media.frame("APIC", 3, content))),
            Media.tag(4, Media.frame("APIC", 4, flags: 0x02, sent)),
            Media.tag(4, flags: 0x80, Media.frame("APIC", 4, sent)),
            Media.tag(4, Media.frame("APIC", 4, flags: 0x03, Media.safe(content.count) + sent)),
        ] as [[UInt8]] { #expect(try Self.picture(in: bytes) == jpeg) }
    }

    @Test("The front cover comes before other pictures, and the first before those that follow")
    func choice() throws {
        let back = Media.frame("APIC", 4, Media.picture(Media.png, use: 4))
        let front = Media.frame("APIC", 4, Media.picture(Media.jpeg(), use: 3))
        let none = Media.frame("APIC", 4, Media.picture(Media.svg, use: 3))
        #expect(try Self.picture(in: Media.tag(4, back + none + front)) == Media.jpeg())
        #expect(try Self.picture(in: Media.tag(4, none + back)) == Media.png)
        #expect(
            try Self.picture(
                in: Media.flac(
                    Media.block(6, Media.flacPicture(Media.png, use: 0)),
                    Media.block(6, Media.flacPicture(Media.jpeg()))))
                == Media.jpeg())
    }

    @Test("A frame that is compressed, encrypted, cut short, a link, or no picture, is skipped")
    func hostileID3() throws {
        let good = Media.picture(Media.jpeg())
        for bytes in [
            Media.tag(3, Media.frame("APIC", 3, flags: 0x80, good)),
            Media.tag(3, Media.frame("APIC", 3, flags: 0x40, good)),
            Media.tag(4, Media.frame("APIC", 4, flags: 0x08, good)),
            Media.tag(4, Media.frame("APIC", 4, flags: 0x04, good)),
            Media.tag(2, flags: 0x40, Media.frame("PIC", 2, Media.picture(Media.jpeg(), isShort: true))),
            Media.tag(4, Media.frame("APIC", 4, Media.picture(Media.svg))),
            Media.tag(4, Media.frame("APIC", 4, Media.picture(Array("http://a.example/cover.jpg".utf8)))),
            Media.tag(4, Media.frame("APIC", 4, size: 1 << 27, good)),
            Media.tag(4, size: 20, Media.frame("APIC", 4, good)),
            Media.tag(3, Media.frame("APIC", 3, size: -1, good)),
            Media.tag(4, Media.frame("APIC", 4, [0] + Array(repeating: 0x41, count: 300 << 10))),
            Media.tag(
                4, Media.frame("APIC", 4, [1] + Array("a".utf8) + [0, 3] + Array(repeating: 0x41, count: 300 << 10))),
            Media.tag(4, Media.frame("APIC", 4, Media.picture(Media.jpeg(MediaPicture.maxBytes + 1)))),
            Media.tag(4, Media.frame("APIC", 4, [])), Media.tag(4, Media.frame("APIC", 4, [0, 0])), Media.tag(4, []),
            Media.tag(3, flags: 0x40, [0xFF, 0xFF, 0xFF, 0xFF] + Media.frame("APIC", 3, good)),
        ] as [[UInt8]] { #expect(try Self.picture(in: bytes) == nil) }
        let after = Media.frame("APIC", 4, flags: 0x08, Media.picture(Media.png)) + Media.frame("APIC", 4, good)
        #expect(try Self.picture(in: Media.tag(4, after)) == Media.jpeg())
    }

    // MARK: Ogg

    @Test("The picture of an Opus or Vorbis file is in a comment, on as many pages as it takes")
    func ogg() throws {
        let (head, sound) = (Array("OpusHead".utf8), [UInt8](repeating: 9, count: 600))
        let comments = ["TITLE=a", Media.oggPicture(Media.jpeg(3000))]
        let other = Media.oggPage([3], [1, 2, 3], stream: 8)
        for partsOnPage in [1, 2, 3, 255] {
            let packets = [head, Media.comments(comments), sound]
            #expect(try Self.picture(in: Media.ogg(packets, partsOnPage: partsOnPage)) == Media.jpeg(3000))
            let mixed = Media.ogg(packets, partsOnPage: partsOnPage, other: other)
            #expect(try Self.picture(in: mixed) == Media.jpeg(3000))
        }
        let vorbis = Media.comments(
            [Media.oggPicture(Media.webp, name: "metadata_block_picture")], kind: [3] + Array("vorbis".utf8))
        #expect(try Self.picture(in: Media.ogg([[1], vorbis])) == Media.webp)
        let two = Media.comments([Media.oggPicture(Media.png, use: 0), Media.oggPicture(Media.jpeg())])
        #expect(try Self.picture(in: Media.ogg([head, two])) == Media.jpeg())
        // A Skeleton stream comes first, and ends after the others have begun.
        let skeleton = Media.oggPage([64], Array("fishead\0".utf8) + [UInt8](repeating: 0, count: 56), stream: 8)
        let described = Media.ogg([head, Media.comments(comments)], other: Media.oggPage([2], [0, 0], stream: 8))
        #expect(try Self.picture(in: skeleton + described) == Media.jpeg(3000))
        #expect(try Self.picture(in: skeleton + skeleton) == nil)
        // A packet of a multiple of 255 bytes ends with an empty part.
        var exact = Media.comments(comments)
        exact += [UInt8](repeating: 0, count: 255 - exact.count % 255)
        #expect(try Self.picture(in: Media.ogg([head, exact, sound])) == Media.jpeg(3000))
        let largest = Media.ogg([head, Media.comments([Media.oggPicture(Media.jpeg(MediaPicture.maxBytes))])])
        #expect(try Self.picture(in: largest)?.count == MediaPicture.maxBytes)
    }

    @Test("A picture of an Ogg file that is none, or whose sizes lie, is not given")
    func hostileOgg() throws {
        let head = Array("OpusHead".utf8)
        let comment = Media.oggPicture(Media.jpeg())
        let whole = Media.ogg([head, Media.comments([comment]), [1]])
        let packets: [[UInt8]] = [
            Media.comments([]), Media.comments([Media.oggPicture(Media.svg)]), Media.comments([comment], count: 0),
            Media.comments([comment + "="]), Media.comments(["METADATA_BLOCK_PICTURE=", "METADATA_BLOCK_PICTURE"]),
            Media.comments(["METADATA_BLOCK_PICTURE=AAAA"]), Media.comments([comment], kind: Array("OpusHead".utf8)),
            Array("OpusTags".utf8), Array("OpusTags".utf8) + [255, 255, 255, 255, 1],
            Array(Media.comments([comment]).dropLast(1)),
            Media.comments([Media.oggPicture(Media.jpeg(MediaPicture.maxBytes + 1))]),
            Media.comments([String(repeating: "a", count: 9 << 20), comment]),
        ]
        for packet in packets { #expect(try Self.picture(in: Media.ogg([head, packet])) == nil) }
        #expect(try Self.picture(in: whole) == Media.jpeg())
        for bytes in [
            Array("OggS".utf8), Array(whole.prefix(40)), Media.ogg([Media.comments([comment])]),
            Media.oggPage([8, 255, 255], head), Media.oggPage([8], head) + Array("Ogg!".utf8) + whole.dropFirst(4),
        ] { #expect(try Self.picture(in: bytes) == nil) }
        // If the stated number of comments is too large, reading stops at their end.
        #expect(try Self.picture(in: Media.ogg([head, Media.comments([comment], count: 1 << 31)])) == Media.jpeg())
        // At most 1024 pages are examined, even if there are endlessly many.
        var asked = 0
        let page = Media.oggPage([], [])
        let endless = MediaBytes(length: 1 << 50) { position, count in
            asked += 1
            return Array(page[Int(position) % page.count..<page.count].prefix(count))
        }
        #expect(try MediaPicture(endless).find() == nil)
        #expect((1000...3000).contains(asked))
    }

    // MARK: FLAC

    @Test("The picture of a FLAC file is in its picture block")
    func flac() throws {
        let block = Media.block(6, Media.flacPicture(Media.jpeg()))
        #expect(try Self.picture(in: Media.flac(Media.block(4, [1, 2, 3]), block)) == Media.jpeg())
        for bytes in [
            Media.flac(), Media.flac(Media.block(6, [])), Media.flac(Media.block(6, Media.flacPicture(Media.svg))),
            Media.flac(Media.block(6, Media.flacPicture(Media.jpeg(), size: 1 << 31))),
            Media.flac(Media.block(6, Media.flacPicture(Media.jpeg(), size: 0))),
            Media.flac(Media.block(6, Media.flacPicture(Media.jpeg()), size: 0xFF_FFFF)),
            Media.flac(Media.block(6, Media.big(3, 4) + Media.big(Int(UInt32.max), 4))),
            Media.flac(Media.block(0x86, [0]), block), Array("fLaC".utf8),
        ] as [[UInt8]] { #expect(try Self.picture(in: bytes) == nil) }
    }

    @Test("Damaged media of any kind have a picture or none, and end no process")
    func damaged() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let whole = [
            Media.film(Media.jpeg()), Media.flac(Media.block(6, Media.flacPicture(Media.jpeg()))),
            Media.tag(2, Media.frame("PIC", 2, Media.picture(Media.jpeg(), isShort: true))),
            Media.tag(3, flags: 0xC0, [0, 0, 0, 0] + Media.frame("APIC", 3, Media.picture(Media.jpeg()))),
            Media.tag(4, flags: 0x80, Media.frame("APIC", 4, flags: 0x41, Media.picture(Media.jpeg(), encoding: 1))),
        ]
        for _ in 0..<4000 {
            var bytes = whole[Int.random(in: 0..<whole.count, using: &random)]
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] =
                    [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random) ?? 0
            }
            bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
            let picture = try Self.picture(in: bytes)
            #expect(picture.map { PictureType(of: $0) != nil && $0.count <= bytes.count } ?? true, "seed \(seed)")
        }
    }

    // MARK: In memory

    @Test("The pictures in memory take 8 MiB: those used least recently go first, and at the end all of them")
    func cache() throws {
        let cache = PictureCache()
        func id<Kind>(_ number: UInt8) throws -> Identifier<Kind> {
            try #require(Identifier(bytes: Array(repeating: number, count: Kind.byteCount)))
        }
        let large = try #require(Picture(Media.jpeg(3 << 20)))
        cache.keep(nil, of: try id(9), try id(9))
        #expect(try cache.picture(of: id(9)) == .some(nil))
        for number in [1, 2] as [UInt8] { cache.keep(large, of: try id(number), try id(number)) }
        #expect(try cache.picture(of: id(1)) == large)
        cache.keep(large, of: try id(3), try id(3))
        #expect(try cache.picture(of: id(2)) == nil, "used least recently")
        #expect(try cache.picture(of: id(1)) == large && cache.picture(of: id(3)) == large)
        cache.forget([try id(1)])
        #expect(try cache.picture(of: id(1)) == nil && cache.picture(of: id(3)) == large)
        cache.end()
        cache.keep(large, of: try id(3), try id(3))
        #expect(try cache.picture(of: id(3)) == nil)
    }
}
