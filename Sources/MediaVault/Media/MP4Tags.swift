/// What MP4 and QuickTime media state about themselves: the items of `moov/udta/meta/ilst`, the length of the movie, the
/// language of its sound, and chapters (a text track that another track refers to, or else a `chpl` box).
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
        if let list = try media.box(["udta", "meta", "ilst"], in: movie) { try readItems(list, into: &tags) }
        let tracks = try media.boxes(in: movie).filter { $0.type == "trak" }.map { try MP4Track($0, in: media) }
        tags.language = tracks.lazy.filter { $0.kind == "soun" }.compactMap(\.language).first
        try readChapters(tracks, into: &tags)
        if tags.chapters.isEmpty { try readChapterList(movie, into: &tags) }
    }

    /// Returns how long the movie plays. If its parts were written one by one, `mehd` states it.
    private func duration(_ movie: MediaBytes.Box) throws -> Int64? {
        guard let header = try media.box(["mvhd"], in: movie), let times = try MP4Times(header, in: media) else {
            return nil
        }
        guard times.duration == nil, let parts = try media.box(["mvex", "mehd"], in: movie) else {
            return times.duration
        }
        let content = try media.content(of: parts, upTo: 12)
        guard content.count >= (content.first == 1 ? 12 : 8) else { return nil }
        return times.milliseconds(MediaBytes.number(content[4..<(content[0] == 1 ? 12 : 8)]))
            .flatMap(MediaTags.duration)
    }

    // MARK: Items

    private func readItems(_ list: MediaBytes.Box, into tags: inout MediaTags) throws {
        var texts: [String: String] = [:]
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
        tags.take(texts)
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
