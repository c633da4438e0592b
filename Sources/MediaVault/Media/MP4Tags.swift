/// What MP4 and QuickTime media state about themselves: the items of `moov/udta/meta/ilst`, or of `moov/udta`, the length
/// of the movie, the language of its sound, and chapters (a text track that another track refers to, or else a `chpl`
/// box).
struct MP4Tags {
    private let media: MediaBytes

    /// The names of items that are texts, or numbers of one to four bytes.
    private static let names = [
        "\u{A9}nam": "TITLE", "\u{A9}ART": "ARTIST", "aART": "ALBUMARTIST", "\u{A9}alb": "ALBUM", "tvsh": "SHOW",
        "tvsn": "SEASON", "tves": "EPISODE",
    ]

    init(_ media: MediaBytes) { self.media = media }

    /// Reads what the media state.
    func read(into tags: inout MediaTags) throws {
        guard let movie = try media.box("moov") else { return }
        tags.duration = try duration(movie)
        var texts: [String: String] = [:]
        defer { tags.take(texts) }
        if let user = try media.box(["udta"], in: movie) { try readTexts(user, into: &texts) }
        if let list = try media.box(["udta", "meta", "ilst"], in: movie) { try readItems(list, &texts, into: &tags) }
        let tracks = try media.boxes(in: movie).filter { $0.type == "trak" }.map { try MP4Track($0, in: media) }
        tags.language = tracks.lazy.filter { $0.kind == "soun" }.compactMap(\.language).first
        try readChapters(tracks, into: &tags)
        if tags.chapters.isEmpty { try readChapterList(movie, into: &tags) }
    }

    /// Returns how long the movie plays. If its parts were written one by one, `mehd` or an index of the parts states it.
    private func duration(_ movie: MediaBytes.Box) throws -> Int64? {
        guard let header = try media.box(["mvhd"], in: movie), let times = try MP4Times(header, in: media) else {
            return nil
        }
        if let duration = times.duration { return duration }
        guard let parts = try media.box(["mvex"], in: movie) else { return nil }
        let content = try media.box(["mehd"], in: parts).map { try media.content(of: $0, upTo: 12) } ?? []
        let stated = MediaBytes.number(content.dropFirst(4).prefix(content.first == 1 ? 8 : 4))
        return try times.milliseconds(stated).flatMap(MediaTags.duration) ?? indexedDuration()
    }

    /// Returns how long the parts play that the first index lists (`sidx`).
    private func indexedDuration() throws -> Int64? {
        guard let index = try media.box("sidx") else { return nil }
        let content = try media.content(of: index, upTo: 64 << 10)
        // A version and flags, a track, units per second, two numbers of 32 bits, or of 64 in version 1, and a count.
        let start = content.first == 1 ? 32 : 24
        guard content.count > start else { return nil }
        let count = Int(MediaBytes.number(content[start - 2..<start]))
        // Each row has a size, a duration, and flags.
        let rows = stride(from: start, to: min(start + 12 * count, content.count - 11), by: 12)
        let units = rows.reduce(0.0) { $0 + Double(MediaBytes.number(content[$1 + 4..<$1 + 8])) }
        return MediaTags.duration(units, perSecond: Double(MediaBytes.number(content[8..<12])))
    }

    // MARK: Items

    private func readItems(
        _ list: MediaBytes.Box, _ texts: inout [String: String], into tags: inout MediaTags
    ) throws {
        for item in try media.boxes(in: list) {
            guard let data = try media.box(["data"], in: item) else { continue }
            // Four bytes of type and four of locale come before the value.
            let bytes = try media.content(of: data, upTo: MediaTags.maxTextBytes + 8)
            guard bytes.count > 8 else { continue }
            let value = bytes[8...]
            if let name = Self.names[item.type] {
                // Type 1 is UTF-8.
                let text =
                    MediaBytes.number(bytes[0..<4]) == 1
                    ? MediaTags.text(value) : value.count <= 4 ? String(MediaBytes.number(value)) : nil
                texts[name] = texts[name] ?? text
            }
            // Two bytes of zero, the number, which is zero if there is none, and the count.
            let number = value.count >= 4 ? MediaBytes.number(value.dropFirst(2).prefix(2)) : 0
            switch item.type {
            case "trkn" where number > 0: tags.track = MediaTags.number(number)
            case "disk" where number > 0: tags.disc = MediaTags.number(number)
            default: break
            }
        }
    }

    /// Reads the texts of QuickTime, which have no boxes around them: two bytes of length and two of language come
    /// before each.
    private func readTexts(_ user: MediaBytes.Box, into texts: inout [String: String]) throws {
        for box in try media.boxes(in: user) {
            guard let name = Self.names[box.type] else { continue }
            let bytes = try media.content(of: box, upTo: MediaTags.maxTextBytes + 4)
            texts[name] = MediaTags.text(bytes.dropFirst(4).prefix(Int(MediaBytes.number(bytes.prefix(2)))))
        }
    }

    // MARK: Chapters

    /// Reads the text track that another track refers to as its chapters.
    private func readChapters(_ tracks: [MP4Track], into tags: inout MediaTags) throws {
        let numbers = tracks.flatMap(\.chapterTracks)
        guard let track = tracks.first(where: { numbers.contains($0.number) && ["text", "sbtl"].contains($0.kind) })
        else { return }
        for sample in try track.samples(upTo: MediaTags.maxChapters, in: media) {
            guard let start = track.times?.milliseconds(sample.start) else { continue }
            // Two bytes of length come before the text, which is UTF-8, or UTF-16 with a byte order mark.
            let bytes = try media.read(sample.position, Int(min(sample.size, Int64(MediaTags.maxTextBytes))))
            let text = bytes.dropFirst(2).prefix(Int(MediaBytes.number(bytes.prefix(2))))
            let isWide = text.starts(with: [0xFE, 0xFF]) || text.starts(with: [0xFF, 0xFE])
            tags.add(MediaChapter(start: start, name: isWide ? ID3Tags.text([1] + text) : MediaTags.text(text)))
        }
    }

    /// Reads a `chpl` box: times in 100 ns, and names with a length of one byte.
    private func readChapterList(_ movie: MediaBytes.Box, into tags: inout MediaTags) throws {
        guard let box = try media.box(["udta", "chpl"], in: movie) else { return }
        let bytes = try media.content(of: box, upTo: 255 * (9 + 255) + 9)
        var rest = bytes.dropFirst(bytes.first == 0 ? 4 : 8)
        for _ in 0..<(rest.popFirst() ?? 0) {
            guard rest.count >= 9, let count = rest.dropFirst(8).first.map({ Int($0) }) else { break }
            let start = MediaBytes.number(rest.prefix(8)) / 10_000
            tags.add(MediaChapter(start: start, name: MediaTags.text(rest.dropFirst(9).prefix(count))))
            rest = rest.dropFirst(9 + count)
        }
    }
}
