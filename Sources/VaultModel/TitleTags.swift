/// What a title's media, or the name of its file, state about the album or series that it belongs to.
public struct TitleTags: Hashable, Codable, Sendable {
    /// Who performs, speaks or made the title.
    public var artist: String?
    /// The album, audio book or podcast that it belongs to.
    public var album: String?
    /// The series that it is an episode of.
    public var series: String?
    /// Its number on the medium, at least 0.
    public var track: Int?
    /// The number of the medium, at least 0, if the album has several.
    public var disc: Int?
    /// The number of its season, at least 0.
    public var season: Int?
    /// Its number within the season, at least 0.
    public var episode: Int?
    /// The language of the sound: a tag of BCP 47, or three letters of ISO 639-2.
    public var language: String?

    /// Creates tags that state nothing.
    public init() {}

    /// Whether nothing is stated.
    public var isEmpty: Bool { self == TitleTags() }

    /// Whether the title's place among others is stated.
    public var isNumbered: Bool { track != nil || episode != nil }

    /// Returns these tags, with what another source states where they state nothing.
    ///
    /// Numbers are taken over only together, so that a number in the name of a file is not mixed with those of the
    /// media.
    public func completed(by other: TitleTags) -> TitleTags {
        var tags = self
        tags.artist = artist ?? other.artist
        tags.album = album ?? other.album
        tags.series = series ?? other.series
        tags.language = language ?? other.language
        if !isNumbered {
            (tags.track, tags.disc) = (other.track, disc ?? other.disc)
            (tags.season, tags.episode) = (season ?? other.season, other.episode)
        }
        return tags
    }
}

// Conversion to and from a member of a sealed record.
extension TitleTags {
    /// The maximum number of bytes in a text that is recorded.
    private static let maxBytes = 800
    /// The numbers that are recorded. Some podcasts state a date as the number of an episode.
    package static let numbers: ClosedRange<Int64> = 0...99_999_999

    /// Creates tags from their record. Members that are invalid count as absent.
    package init(_ record: JSONObject) {
        func text(_ name: String) -> String? {
            guard case .string(let text)? = record[name], !text.isEmpty, text.utf8.count <= Self.maxBytes else {
                return nil
            }
            return text
        }
        func number(_ name: String) -> Int? {
            guard case .integer(let number)? = record[name], Self.numbers.contains(number) else { return nil }
            return Int(number)
        }
        (artist, album, series, language) = (text("artist"), text("album"), text("series"), text("language"))
        (track, disc, season, episode) = (number("track"), number("disc"), number("season"), number("episode"))
    }

    /// The members of the record. Texts and numbers out of bounds are left out.
    package var record: JSONObject {
        var record = JSONObject()
        for (name, text) in [("artist", artist), ("album", album), ("series", series), ("language", language)] {
            if let text, !text.isEmpty, text.utf8.count <= Self.maxBytes { record[name] = .string(text) }
        }
        for (name, number) in [("track", track), ("disc", disc), ("season", season), ("episode", episode)] {
            if let number, Self.numbers.contains(Int64(number)) { record[name] = .integer(Int64(number)) }
        }
        return record
    }
}
