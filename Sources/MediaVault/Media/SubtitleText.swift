import VaultModel

/// Reads subtitles in SubRip or WebVTT, and writes them as WebVTT.
///
/// Only the cues are kept: styles, regions and notes, which could name something to fetch, are left out.
enum SubtitleText {
    /// The maximum size of a file in bytes, and of what is written.
    static let maxBytes = 2 << 20
    private static let (maxCues, maxCueBytes, maxHourDigits) = (20_000, 4000, 4)

    /// Returns the subtitles of a file as WebVTT.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the file is too large, is not text in UTF-8, has a time
    ///   that cannot be read, or has no subtitles or too many.
    static func webVTT(_ file: [UInt8]) throws -> [UInt8] {
        try check(byteCount: Int64(file.count))
        guard let text = String(validating: file, as: UTF8.self) else {
            throw refusal("they are not text in UTF-8; convert them")
        }
        guard !file.contains(where: isControl) else { throw refusal("they have bytes that no text has") }
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        let isWebVTT = lines[0].drop { $0 == "\u{FEFF}" }.hasPrefix("WEBVTT")
        var (written, count, next) = ("WEBVTT\n", 0, 0)
        while let place = lines[next...].firstIndex(where: { $0.contains(arrow) }) {
            guard let times = times(lines[place]) else {
                throw refusal("line \(place + 1) is not a time such as 00:01:02.000 --> 00:01:04.000")
            }
            let told = lines[(place + 1)...].prefix { !$0.trimmingBlanks().isEmpty && !$0.contains(arrow) }
            next = told.endIndex
            guard told.reduce(0, { $0 + $1.utf8.count }) <= maxCueBytes else {
                throw refusal("those of line \(place + 1) are longer than \(maxCueBytes) bytes")
            }
            // Many files have subtitles of no length, which no player shows.
            guard times.first < times.end, !told.isEmpty else { continue }
            count += 1
            written += "\n\(clock(times.first)) --> \(clock(times.end))\(isWebVTT ? times.settings : "")\n"
            for line in told { written += (isWebVTT ? String(line) : escaped(line)) + "\n" }
            guard count <= maxCues, written.utf8.count <= maxBytes else { throw refusal("there are too many of them") }
        }
        guard count > 0 else { throw refusal("there are none in the file; give SubRip (.srt) or WebVTT (.vtt)") }
        return Array(written.utf8)
    }

    /// Checks the size of a file in bytes.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the size is 0, or more than ``maxBytes``.
    static func check(byteCount: Int64) throws {
        guard (1...Int64(maxBytes)).contains(byteCount) else {
            throw refusal("the file has \(byteCount) bytes, and not 1 to \(maxBytes)")
        }
    }

    private static let arrow = "-->"

    private static func refusal(_ reason: String) -> VaultError {
        VaultError(.invalidArgument, "the subtitles cannot be used: \(reason)")
    }

    private static func isControl(_ byte: UInt8) -> Bool {
        byte < 0x20 && !(0x09...0x0D).contains(byte) || byte == 0x7F
    }

    // MARK: Times

    /// Reads the line before a cue: when it shows, in milliseconds, and where.
    private static func times(_ line: Substring) -> (first: Int64, end: Int64, settings: String)? {
        let parts = line.split(separator: arrow, maxSplits: 1, omittingEmptySubsequences: false)
        let words = parts[1].split { $0 == " " || $0 == "\t" }
        guard let first = milliseconds(parts[0].trimmingBlanks()), let end = words.first.flatMap(milliseconds) else {
            return nil
        }
        return (first, end, words.dropFirst().filter(isSetting).map { " \($0)" }.joined())
    }

    /// Reads `01:02:03.004`, with a comma in place of the point as in SubRip, or without hours.
    private static func milliseconds(_ text: Substring) -> Int64? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        let seconds = (parts.last ?? "").split(omittingEmptySubsequences: false) { $0 == "." || $0 == "," }
        guard (2...3).contains(parts.count), seconds.count == 2,
            let hours = parts.count == 2 ? 0 : number(parts[0], 1...maxHourDigits),
            let minutes = number(parts[parts.count - 2], 2...2), let whole = number(seconds[0], 2...2),
            let rest = number(seconds[1], 3...3), minutes < 60, whole < 60
        else { return nil }
        return ((hours * 60 + minutes) * 60 + whole) * 1000 + rest
    }

    private static func number(_ text: Substring, _ digits: ClosedRange<Int>) -> Int64? {
        digits.contains(text.utf8.count) ? DecimalNumber.exact(text) : nil
    }

    private static func clock(_ milliseconds: Int64) -> String {
        let seconds = milliseconds / 1000
        func padded(_ number: Int64, _ digits: Int) -> String {
            String(repeating: "0", count: max(0, digits - "\(number)".count)) + "\(number)"
        }
        return "\(padded(seconds / 3600, 2)):\(padded(seconds / 60 % 60, 2)):\(padded(seconds % 60, 2))."
            + padded(milliseconds % 1000, 3)
    }

    // MARK: Text

    private static let settings: Set<Substring> = ["vertical", "line", "position", "size", "align"]

    private static func isSetting(_ word: Substring) -> Bool {
        let isPlain = word.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x61...0x7A: true
            default: ":.,%-".utf8.contains(byte)
            }
        }
        return isPlain && word.utf8.count <= 40 && settings.contains(word.prefix { $0 != ":" })
    }

    /// Returns a line of SubRip as WebVTT has it, in which an ampersand begins a character's name.
    private static func escaped(_ line: Substring) -> String { String(line).replacing("&", with: "&amp;") }
}
