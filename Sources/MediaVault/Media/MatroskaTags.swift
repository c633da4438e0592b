import VaultModel

/// What Matroska and WebM state about themselves (RFC 9559): the segment's information, tags, tracks and chapters.
///
/// The elements before the first cluster are read, and those that the seek head names.
struct MatroskaTags {
    private var file: MatroskaFile

    /// The first bytes of the media.
    static let signature: [UInt8] = [0x1A, 0x45, 0xDF, 0xA3]

    private typealias Element = MatroskaFile.Element
    private typealias ID = MatroskaFile.ID

    init(_ media: MediaBytes) { file = MatroskaFile(media) }

    /// Reads what the media state.
    mutating func read(into tags: inout MediaTags) throws {
        guard let segment = try file.segment() else { return }
        for part in try parts(of: segment) {
            switch part.id {
            case ID.info: try readInformation(part, into: &tags)
            case ID.tracks: try readTracks(part, into: &tags)
            case ID.tags: try readTags(part, into: &tags)
            default: try readChapters(part, into: &tags)
            }
        }
    }

    /// Returns the elements of a segment that hold metadata, each kind once, in file order, so that those in front of
    /// the first byte that is not held are read.
    private mutating func parts(of segment: Element) throws -> [Element] {
        var (found, sought): ([Element], [Int64]) = ([], [])
        var position = segment.body.lowerBound
        while let next = try file.element(at: position, within: segment.body.upperBound), next.id != ID.cluster {
            found.append(next)
            if next.id == ID.seekHead { sought += try positions(in: next) }
            position = next.body.upperBound
        }
        for offset in sought where offset >= 0 && offset < segment.body.length {
            let place = segment.body.lowerBound + offset
            guard place >= position else { continue }
            if let part = try? file.element(at: place, within: segment.body.upperBound) { found.append(part) }
        }
        return [ID.info, ID.tracks, ID.chapters, ID.tags].compactMap { id in found.first { $0.id == id } }
            .sorted { $0.body.lowerBound < $1.body.lowerBound }
    }

    private mutating func positions(in seekHead: Element) throws -> [Int64] {
        try file.children(of: seekHead).filter { $0.id == ID.seek }.compactMap { seek in
            try file.child(ID.seekPosition, of: seek).flatMap(file.integer)
        }
    }

    // MARK: What the parts state

    private mutating func readInformation(_ part: Element, into tags: inout MediaTags) throws {
        // The title at the level of the whole says it more exactly.
        tags.name = try tags.name ?? file.child(ID.title, of: part).flatMap(file.text)
        let scale = try file.child(ID.timestampScale, of: part).flatMap(file.integer) ?? 1_000_000
        let length = try file.child(ID.duration, of: part).flatMap(file.real) ?? 0
        tags.duration = MediaTags.duration(length * Double(scale), perSecond: 1_000_000_000)
    }

    /// Takes the language of the first sound track that states one. Where none is stated, the standard says English, but
    /// the files do not mean it.
    private mutating func readTracks(_ part: Element, into tags: inout MediaTags) throws {
        for entry in try file.children(of: part) where entry.id == ID.trackEntry && tags.language == nil {
            // Type 2 is sound.
            guard try file.child(ID.trackType, of: entry).flatMap(file.integer) == 2 else { continue }
            let stated = try file.child(ID.languageBCP47, of: entry) ?? file.child(ID.language, of: entry)
            tags.language = try stated.flatMap(file.text).flatMap(MediaTags.language)
        }
    }

    private mutating func readChapters(_ part: Element, into tags: inout MediaTags) throws {
        guard let edition = try file.child(ID.edition, of: part) else { return }
        for atom in try file.children(of: edition) where atom.id == ID.chapter {
            guard tags.chapters.count < MediaTags.maxChapters else { return }
            guard try file.child(ID.chapterHidden, of: atom).flatMap(file.integer) != 1,
                let start = try file.child(ID.chapterStart, of: atom).flatMap(file.integer)
            else { continue }
            let display = try file.child(ID.chapterDisplay, of: atom)
            let name = try display.flatMap { try file.child(ID.chapterName, of: $0) }.flatMap(file.text)
            tags.add(MediaChapter(start: start / 1_000_000, name: name))
        }
    }

    // MARK: Tags

    /// The levels of a tag (RFC 9559 §5.1.8.1.1.1).
    private enum Level {
        static let series: Int64 = 70
        static let season: Int64 = 60
        static let whole: Int64 = 50
        static let medium: Int64 = 40
        static let track: Int64 = 30
    }

    private mutating func readTags(_ part: Element, into tags: inout MediaTags) throws {
        var levels: [Int64: [String: String]] = [:]
        defer { Self.take(levels, into: &tags) }
        for tag in try file.children(of: part) where tag.id == ID.tag {
            let targets = try file.child(ID.targets, of: tag).map { try file.children(of: $0) } ?? []
            // A tag may be about one track, chapter or attachment only.
            let uids = try targets.filter { ID.uids.contains($0.id) }.map { try file.integer($0) }
            guard uids.allSatisfy({ $0 == 0 }) else { continue }
            let level = try targets.first { $0.id == ID.targetLevel }.flatMap(file.integer) ?? Level.whole
            for simple in try file.children(of: tag) where simple.id == ID.simpleTag {
                guard let name = try file.child(ID.tagName, of: simple).flatMap(file.text)?.uppercased(),
                    levels[level]?[name] == nil
                else { continue }
                levels[level, default: [:]][name] = try file.child(ID.tagString, of: simple).flatMap(file.text)
            }
        }
    }

    /// Takes what the levels state: at the level of the whole, the number and the title are those of an episode if there
    /// is a series, those of an album if there is a track, and else those of the film or piece of music.
    private static func take(_ levels: [Int64: [String: String]], into tags: inout MediaTags) {
        func title(_ level: Int64) -> String? { levels[level]?["TITLE"] }
        func number(_ level: Int64) -> Int? { levels[level]?["PART_NUMBER"].flatMap(MediaTags.number) }
        tags.disc = number(Level.medium)
        if let series = title(Level.series) {
            tags.series = series
            tags.season = number(Level.season)
            tags.episode = number(Level.whole)
        }
        if let track = title(Level.track) {
            (tags.name, tags.album, tags.track) = (track, title(Level.whole), number(Level.track))
        } else {
            tags.name = title(Level.whole) ?? tags.name
            tags.track = tags.series == nil ? number(Level.whole) : nil
        }
        for level in [Level.track, Level.whole] { tags.take(levels[level] ?? [:]) }
    }
}
