import Foundation
import VaultModel

/// What the name of a title's file says to people: a name, and the title's place in an album or series.
///
/// A playlist's file is mostly called `index` or `master`, so that the name of its folder is used.
struct FileName: Hashable, Sendable {
    /// The name; nil if the file's name says nothing to people.
    let name: String?
    /// The numbers and the series that the file's name states.
    let tags: TitleTags

    /// Reads the last part of a URL's path.
    ///
    /// - Parameters:
    ///   - url: an absolute URL. Neither its host nor its query is used.
    ///   - isManifest: whether the URL is a playlist's or a presentation's.
    init(ofURL url: String, isManifest: Bool) {
        let parts = Self.path(of: url)
        let last = parts.last.map(Self.stem) ?? ""
        guard isManifest else {
            self = FileName(last)
            return
        }
        // A media server writes a film's folder as `mp4:film.mp4`.
        let folders = parts.dropLast().map { folder in
            Self.serverMarks.first(where: folder.hasPrefix).map { Self.stem(of: folder.dropFirst($0.count)) } ?? folder
        }
        // Of folders around those of streams, only near ones name the film, and none that may be a host's.
        let near = folders.suffix(3).reversed().drop { Self.isOfStreams($0) }.first
        let isOwn = near == folders.last || near?.contains(".") == false
        let folder = isOwn ? near.map { FileName($0) } : nil
        self = folder.flatMap { $0.name == nil ? nil : $0 } ?? FileName(Self.isOfStreams(last) ? "" : last)
    }

    /// Reads the name of a folder, or of a file without its suffix.
    init(_ text: some StringProtocol) {
        let text = Self.decoded(text)
        guard !Self.isAddress(text) else {
            (name, tags) = (nil, TitleTags())
            return
        }
        var words = Words(text)
        var tags = TitleTags()
        if let number = words.takeTrack() { (tags.disc, tags.track) = number } else { tags.track = words.onlyTrack }
        if let episode = words.episode() {
            (tags.season, tags.episode) = (episode.season, episode.number)
            tags.series = MediaName.cleaned(episode.series)
        }
        name = words.readable.flatMap(MediaName.cleaned)
        self.tags = tags
    }

    /// The parts of a URL's path, without the empty ones, and without parameters such as `;jsessionid=1`.
    static func path(of url: String) -> [Substring] {
        let afterScheme = url.range(of: "://").map { url[$0.upperBound...] } ?? url[...]
        return afterScheme.prefix { $0 != "?" && $0 != "#" }.split(separator: "/").dropFirst()
            .map { $0.prefix { $0 != ";" } }
    }

    /// Returns whether a decoded text may hold an address, a query or a user rather than a name. Viewers see the name,
    /// and must not learn these.
    private static func isAddress(_ text: String) -> Bool {
        if text.contains(where: { "/\\=@~;".contains($0) }) { return true }
        // In a name, these marks stand before a space, or at the end.
        return zip(text, text.dropFirst()).contains { mark, next in "?&:%".contains(mark) && next != " " }
    }

    /// The longest text of a path that is read, in bytes.
    private static let maxBytes = 1024

    private static func decoded(_ text: some StringProtocol) -> String {
        let text = String(text.prefix(maxBytes))
        return text.utf8.contains(UInt8(ascii: "%")) ? text.removingPercentEncoding ?? text : text
    }

    private static let serverMarks = ["mp4:", "mp3:", "flv:", "smil:"]

    private static let streamWords: Set = [
        "hls", "dash", "cmaf", "vod", "stream", "streams", "video", "audio", "media", "master", "main", "index",
        "playlist",
        "manifest", "chunklist", "prog_index", "default", "output", "out", "4k",
    ]

    /// Returns whether a name in the path of a playlist says how its streams are stored rather than what they are.
    private static func isOfStreams(_ name: Substring) -> Bool {
        let name = name.lowercased()
        return streamWords.contains(name)
            || name.hasSuffix("p") && (3...4).contains(name.dropLast().utf8.count)
                && name.dropLast().allSatisfy(\.isNumber)
    }

    private static let programSuffixes: Set = ["php", "asp", "aspx", "ashx", "jsp", "cgi"]

    /// Returns a file's name without its suffix: a point, and up to five letters and digits, not only digits. The file
    /// of a program that answers, such as `get.php`, is no name of media.
    private static func stem(of file: Substring) -> Substring {
        guard let point = file.lastIndex(of: "."), point > file.startIndex else { return file }
        let suffix = file[file.index(after: point)...]
        let isSuffix =
            (1...5).contains(suffix.utf8.count) && suffix.contains(where: \.isLetter)
            && suffix.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        if isSuffix, programSuffixes.contains(suffix.lowercased()) { return "" }
        return isSuffix ? file[..<point] : file
    }
}

/// The text of a file's name, as its parts are read and taken away.
///
/// Lists read the name of every title, so that the characters are looked at one by one: patterns took ten times as long.
private struct Words {
    private var text: [Character]

    init(_ text: String) { self.text = Array(text) }

    /// Takes the number at the beginning, such as `01 - `, `3. ` or `2-07 `; returns the disc and the track.
    ///
    /// A number counts only if it begins with a zero, or if more than a space separates it, because it may be a part of
    /// the name, as in `12 Monkeys`.
    mutating func takeTrack() -> (disc: Int?, track: Int)? {
        let first = digits(at: 0)
        var (disc, track) = (Int?.none, first)
        if (1...2).contains(first.count), has("-", at: first.upperBound) {
            let second = digits(at: first.upperBound + 1)
            if second.count == 2, second.upperBound < text.count, Self.isGap(text[second.upperBound]) {
                (disc, track) = (number(first), second)
            }
        }
        guard (1...3).contains(track.count), let value = number(track) else { return nil }
        var rest = text[track.upperBound...].firstIndex { !Self.isGap($0) } ?? text.endIndex
        // A mark at the end belongs to the rest, which is never empty.
        while rest > track.upperBound, rest == text.endIndex || text[rest].isWhitespace { rest -= 1 }
        guard rest > track.upperBound else { return nil }
        let gap = String(text[track.upperBound..<rest])
        let isPadded = track.count > 1 && text[track.lowerBound] == "0" || disc != nil
        guard isPadded || [")", " -", "- ", ". "].contains(where: gap.contains) else { return nil }
        text = Array(text[rest...])
        return (disc, value)
    }

    private static let trackWords: Set = [
        "track", "titel", "song", "kapitel", "chapter", "folge", "teil", "part", "episode", "ep", "e",
    ]

    /// The number if the text is nothing else, or has only a word such as `Track` before it; nil if it is more.
    var onlyTrack: Int? {
        let digits = text[(text.lastIndex { !Self.isDigit($0) }.map { $0 + 1 } ?? 0)...]
        guard (1...3).contains(digits.count) else { return nil }
        let word = Self.trimmed(text.dropLast(digits.count)).lowercased()
        return word.isEmpty || Self.trackWords.contains(word) ? number(digits.startIndex..<digits.endIndex) : nil
    }

    /// Returns what the text says of a series, such as `The Harbour S01E02` or `The Harbour 1x02`; nil if it names no
    /// episode.
    func episode() -> (series: String, season: Int, number: Int)? {
        let starts = text.indices.filter { $0 == 0 || Self.isEdge(text[$0 - 1]) }
        let found = starts.lazy.compactMap(seasonAndEpisode).first ?? starts.lazy.compactMap(crossed).first
        guard let (start, season, number) = found else { return nil }
        return (Self.trimmed(Self.spaced(Array(text[..<max(0, start - 1)]))), season, number)
    }

    /// Reads `S01E02`, with or without a mark between the two.
    private func seasonAndEpisode(at start: Int) -> (start: Int, season: Int, number: Int)? {
        guard has("s", at: start) else { return nil }
        let season = digits(at: start + 1)
        let isMarked = season.upperBound < text.count && Self.isEdge(text[season.upperBound])
        let letter = season.upperBound + (isMarked ? 1 : 0)
        guard (1...2).contains(season.count), has("e", at: letter) else { return nil }
        return numbers(season, digits(at: letter + 1), 1...4).map { (start, $0, $1) }
    }

    /// Reads `1x02`.
    private func crossed(at start: Int) -> (start: Int, season: Int, number: Int)? {
        let season = digits(at: start)
        guard (1...2).contains(season.count), has("x", at: season.upperBound) else { return nil }
        return numbers(season, digits(at: season.upperBound + 1), 2...3).map { (start, $0, $1) }
    }

    private func numbers(_ season: Range<Int>, _ episode: Range<Int>, _ counts: ClosedRange<Int>) -> (Int, Int)? {
        // `S01E01E02` holds two episodes, and counts as the first.
        let isWord =
            episode.upperBound == text.count || !Self.isASCIILetter(text[episode.upperBound])
            || has("e", at: episode.upperBound) && !digits(at: episode.upperBound + 1).isEmpty
        guard counts.contains(episode.count), isWord, let season = number(season), let episode = number(episode) else {
            return nil
        }
        return (season, episode)
    }

    /// Returns the place of the digits that begin at an index, which may be the end.
    private func digits(at start: Int) -> Range<Int> {
        let start = min(start, text.count)
        return start..<(text[start...].firstIndex { !Self.isDigit($0) } ?? text.count)
    }

    private func number(_ digits: Range<Int>) -> Int? { Int(String(text[digits])) }

    private func has(_ one: Character, at index: Int) -> Bool {
        index < text.count && (text[index] == one || text[index] == Character(one.uppercased()))
    }

    private static func isDigit(_ one: Character) -> Bool { one.isASCII && one.isNumber }

    private static func isASCIILetter(_ one: Character) -> Bool { one.isASCII && one.isLetter }

    private static func isEdge(_ one: Character) -> Bool { one == " " || one == "." || one == "_" || one == "-" }

    private static func isGap(_ one: Character) -> Bool { isEdge(one) || one == ")" }

    /// The text as people read it; nil if it is empty or a token.
    var readable: String? {
        var words = Self.spaced(text).split(separator: " ")
        // What follows the resolution or the codec of a film describes the file.
        if let first = words.dropFirst().firstIndex(where: Self.isTechnical) { words = Array(words[..<first]) }
        let name = Self.trimmed(words.joined(separator: [" "]))
        guard name.contains(where: { $0.isLetter || $0.isNumber }) else { return nil }
        return words.count == 1 && Self.isToken(Array(name)) ? nil : name
    }

    private static let technical: Set = [
        "480p", "576p", "720p", "1080p", "1080i", "1440p", "2160p", "4k", "uhd", "x264", "x265", "h264", "h265", "hevc",
        "av1", "webdl", "web-dl", "webrip", "bluray", "blu-ray", "bdrip", "brrip", "dvdrip", "hdtv", "remux",
    ]

    private static func isTechnical(_ word: ArraySlice<Character>) -> Bool {
        word.count < 12 && technical.contains(trimmed(word, of: "[]()").lowercased())
    }

    private static func trimmed(_ text: some Sequence<Character>, of edges: String = " ._-") -> String {
        // An accent alone is no part of an edge, so that the scalars are looked at.
        let (scalars, edges) = (String(text).unicodeScalars, edges.unicodeScalars)
        guard let first = scalars.firstIndex(where: { !edges.contains($0) }),
            let last = scalars.lastIndex(where: { !edges.contains($0) })
        else { return "" }
        return String(scalars[first...last])
    }

    /// Returns a text with spaces in place of the marks that stand for them in names of files.
    private static func spaced(_ text: [Character]) -> [Character] {
        if text.contains(" ") { return replacing(["_"], in: text) }
        for mark: Character in ["_", "+", "."] where text.contains(mark) { return replacing([mark, "."], in: text) }
        // A single hyphen may be a part of a word.
        return text.split(separator: "-").count > 2 && !isToken(text) ? replacing(["-"], in: text) : text
    }

    private static func replacing(_ marks: [Character], in text: [Character]) -> [Character] {
        text.map { marks.contains($0) ? " " : $0 }
    }

    /// Returns whether a word is a number or a key of a program rather than a word of people.
    private static func isToken(_ word: [Character]) -> Bool {
        let plain = word.filter { $0 != "-" && $0 != "_" && $0 != "=" }
        let (letters, digits) = (plain.count(where: \.isLetter), plain.count(where: \.isNumber))
        guard letters > 0 else { return digits > 4 }
        guard plain.count >= 8, plain.allSatisfy({ $0.utf8.count == 1 }) else { return false }
        if digits > 0, plain.count >= 12, plain.allSatisfy(\.isHexDigit) { return true }
        let changes = zip(plain, plain.dropFirst()).count { one, next in
            one.isLowercase && next.isUppercase || one.isNumber != next.isNumber
        }
        if changes * 10 > plain.count * 3 { return true }
        let vowels = plain.count { "aeiouyAEIOUY".contains($0) }
        return plain.count >= 12 && vowels * 5 < letters
    }
}
