import VaultModel

/// What media state about themselves. Every string is one line of bounded length, and every number is plausible.
struct MediaTags: Hashable, Codable, Sendable {
    /// The name of the film, episode, piece of music or chapter of a book.
    var name: String?
    /// Who performs, speaks or made it.
    var artist: String?
    /// The album, audio book or podcast that it belongs to.
    var album: String?
    /// The series that it is an episode of.
    var series: String?
    /// Its number on the medium.
    var track: Int?
    /// The number of the medium, if the album has several.
    var disc: Int?
    var season: Int?
    var episode: Int?
    /// The language of the sound, as the media state it: a tag of BCP 47, or three letters of ISO 639-2.
    var language: String?
    /// How long it plays, in milliseconds.
    var duration: Int64?
    /// The chapters, in the order of time.
    var chapters: [MediaChapter] = []

    /// The longest accepted duration, in milliseconds: a leap year.
    static let maxDuration: Int64 = 366 * 86_400_000
    /// The maximum number of chapters.
    static let maxChapters = 1024
    /// The maximum number of bytes of a text that are looked at.
    static let maxTextBytes = 1024
    /// The numbers that are accepted of a track, disc, season or episode. A podcast may have thousands of episodes, and
    /// some state a date.
    private static let numbers = 0...99_999_999

    init() {}

    /// Reads what media state. Their first bytes decide how they are read.
    ///
    /// If a byte is not held, the tags are what was found before it.
    init(of media: MediaBytes) throws {
        do {
            try read(MediaWindow(media).bytes)
        } catch let error as VaultError where error.code == .notHeld {}
        chapters.sort { $0.start < $1.start }
    }

    private mutating func read(_ media: MediaBytes) throws {
        var start: Int64 = 0
        if let tag = try ID3Tag(of: media.front, upTo: ID3Tags.maxBytes) {
            ID3Tags(tag).read(into: &self)
            start = tag.byteCount
        }
        let head = try media.read(start, 12)
        if head.starts(with: "fLaC".utf8) {
            try FLACTags(media, from: start).read(into: &self)
        } else if head.starts(with: "OggS".utf8) {
            try OggTags(of: media, upTo: OggTags.maxBytes)?.read(media, into: &self)
        } else if head.starts(with: MatroskaTags.signature) {
            var matroska = MatroskaTags(media)
            try matroska.read(into: &self)
        } else if head.dropFirst(4).starts(with: "ftyp".utf8) {
            try MP4Tags(media).read(into: &self)
        } else if let chunks = ChunkTags(media, beginningWith: head) {
            try chunks.read(into: &self)
        } else {
            duration = try MP3Length(of: media, from: start)?.milliseconds ?? duration
        }
    }

    // MARK: What is accepted

    /// Takes what texts with names in capitals state, such as `TITLE`, where nothing is stated yet.
    mutating func take(_ texts: [String: String]) {
        func text(_ names: String...) -> String? { names.lazy.compactMap { texts[$0] }.first }
        func number(_ names: String...) -> Int? { names.lazy.compactMap { texts[$0].flatMap(Self.number) }.first }
        name = name ?? text("TITLE")
        artist = artist ?? text("ARTIST", "ALBUMARTIST", "ALBUM_ARTIST", "ALBUM ARTIST")
        album = album ?? text("ALBUM")
        series = series ?? text("SHOW", "SERIES")
        track = track ?? number("TRACKNUMBER", "TRACK")
        disc = disc ?? number("DISCNUMBER", "DISC")
        season = season ?? number("SEASON", "SEASON_NUMBER", "SEASONNUMBER")
        episode = episode ?? number("EPISODE", "EPISODE_SORT", "EPISODE_NUMBER", "EPISODENUMBER")
        language = language ?? text("LANGUAGE").flatMap(Self.language)
    }

    /// Adds a chapter. Chapters that begin before the media or after a year, and too many chapters, are left out.
    mutating func add(_ chapter: MediaChapter) {
        guard chapters.count < Self.maxChapters, (0...Self.maxDuration).contains(chapter.start) else { return }
        chapters.append(chapter)
    }

    /// Returns a text of UTF-8, up to its first zero byte; nil if nothing of it can be seen.
    static func text(_ bytes: some Collection<UInt8>) -> String? {
        MediaName.cleaned(String(decoding: bytes.prefix(maxTextBytes).prefix { $0 != 0 }, as: UTF8.self))
    }

    /// Returns the number at the beginning of a text such as `3` or `3/12`; nil if there is none, or it is implausible.
    static func number(_ text: String) -> Int? {
        number(Int64(text.drop { $0 == " " }.prefix { $0.isASCII && $0.isNumber }) ?? -1)
    }

    /// Returns a number; nil if it is implausible.
    static func number(_ number: Int64) -> Int? {
        (Int64(numbers.lowerBound)...Int64(numbers.upperBound)).contains(number) ? Int(number) : nil
    }

    /// Returns a language; nil if the text has no form of one, or says that the language is undetermined.
    static func language(_ text: String) -> String? {
        let isTag = text.allSatisfy { $0 == "-" || $0.isASCII && ($0.isLetter || $0.isWholeNumber) }
        return isTag && (2...35).contains(text.count) && text.lowercased() != "und" ? text : nil
    }

    /// Returns a duration; nil if it is not positive, or longer than a year.
    static func duration(_ milliseconds: Int64) -> Int64? {
        (1...maxDuration).contains(milliseconds) ? milliseconds : nil
    }

    /// Returns the duration of a number of units; nil if it is not positive, is no number, or is longer than a year.
    static func duration(_ units: Double, perSecond scale: Double) -> Int64? {
        let milliseconds = (units / scale * 1000).rounded()
        return milliseconds >= 1 && milliseconds <= Double(maxDuration) ? Int64(milliseconds) : nil
    }
}

/// A chapter of a film or a book.
public struct MediaChapter: Hashable, Codable, Sendable {
    /// When it begins, in milliseconds from the beginning of the title.
    public let start: Int64
    /// Its name; nil if it has none.
    public let name: String?
}
