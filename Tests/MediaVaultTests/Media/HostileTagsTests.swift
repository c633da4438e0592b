import SeededRandom
import Testing
import VaultModel

@testable import MediaVault

@Suite("What hostile media state about themselves", .timeLimit(.minutes(5)))
struct HostileTagsTests {
    private typealias Made = StatingMedia

    /// Whole media of every kind, as small as they can be.
    private static let samples: [[UInt8]] = {
        let comments = Made.comments(["TITLE=Aurora", "CHAPTER001=00:00:01.5", "CHAPTER001NAME=One"])
        let tags = Made.element(0x1254_C367, Made.tag(level: 50, [("TITLE", "Aurora"), ("PART_NUMBER", "1")]))
        let head = Made.element(
            0x114D_9B74,
            Made.element(0x4DBB, Made.element(0x53AB, Made.big(0x1254_C367, 4)) + Made.element(0x53AC, 200)))
        let chapters = Made.element(0x1043_A770, Made.element(0x45B9, Made.chapter("One", at: 5)))
        let items = Made.box("ilst", Made.item("\u{A9}nam", "Aurora"), Made.item("trkn", kind: 0, [0, 0, 0, 3, 0, 9]))
        let table = Made.box(
            "stbl", Made.box("stts", Made.big(0, 4), Made.big(1, 4), Made.big(1, 4), Made.big(1500, 4)),
            Made.box("stsc", Made.big(0, 4), Made.big(1, 4), Made.big(1, 4), Made.big(1, 4), Made.big(1, 4)),
            Made.box("stsz", Made.big(0, 8), Made.big(1, 4), Made.big(5, 4)),
            Made.box("co64", Made.big(0, 4), Made.big(1, 4), Made.big(8, 8)))
        let format = Made.little(1, 2) + Made.little(2, 2) + Made.little(44_100) + Made.little(176_400) + Made.big(0, 4)
        return [
            Made.matroska(head, Made.element(0x1549_A966, Made.element(0x7BA9, "Aurora")), chapters, tags),
            Made.mp4(
                Made.times("mvhd", scale: 1000, duration: 90_500),
                Made.track(1, "soun", [], Made.box("tref", Made.box("chap", Made.big(2, 4)))),
                Made.track(2, "text", Made.box("minf", table), []),
                Made.box("udta", Made.box("meta", Made.big(0, 4), items), Made.box("chpl", Made.big(0, 8), [0]))),
            Array("fLaC".utf8) + [0, 0, 0, 34] + Made.big(0, 34) + [0x84] + Made.big(comments.count, 3) + comments,
            Made.id3(Made.frame("TIT2", "Aurora"), Made.chapterFrame("a", at: 5, Made.frame("TIT2", "One")))
                + [0xFF, 0xFB, 0x90, 0] + Made.big(0, 413) + [0xFF, 0xFB, 0x90, 0],
            Array("RIFF".utf8) + Made.little(0) + Array("WAVE".utf8) + Made.chunk("fmt ", format)
                + Made.chunk("LIST", Array("INFO".utf8) + Made.chunk("INAM", Array("Aurora".utf8)))
                + Made.chunk("data", Made.big(0, 40)),
        ]
    }()

    private static func isPlausible(_ tags: MediaTags) -> Bool {
        let texts = [tags.name, tags.artist, tags.album, tags.series, tags.language] + tags.chapters.map(\.name)
        let numbers = [tags.track, tags.disc, tags.season, tags.episode]
        return texts.allSatisfy { $0.map { MediaName.cleaned($0) == $0 } ?? true }
            && numbers.allSatisfy { $0.map { (0...99_999_999).contains($0) } ?? true }
            && tags.duration.map { (1...MediaTags.maxDuration).contains($0) } ?? true
            && tags.chapters.count <= MediaTags.maxChapters
            && tags.chapters.map(\.start) == tags.chapters.map(\.start).sorted()
    }

    @Test("Changed at random, cut anywhere and however long they claim to be, media state plausible facts or none")
    func random() throws {
        var run = FuzzRun("Media tags", rounds: 3000)
        for sample in Self.samples { #expect(try MediaTags(of: Made.media(sample)).name == "Aurora") }
        for _ in 0..<run.rounds {
            var bytes = Self.samples.randomElement(using: &run.random) ?? []
            for _ in 0..<Int.random(in: 1...6, using: &run.random) {
                bytes[Int.random(in: 0..<bytes.count, using: &run.random)] =
                    [0, 1, 0x7F, 0x80, 0xFE, 0xFF, .random(in: 0...255, using: &run.random)]
                    .randomElement(using: &run.random) ?? 0
            }
            let end = Int.random(in: 0...bytes.count, using: &run.random)
            let length = [Int64(end), Int64(bytes.count), .max].randomElement(using: &run.random) ?? 0
            let media = MediaBytes(length: length) { position, count in
                position < end ? Array(bytes[Int(position)..<end].prefix(count)) : []
            }
            #expect(Self.isPlausible(try MediaTags(of: media)), "seed \(run.seed)")
        }
    }

    @Test("Where a byte is not held, the tags are what was found before it")
    func cut() throws {
        for sample in Self.samples {
            let whole = try MediaTags(of: Made.media(sample))
            var names: Set<String?> = []
            for end in 0...sample.count {
                let tags = try MediaTags(of: Made.media(sample, heldUpTo: end))
                #expect(tags.name == nil || tags.name == whole.name)
                #expect(tags.chapters.isEmpty || tags.chapters == whole.chapters)
                names.insert(tags.name)
            }
            #expect(names == [nil, "Aurora"])
        }
        for film in Self.samples.prefix(2) {
            #expect(try MediaTags(of: Made.media(film, heldUpTo: film.count - 1)).name == "Aurora")
        }
        let picture = Made.frame("APIC", [UInt8](repeating: 7, count: 300_000))
        let song = Made.id3(Made.frame("TIT2", "Aurora"), picture, Made.frame("TALB", "Lights"))
        #expect(try MediaTags(of: Made.media(song, heldUpTo: 20_000)).name == "Aurora", "a tag need not be held whole")
        #expect(throws: VaultError.self, "any other failure is one") {
            try MediaTags(of: MediaBytes(length: 100) { _, _ in throw VaultError(.integrity, "damaged") })
        }
    }

    /// Reads media whose bytes are made as they are asked for; returns the number of reads and of bytes.
    private func cost(length: Int64 = .max, _ start: [UInt8], then rest: [UInt8]) throws -> (reads: Int, bytes: Int) {
        var (reads, bytes) = (0, 0)
        let pattern = repeated(rest, atLeast: ID3Tags.maxBytes / rest.count + 2)
        let tags = try MediaTags(
            of: MediaBytes(length: length) { position, count in
                reads += 1
                bytes += count
                let begun = start.dropFirst(Int(position)).prefix(count)
                let offset = Int(max(0, position - Int64(start.count)) % Int64(rest.count))
                return Array(begun) + pattern[offset..<offset + count - begun.count]
            })
        #expect(Self.isPlausible(tags))
        return (reads, bytes)
    }

    @Test("Media that never end are read for a while only")
    func endless() throws {
        let big = Made.big
        let segment = Made.element(0x1A45_DFA3, [UInt8]()) + big(0x1853_8067, 4) + [0xFF]
        let atom = Made.chapter("n", at: 7)
        let list = Made.box("ftyp", Array("isom".utf8)) + big(1, 4) + Array("moov".utf8) + big(Int.max >> 1, 8)
        for (name, start, rest) in [
            ("empty elements", segment, Made.element(0xEC, [UInt8]())),
            ("elements of unknown size within each other", segment, big(0x1043_A770, 4) + [0xFF]),
            ("chapters", segment + big(0x1043_A770, 4) + [0xFF] + big(0x45B9, 2) + [0xFF], atom),
            ("tags", segment + big(0x1254_C367, 4) + [0xFF], Made.tag(level: 50, [("A", "b")])),
            ("elements of 2^56", segment, big(0xEC, 1) + [1] + big(1 << 56 - 2, 7)),
            ("boxes of no content", list, big(8, 4) + Array("trak".utf8)),
            ("boxes within each other", list, big(0, 4) + Array("moov".utf8)),
            ("boxes of 2^62", list, big(1, 4) + Array("free".utf8) + big(1 << 62, 8)),
            ("blocks of FLAC", Array("fLaC".utf8), [4] + big(0, 3)),
            ("blocks of 16 MiB", Array("fLaC".utf8), [4, 0xFF, 0xFF, 0xFF]),
            ("pages of Ogg", [], Array("OggS".utf8) + big(0, 22) + [0]),
            ("frames of ID3", Array("ID3".utf8) + [4, 0, 0, 0x7F, 0x7F, 0x7F, 0x7F], Made.frame("TIT2", [3, 0x20])),
            ("sound", [], [0xFF, 0xFB, 0x90, 0] + big(0, 413)), ("beginnings of sound", [], [0xFF, 0xFB, 0x90]),
            ("chunks", Array("RIFF".utf8) + big(0, 4) + Array("WAVE".utf8), Made.chunk("LIST", [])),
        ] as [(String, [UInt8], [UInt8])] {
            let (reads, bytes) = try cost(start, then: rest)
            #expect(reads <= MediaWindow.maxReads && bytes <= MediaWindow.maxBytes, "\(name)")
        }
    }

    @Test("Media of which only a few bytes at a time are held are not asked for ever")
    func sparse() throws {
        let start = Made.element(0x1A45_DFA3, [UInt8]()) + Made.big(0x1853_8067, 4) + [0xFF]
        let film = start + repeated(Made.big(0xEC, 1) + [0x80], atLeast: 100_000)
        var asked = 0
        let tags = try MediaTags(
            of: MediaBytes(length: Int64(film.count)) { position, count in
                asked += 1
                guard count <= 16 else { throw VaultError(.notHeld, "not held") }
                return Array(film[Int(position)...].prefix(count))
            })
        #expect(tags == MediaTags() && asked <= 2 * MediaWindow.maxReads)
    }

    @Test("A count of 2^32 comments, and a comment of 2^32 bytes, end with the block")
    func counts() throws {
        func flac(_ comments: [UInt8]) throws -> MediaTags {
            try MediaTags(
                of: Made.media(Array("fLaC".utf8) + [0x84] + Made.big(comments.count, 3) + comments))
        }
        #expect(try flac(Made.comments(["TITLE=Aurora"], count: 1 << 32 - 1)).name == "Aurora")
        #expect(try flac(Made.comments(["TITLE=Aurora"]) + Made.little(1 << 32 - 1)).name == "Aurora")
        #expect(try flac(Made.little(1 << 32 - 1) + Made.comments(["TITLE=Aurora"])).name == nil)
        #expect(
            try flac(Made.comments(["TITLE=\u{202E}<script>\u{1}" + String(repeating: "n", count: 1 << 20)])).name
                == nil)
        let long = try flac(Made.comments(["TITLE=\u{202E}<b>\u{1}" + String(repeating: "n", count: 900_000)]))
        #expect(long.name?.hasPrefix("<b> nnn") == true && long.name?.count == 200)
        let many = try flac(
            Made.comments((0..<3000).map { "CHAPTER\($0)=00:00:00.\($0)" })
        ).chapters
        #expect(many.count == MediaTags.maxChapters)
    }

    /// Returns bytes that are repeated at least so often.
    private func repeated(_ bytes: [UInt8], atLeast count: Int) -> [UInt8] {
        var all = bytes
        while all.count < bytes.count * count { all += all }
        return all
    }

    @Test("A million boxes and elements within each other are no depth")
    func depth() throws {
        let boxes = repeated(Made.big(0, 4) + Array("udta".utf8), atLeast: 1_000_000)
        #expect(try MediaTags(of: Made.media(Made.box("ftyp", Array("isom".utf8)) + boxes)) == MediaTags())
        let elements = repeated(Made.big(0x7373, 2) + [0xFF], atLeast: 1_000_000)
        let file = Made.element(0x1A45_DFA3, [UInt8]()) + Made.big(0x1853_8067, 4) + [0xFF] + elements
        #expect(try MediaTags(of: Made.media(file)) == MediaTags())
    }
}
