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
        guard let last = parts.last else {
            (name, tags) = (nil, TitleTags())
            return
        }
        let (file, folder) = (FileName(Self.stem(of: last)), parts.dropLast().last.map { FileName($0) })
        self = isManifest && folder?.name != nil ? folder ?? file : file
    }

    /// Reads the name of a file without its suffix.
    private init(_ text: some StringProtocol) {
        let text = Self.decoded(text)
        guard !Self.isAddress(text) else {
            (name, tags) = (nil, TitleTags())
            return
        }
        var words = Words(text)
        var tags = TitleTags()
        if let number = words.takeTrack() { (tags.disc, tags.track) = number }
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

    /// Returns a file's name without its suffix: a point, and up to five letters and digits, not only digits.
    private static func stem(of file: Substring) -> Substring {
        guard let point = file.lastIndex(of: "."), point > file.startIndex else { return file }
        let suffix = file[file.index(after: point)...]
        let isSuffix =
            (1...5).contains(suffix.utf8.count) && suffix.contains(where: \.isLetter)
            && suffix.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        return isSuffix ? file[..<point] : file
    }
}

/// The text of a file's name, as its parts are read and taken away.
private struct Words {
    private var text: String

    init(_ text: String) { self.text = text }

    /// Takes the number at the beginning, such as `01 - `, `3. ` or `2-07 `; returns the disc and the track.
    ///
    /// A number counts only if it begins with a zero, or if more than a space separates it, because it may be a part of
    /// the name, as in `12 Monkeys`.
    mutating func takeTrack() -> (disc: Int?, track: Int)? {
        guard text.first?.isNumber == true,
            let match = text.prefixMatch(
                of: /(?:(?<disc>[0-9]{1,2})-(?=[0-9]{2}[^0-9]))?(?<track>[0-9]{1,3})(?<gap>[ ._)-]+)(?=\S)/),
            let track = Int(match.track)
        else { return nil }
        let isPadded = match.track.count > 1 && match.track.hasPrefix("0") || match.disc != nil
        let isSeparated = [")", " -", "- ", ". "].contains { match.gap.contains($0) }
        guard isPadded || isSeparated else { return nil }
        let disc = match.disc.flatMap { Int($0) }
        text = String(text[match.range.upperBound...])
        return (disc, track)
    }

    /// Returns what the text says of a series, such as `The Harbour S01E02`; nil if it names no episode.
    func episode() -> (series: String, season: Int, number: Int)? {
        guard mayNameEpisode else { return nil }
        let place: Range<String.Index>, numbers: (Substring, Substring)
        if let match = text.firstMatch(of: /(?i)(?:^|[ ._-])s([0-9]{1,2})[ ._-]?e([0-9]{1,4})(?![0-9a-z])/) {
            (place, numbers) = (match.range, (match.1, match.2))
        } else if let match = text.firstMatch(of: /(?i)(?:^|[ ._-])([0-9]{1,2})x([0-9]{2,3})(?![0-9a-z])/) {
            (place, numbers) = (match.range, (match.1, match.2))
        } else {
            return nil
        }
        guard let season = Int(numbers.0), let number = Int(numbers.1) else { return nil }
        let series = Self.spaced(String(text[..<place.lowerBound])).trimmingCharacters(in: Self.edges)
        return (series, season, number)
    }

    /// Whether a letter `s` or `x` stands beside a digit. Most names are decided by this, because it is fast.
    private var mayNameEpisode: Bool {
        zip(text.utf8, text.utf8.dropFirst()).contains { one, next in
            (one | 0x20 == UInt8(ascii: "s") && (0x30...0x39).contains(next))
                || ((0x30...0x39).contains(one) && next | 0x20 == UInt8(ascii: "x"))
        }
    }

    /// The text as people read it; nil if it is empty or a token.
    var readable: String? {
        var words = Self.spaced(text).split(separator: " ")
        // What follows the resolution or the codec of a film describes the file.
        if let first = words.dropFirst().firstIndex(where: Self.isTechnical) { words = Array(words[..<first]) }
        let name = words.joined(separator: " ").trimmingCharacters(in: Self.edges)
        guard name.contains(where: { $0.isLetter || $0.isNumber }) else { return nil }
        return words.count == 1 && Self.isToken(name) ? nil : name
    }

    private static let edges = CharacterSet(charactersIn: " ._-")
    private static let technical: Set = [
        "480p", "576p", "720p", "1080p", "1080i", "1440p", "2160p", "4k", "uhd", "x264", "x265", "h264", "h265", "hevc",
        "av1",
        "webdl", "web-dl", "webrip", "bluray", "blu-ray", "bdrip", "brrip", "dvdrip", "hdtv", "remux",
    ]

    private static func isTechnical(_ word: Substring) -> Bool {
        technical.contains(word.trimmingCharacters(in: CharacterSet(charactersIn: "[]()")).lowercased())
    }

    /// Returns a text with spaces in place of the marks that stand for them in names of files.
    private static func spaced(_ text: String) -> String {
        if text.contains(" ") { return text.replacing("_", with: " ") }
        for mark in ["_", "+", "."] where text.contains(mark) {
            let spaced = text.replacing(mark, with: " ")
            return mark == "." ? spaced : spaced.replacing(".", with: " ")
        }
        // A single hyphen may be a part of a word.
        return text.split(separator: "-").count > 2 && !isToken(text) ? text.replacing("-", with: " ") : text
    }

    /// Returns whether a word is a number or a key of a program rather than a word of people.
    private static func isToken(_ word: String) -> Bool {
        let plain = word.filter { $0 != "-" && $0 != "_" && $0 != "=" }
        let (letters, digits) = (plain.count(where: \.isLetter), plain.count(where: \.isNumber))
        guard letters > 0 else { return digits > 4 }
        guard plain.utf8.count == plain.count, plain.count >= 8 else { return false }
        if digits > 0, plain.count >= 12, plain.allSatisfy(\.isHexDigit) { return true }
        let changes = zip(plain, plain.dropFirst()).count { one, next in
            one.isLowercase && next.isUppercase || one.isNumber != next.isNumber
        }
        if changes * 10 > plain.count * 3 { return true }
        let vowels = plain.count { "aeiouyAEIOUY".contains($0) }
        return plain.count >= 12 && vowels * 5 < letters
    }
}
