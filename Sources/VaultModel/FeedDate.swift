/// A time as feeds write it: in the form of mail (RFC 822, RSS) or of the Internet (RFC 3339, Atom and JSON).
///
/// Feeds take liberties, so the day of the week, the seconds and the time of the day may be absent.
package enum FeedDate {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    /// The zones with names, in hours from UTC.
    private static let zones: [Substring: Int] = [
        "ut": 0, "utc": 0, "gmt": 0, "z": 0, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6,
        "pst": -8, "pdt": -7,
    ]
    /// The longest text that is read, in bytes.
    private static let maxBytes = 64

    /// Returns seconds since 1970; nil if the text is no time.
    package static func seconds(_ text: String) -> Int64? {
        guard text.utf8.count <= maxBytes else { return nil }
        let words = text.lowercased().split { $0.isWhitespace || $0 == "," }
        guard let first = words.first?.utf8.first else { return nil }
        // In the form of the Internet the year is first, with four digits.
        let isInternet = words[0].utf8.count >= 10 && words[0].utf8.dropFirst(4).first == UInt8(ascii: "-")
        if isInternet { return ofInternet(words.joined(separator: "t")) }
        return ofMail(words[((0x30...0x39).contains(first) ? 0 : 1)...])
    }

    /// Reads `2 oct 2002 13:00:00 gmt`.
    private static func ofMail(_ words: ArraySlice<Substring>) -> Int64? {
        let parts = Array(words)
        guard parts.count >= 3, let day = number(parts[0]), let written = number(parts[2]),
            let month = months.firstIndex(of: String(parts[1].prefix(3)))
        else { return nil }
        // RFC 2822 §4.3: two digits are a year from 1950 to 2049.
        let year = parts[2].count == 2 ? written + (written < 50 ? 2000 : 1900) : written
        let time = parts.count > 3 ? parts[3] : "00:00:00"
        let zone = parts.count > 4 ? parts[4] : "gmt"
        return seconds(day: day, month: month + 1, year: year, time: time, offset: offset(zone) ?? 0)
    }

    /// Reads `2003-12-13t18:30:02.25+01:00`.
    private static func ofInternet(_ text: String) -> Int64? {
        let date = text.prefix(10).split(separator: "-", omittingEmptySubsequences: false)
        guard date.count == 3, let year = number(date[0]), let month = number(date[1]), let day = number(date[2]) else {
            return nil
        }
        let rest = text.dropFirst(10)
        guard rest.first == "t" else {
            return rest.isEmpty ? seconds(day: day, month: month, year: year, time: "00:00:00", offset: 0) : nil
        }
        let clock = rest.dropFirst()
        let time = clock.prefix { $0.isNumber || $0 == ":" }
        let zone = clock.dropFirst(time.count).drop { $0 == "." || $0.isNumber || $0 == "t" }
        guard let offset = zone.isEmpty ? 0 : offset(zone) else { return nil }
        return seconds(day: day, month: month, year: year, time: time, offset: offset)
    }

    private static func seconds(day: Int, month: Int, year: Int, time: Substring, offset: Int) -> Int64? {
        // Without a leading zero, and without seconds.
        var parts = time.split(separator: ":").map { $0.count == 1 ? "0" + $0 : String($0) }
        if parts.count == 2 { parts.append("00") }
        guard (1...9999).contains(year), (1...12).contains(month),
            let seconds = HTTPDate.seconds(
                day: day, month: month, year: year, time: Array(parts.joined(separator: ":").utf8)[...])
        else { return nil }
        return seconds - Int64(offset)
    }

    /// Returns the seconds that a zone is ahead of UTC; nil if it is unknown.
    private static func offset(_ zone: Substring) -> Int? {
        if let hours = zones[zone] { return hours * 3600 }
        let digits = zone.dropFirst().filter { $0 != ":" }
        guard let sign = zone.first, sign == "+" || sign == "-", digits.count == 4, let written = number(digits[...])
        else { return nil }
        let (hours, minutes) = (written / 100, written % 100)
        guard hours <= 24, minutes < 60 else { return nil }
        return (hours * 3600 + minutes * 60) * (sign == "-" ? -1 : 1)
    }

    private static func number(_ digits: Substring) -> Int? {
        digits.utf8.count <= 4 ? HTTPDate.number(Array(digits.utf8)[...]) : nil
    }
}
