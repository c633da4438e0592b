import Testing

@testable import MediaVault

@Suite("What media state about themselves")
struct MediaTagsTests {
    private typealias Made = StatingMedia

    private func tags(_ bytes: [UInt8]) throws -> MediaTags { try MediaTags(of: Made.media(bytes)) }

    // MARK: Matroska

    @Test("Matroska states its title, length, language and chapters")
    func matroskaFilm() throws {
        let duration = Made.element(0x4489, Made.big(Int(Double(5_400_000).bitPattern), 8))
        let sound = { (kind: Int, language: String) in
            Made.element(0xAE, Made.element(0x83, kind) + Made.element(0x22_B59C, language))
        }
        let chapters =
            Made.chapter("Second", at: 2_000_000_000) + Made.chapter("Hidden", at: 5, isHidden: true)
            + Made.chapter("First", at: 0)
        let tags = try tags(
            Made.matroska(
                Made.element(0xEC, [1, 2, 3]),
                Made.element(
                    0x1549_A966, Made.element(0x2A_D7B1, 1_000_000) + Made.element(0x7BA9, "Aurora") + duration),
                Made.element(0x1654_AE6B, sound(1, "eng") + sound(2, "und") + sound(2, "ger") + sound(2, "fre")),
                Made.element(0x1043_A770, Made.element(0x45B9, chapters))))
        #expect(tags.name == "Aurora" && tags.duration == 5_400_000 && tags.language == "ger")
        #expect(tags.chapters == [MediaChapter(start: 0, name: "First"), MediaChapter(start: 2000, name: "Second")])
    }

    @Test("Matroska states series, season and episode, or album and track, at the levels of its tags")
    func matroskaLevels() throws {
        let episode = try tags(
            Made.matroska(
                Made.element(
                    0x1254_C367,
                    Made.tag(level: 70, [("TITLE", "The Ship")]) + Made.tag(level: 60, [("PART_NUMBER", "2")])
                        + Made.tag(level: 50, of: 77, [("TITLE", "Prologue"), ("ARTIST", "Nobody")])
                        + Made.tag(level: 50, [("TITLE", "Ice"), ("PART_NUMBER", "7/10"), ("ARTIST", "Ada")]))))
        #expect(episode.series == "The Ship" && episode.season == 2 && episode.episode == 7 && episode.track == nil)
        #expect(episode.name == "Ice" && episode.artist == "Ada")
        let song = try tags(
            Made.matroska(
                Made.element(
                    0x1254_C367,
                    Made.tag(level: 50, [("TITLE", "Lights"), ("ARTIST", "Ada")])
                        + Made.tag(level: 30, [("TITLE", "Dawn"), ("PART_NUMBER", "4")]))))
        #expect(song.album == "Lights" && song.name == "Dawn" && song.track == 4 && song.artist == "Ada")
    }

    @Test("Tags behind the clusters are found through the seek head")
    func seekHead() throws {
        let cluster = Made.element(0x1F43_B675, Array(repeating: 0, count: 500))
        let behind = Made.element(0x1254_C367, Made.tag(level: 50, [("TITLE", "Behind")]))
        func head(_ position: Int) -> [UInt8] {
            let id = Made.element(0x53AB, Made.big(0x1254_C367, 4))
            return Made.element(0x114D_9B74, Made.element(0x4DBB, id + Made.element(0x53AC, position)))
        }
        let position = head(0).count + cluster.count
        #expect(try tags(Made.matroska(head(position), cluster, behind)).name == "Behind")
        for wrong in [0, 1 << 30, position + 1, 3] {
            #expect(try tags(Made.matroska(head(wrong), cluster, behind)).name == nil, "\(wrong) names nothing")
        }
    }

    // MARK: MP4

    @Test("MP4 states name, artist, album, series, numbers and language")
    func mp4() throws {
        let items = [
            Made.item("aART", "Everyone"), Made.item("\u{A9}nam", "Aurora"), Made.item("\u{A9}ART", "Ada"),
            Made.item("\u{A9}alb", "Lights"), Made.item("trkn", kind: 0, [0, 0, 0, 3, 0, 9]),
            Made.item("disk", kind: 0, [0, 0, 0, 2, 0, 2]), Made.item("tvsh", "Show"),
            Made.item("tvsn", kind: 21, [4]), Made.item("tves", kind: 21, [0, 0, 0, 12]),
        ]
        let meta = Made.box("meta", Made.big(0, 4), Made.box("ilst", items.flatMap(\.self)))
        let tags = try tags(
            Made.mp4(
                Made.times("mvhd", scale: 1000, duration: 90_500), Made.track(1, "vide", language: "eng"),
                Made.track(2, "soun"), Made.track(3, "soun", language: "deu"), Made.box("udta", meta)))
        #expect(tags.name == "Aurora" && tags.artist == "Ada" && tags.album == "Lights" && tags.series == "Show")
        #expect(tags.track == 3 && tags.disc == 2 && tags.season == 4 && tags.episode == 12)
        #expect(tags.duration == 90_500 && tags.language == "deu" && tags.chapters.isEmpty)
    }

    @Test("An MP4 of parts that were written one by one states its length in mehd, or in an index of the parts")
    func fragmented() throws {
        let header = Made.times("mvhd", scale: 1000, duration: 0)
        let parts = { (content: [UInt8]) in Made.box("mvex", Made.box("mehd", content)) }
        #expect(try tags(Made.mp4(header, parts(Made.big(2500, 8)))).duration == 2500)
        #expect(try tags(Made.mp4(header, parts([1, 0, 0, 0] + Made.big(2500, 8)))).duration == 2500)
        #expect(try tags(Made.mp4(header, parts([1, 0, 0, 0]))).duration == nil)
        let rows = [1500, 2500, 500].flatMap { Made.big(9, 4) + Made.big($0, 4) + Made.big(0, 4) }
        for (version, bytes) in [(0, 4), (1, 8)] {
            let times = Made.big(0, 2 * bytes) + Made.big(0, 2)
            let index = { (count: Int) in
                Made.box("sidx", [UInt8(version)], Made.big(0, 7), Made.big(1000, 4), times, Made.big(count, 2), rows)
            }
            let film = Made.mp4(header, parts(Made.big(0, 8)))
            #expect(try tags(film + index(3)).duration == 4500)
            #expect(try tags(film + index(2)).duration == 4000)
            #expect(try tags(film + index(65_535)).duration == 4500)
            #expect(try tags(film + index(0)).duration == nil)
        }
    }

    @Test("The texts of QuickTime have no boxes around them")
    func quickTime() throws {
        let text = { (type: String, text: String) in
            Made.box(type, Made.big(text.utf8.count, 2), Made.big(0x55C4, 2), Array(text.utf8))
        }
        let user = Made.box("udta", text("\u{A9}nam", "Aurora"), text("\u{A9}ART", "Ada"), Made.box("\u{A9}alb", [0]))
        let tags = try tags(Made.mp4(Made.times("mvhd", scale: 1, duration: 3), user))
        #expect(tags.name == "Aurora" && tags.artist == "Ada" && tags.album == nil)
    }

    private func list(_ chapters: [(Int, String)], count: Int? = nil) -> [UInt8] {
        let rows = chapters.map { Made.big($0.0 * 10_000, 8) + [UInt8($0.1.utf8.count)] + Array($0.1.utf8) }
        return Made.box(
            "udta",
            Made.box("chpl", [1, 0, 0, 0], Made.big(0, 4), [UInt8(count ?? rows.count)], rows.flatMap(\.self)))
    }

    @Test("The chapters of an MP4 are in a list")
    func chapterList() throws {
        let header = Made.times("mvhd", scale: 1000, duration: 90_500)
        let chapters = [MediaChapter(start: 0, name: "Start"), MediaChapter(start: 60_000, name: "Fin")]
        #expect(try tags(Made.mp4(header, list([(0, "Start"), (60_000, "Fin")]))).chapters == chapters)
        #expect(try tags(Made.mp4(header, list([(0, "Start"), (60_000, "Fin")], count: 255))).chapters == chapters)
        #expect(try tags(Made.mp4(header, list([(0, "Start")], count: 0))).chapters.isEmpty)
    }

    /// Returns an MP4 whose second track has the names of chapters as its samples.
    private func book(_ names: [[UInt8]], kind: String = "text", chunkCount: Int? = nil) -> [UInt8] {
        let samples = names.map { Made.big($0.count, 2) + $0 }
        let before = Made.box("mdat", samples.flatMap(\.self))
        let start = Made.box("ftyp", Array("isom".utf8), Made.big(0, 4)).count + 8
        let table = Made.box(
            "stbl", Made.box("stts", Made.big(0, 4), Made.big(1, 4), Made.big(names.count, 4), Made.big(1500, 4)),
            Made.box("stsc", Made.big(0, 4), Made.big(1, 4), Made.big(1, 4), Made.big(names.count, 4), Made.big(1, 4)),
            Made.box("stsz", Made.big(0, 8), Made.big(names.count, 4), samples.flatMap { Made.big($0.count, 4) }),
            Made.box("stco", Made.big(0, 4), Made.big(chunkCount ?? 1, 4), Made.big(start, 4)))
        return Made.mp4(
            Made.times("mvhd", scale: 1000, duration: 90_500),
            Made.track(1, "soun", [], Made.box("tref", Made.box("chap", Made.big(9, 4), Made.big(2, 4)))),
            Made.track(2, kind, Made.box("minf", table), []), list([(0, "Listed")]), before: before)
    }

    @Test("The chapters of an MP4 are in a text track, which counts before a list")
    func chapterTrack() throws {
        let wide: [UInt8] = [0xFE, 0xFF, 0, 0x5A, 0, 0xFC]
        let chapters = [MediaChapter(start: 0, name: "One"), MediaChapter(start: 1500, name: "Zü")]
        #expect(try tags(book([Array("One".utf8), wide])).chapters == chapters)
        #expect(try tags(book([Array("One".utf8), wide], chunkCount: 1 << 32 - 1)).chapters == chapters)
        #expect(try tags(book([Array("One".utf8)], kind: "vide")).chapters.map(\.name) == ["Listed"])
    }

    // MARK: FLAC and Ogg

    private func information(rate: Int, samples: Int) -> [UInt8] {
        Made.big(0, 10) + Made.big(rate << 44 | 1 << 41 | 15 << 36 | samples, 8) + Made.big(0, 16)
    }

    @Test("FLAC states its comments and its length, behind an ID3 tag, too")
    func flac() throws {
        let comments = Made.comments(["title=Aurora", "ARTIST=Ada", "TRACKNUMBER=03", "CHAPTER001=00:00:01.500"])
        let information = information(rate: 44_100, samples: 44_100 * 90)
        let bytes =
            Array("fLaC".utf8) + [0] + Made.big(information.count, 3) + information + [0x84]
            + Made.big(comments.count, 3) + comments
        for bytes in [bytes, Made.id3(Made.frame("TALB", "Lights")) + bytes] {
            let tags = try tags(bytes)
            #expect(tags.name == "Aurora" && tags.artist == "Ada" && tags.track == 3 && tags.duration == 90_000)
            #expect(tags.chapters == [MediaChapter(start: 1500, name: nil)])
        }
        #expect(try tags(Made.id3(Made.frame("TALB", "Lights")) + bytes).album == "Lights")
    }

    private func page(_ packets: [[UInt8]], position: Int, stream: Int = 7) -> [UInt8] {
        let sizes = packets.flatMap { [UInt8](repeating: 255, count: $0.count / 255) + [UInt8($0.count % 255)] }
        return Array("OggS".utf8) + [0, 0] + Made.little(position, 8) + Made.little(stream) + Made.big(0, 8)
            + [UInt8(sizes.count)] + sizes + packets.flatMap(\.self)
    }

    @Test("Opus, Vorbis and FLAC in Ogg state their comments, and their length at the end")
    func ogg() throws {
        let comments = Made.comments(["TITLE=Aurora", "Show=Nights", "EPISODE=12", "CHAPTER000=01:00:00.000"])
        let opus = Array("OpusHead".utf8) + [1, 2] + Made.little(312, 2) + Made.little(44_100) + [0, 0, 0]
        let vorbis = [1] + Array("vorbis".utf8) + Made.big(0, 4) + [2] + Made.little(44_100) + Made.big(0, 14)
        let flac =
            [0x7F] + Array("FLAC".utf8) + [1, 0, 0, 1] + Array("fLaC".utf8) + [0, 0, 0, 34]
            + information(rate: 44_100, samples: 0)
        for (head, kind, end) in [
            (opus, Array("OpusTags".utf8), 48_000 * 60 + 312), (vorbis, [3] + Array("vorbis".utf8), 44_100 * 60),
            (flac, [0x84, 0, 0, 0], 44_100 * 60),
        ] as [([UInt8], [UInt8], Int)] {
            let start = page([head], position: 0) + page([kind + comments], position: 0)
            let sound = page([[1, 2, 3]], position: 5000) + page([[4]], position: end)
            // A page of another stream, and one in which no packet ends.
            let after = page([[5]], position: 1 << 40, stream: 8) + page([], position: -1)
            let tags = try tags(start + sound + after)
            #expect(tags.name == "Aurora" && tags.series == "Nights" && tags.episode == 12 && tags.duration == 60_000)
            #expect(tags.chapters == [MediaChapter(start: 3_600_000, name: nil)])
            #expect(try self.tags(start).duration == nil)
        }
    }

    // MARK: ID3, MP3

    @Test("An ID3 tag states names, numbers, language and chapters")
    func id3() throws {
        let picture = Made.frame("APIC", Array(repeating: 7, count: 300_000))
        let tags = try tags(
            Made.id3(
                Made.frame("TPE2", "Everyone"), Made.frame("TIT2", "Aurora"), Made.frame("TPE1", "Ada"),
                Made.frame("TALB", "Lights"), Made.frame("TRCK", "3/12"), Made.frame("TPOS", "1/2"),
                Made.frame("TLAN", "deu"), Made.frame("TLEN", "90500"), Made.frame("TXXX", "show\0Nights"),
                Made.frame("TXXX", "Season\u{0}4"), picture,
                Made.chapterFrame("b", at: 61_000, picture + Made.frame("TIT2", "Later")),
                Made.chapterFrame("a", at: 0, Made.frame("TIT2", "Opening")), Made.chapterFrame("c", at: 62_000, [])))
        #expect(tags.name == "Aurora" && tags.artist == "Ada" && tags.album == "Lights" && tags.language == "deu")
        #expect(tags.track == 3 && tags.disc == 1 && tags.series == "Nights" && tags.season == 4)
        #expect(tags.duration == 90_500 && tags.chapters.map(\.start) == [0, 61_000, 62_000])
        #expect(tags.chapters.map(\.name) == ["Opening", nil, nil], "a chapter is examined for 256 KiB")
    }

    /// A frame of MPEG 1, layer III, 44.1 kHz: 417 bytes at 128 kbit/s, 208 at 64.
    private func sound(_ rate: UInt8 = 0x90, _ content: [UInt8] = []) -> [UInt8] {
        let count = rate == 0x90 ? 417 : 208
        return [0xFF, 0xFB, rate, 0] + content + [UInt8](repeating: 0, count: count - 4 - content.count)
    }

    @Test("The length of an MP3 comes from its Xing, Info or VBRI header, or else from what its frames take")
    func mp3() throws {
        let side = [UInt8](repeating: 0, count: 32)
        let rest = (0..<10).flatMap { _ in sound() }
        for header in [
            Array("Xing".utf8) + Made.big(1, 4) + Made.big(3446, 4),
            Array("Info".utf8) + Made.big(15, 4) + Made.big(3446, 4),
            Array("VBRI".utf8) + Made.big(0, 10) + Made.big(3446, 4),
        ] { #expect(try tags(sound(0x90, side + header) + rest).duration == 90_018) }
        #expect(try tags(rest).duration == 261)
        // Ten frames of 128 kbit/s and ten of 64, again and again, although the first says 128.
        let mixed = (0..<40).flatMap { _ in rest + (0..<10).flatMap { _ in sound(0x50) } }
        #expect(abs(try (tags(mixed).duration ?? 0) - 20_898) < 300)
        let tagged = Made.id3(Made.frame("TLEN", "999999")) + [0, 0, 0xFF, 0xFB, 0x90] + rest
        #expect(try tags(tagged).duration == 261, "what can be counted comes before what is said")
        for other in [[0, 0] + rest, sound(), Array("<html>".utf8), sound() + [1, 2, 3, 4]] {
            #expect(try tags(other).duration == nil)
        }
    }

    // MARK: WAV and AIFF

    @Test("WAV and AIFF state their length and texts")
    func chunks() throws {
        let format = Made.little(1, 2) + Made.little(2, 2) + Made.little(44_100) + Made.little(176_400) + Made.big(0, 4)
        let texts = Array("INFO".utf8) + Made.chunk("INAM", Array("Aurora\0".utf8)) + Made.chunk("IPRT", [0x33])
        let wav =
            Array("RIFF".utf8) + Made.little(0) + Array("WAVE".utf8) + Made.chunk("LIST", texts)
            + Made.chunk("fmt ", format)
        let data = Made.chunk("data", [UInt8](repeating: 0, count: 17_640))
        let album = Made.chunk("id3 ", Made.id3(Made.frame("TALB", "Lights")))
        let tags = try tags(wav + data + album)
        #expect(tags.name == "Aurora" && tags.track == 3 && tags.album == "Lights" && tags.duration == 100)
        let endless = Array("data".utf8) + Made.little(1 << 32 - 1) + [UInt8](repeating: 0, count: 17_640)
        #expect(try self.tags(wav + endless).duration == 100)

        // 44 100 as a number of 80 bits.
        let common =
            Made.big(2, 2) + Made.big(44_100 * 3, 4) + Made.big(16, 2) + [0x40, 0x0E, 0xAC, 0x44, 0, 0, 0, 0, 0, 0]
        let aiff =
            Array("FORM".utf8) + Made.big(0, 4) + Array("AIFF".utf8)
            + Made.chunk("NAME", Array("Aurora".utf8), isAIFF: true) + Made.chunk("COMM", common, isAIFF: true)
        #expect(try self.tags(aiff).name == "Aurora")
        #expect(try self.tags(aiff).duration == 3000)
    }

    // MARK: Texts

    @Test("Numbers in texts are read as people write them", arguments: [("3", 3), ("03/12", 3), (" 7", 7), ("0", 0)])
    func numbers(text: String, number: Int) { #expect(MediaTags.number(text) == number) }

    @Test("What is no plausible number counts as none", arguments: ["", "x", "-1", "99999999999999999999", "/3", "²"])
    func noNumbers(text: String) { #expect(MediaTags.number(text) == nil) }

    @Test(
        "What has no form of a language counts as none",
        arguments: ["", "und", "e", "de en", "d\u{FC}", "d\u{AA}", "<b>"])
    func noLanguages(text: String) { #expect(MediaTags.language(text) == nil) }
}
