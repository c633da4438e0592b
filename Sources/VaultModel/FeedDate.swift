/// Parses dates in the formats that feeds use: that of mail (RFC 822, in RSS), that of C's `asctime`, and ISO 8601 (in
/// Atom and JSON).
///
/// Feeds deviate from these formats, so each part of a date is recognized by its form, and a missing part is zero.
package enum FeedDate {
    /// The maximum length of a date, in bytes.
    private static let maxBytes = 64

    /// Returns the date in seconds since 1970; nil if the text is not a date.
    package static func seconds(_ text: String) -> Int64? {
        guard text.utf8.count <= maxBytes else { return nil }
        let words = text.lowercased().split(whereSeparator: \.isWhitespace).drop { word in
            weekdays.contains(word.prefix(3)) && !word.contains(where: \.isNumber)
        }
        guard let first = words.first else { return nil }
        // A date in ISO 8601 begins with a year, and does not name the month.
        let isShort = first.split(separator: "-").prefix(3).map(\.count).elementsEqual([2, 2, 2])
        if digits(first).count >= 4 || isShort, !words.contains(where: { month($0) != nil }) {
            return ofInternet(words.joined(separator: " "))
        }
        return ofMail(words.flatMap { $0.split(separator: ",") }.flatMap(parts))
    }

    // MARK: Mail and C

    /// Parses `2 oct 2002 13:00:00 gmt`, `oct 2 13:00:00 2002`, `2 oct 02 1:00 pm +0200`.
    private static func ofMail(_ words: [Substring]) -> Int64? {
        var numbers: [Substring] = []
        var (month, offset): (Int?, Int?)
        var (time, isAfternoon): (Time?, Bool?)
        for word in words {
            if word.first == "+" || word.first == "-" {
                offset = self.offset(word)
            } else if word.contains(":") {
                guard time == nil, let found = Time(word) else { return nil }
                time = found
            } else if month == nil, let found = self.month(word) {
                month = found
            } else if ["am", "pm"].contains(word) {
                isAfternoon = word == "pm"
            } else if !digits(word).isEmpty {
                numbers.append(digits(word))
            } else {
                // Unknown time zones and remarks are ignored.
                offset = offset ?? self.offset(word)
            }
        }
        guard let month, numbers.count == 2 else { return nil }
        // The longer number is the year; if both are short, the second one is.
        if numbers[0].count > 2 { numbers.reverse() }
        guard let day = number(numbers[0]), var year = number(numbers[1]) else { return nil }
        // RFC 2822 §4.3: two digits mean a year from 1950 to 2049, and three count from 1900.
        if numbers[1].count <= 3 { year += numbers[1].count <= 2 && year < 50 ? 2000 : 1900 }
        return seconds(day, month, year, (time ?? Time()).of(halfDay: isAfternoon), offset ?? 0)
    }

    /// Splits a word such as `2-oct-02`, `13:00:00+0200` or `gmt+1` into its parts; the last yields only its offset.
    private static func parts(_ word: Substring) -> [Substring] {
        guard let sign = word.dropFirst().firstIndex(where: { $0 == "+" || $0 == "-" }) else { return [word] }
        let head = word[..<sign]
        if zones[head] != nil { return [word[sign...]] }
        return head.contains(":") ? [head, word[sign...]] : word.split(separator: "-")
    }

    // MARK: ISO 8601

    /// Parses `2003-12-13t18:30:02.25+01:00`, `20031213 1830 z`, `2003/12/13`, `2003-12`, `2003-347`.
    private static func ofInternet(_ text: String) -> Int64? {
        let date = text.prefix { digit($0) != nil || $0 == "-" || $0 == "/" }
        let rest = text.dropFirst(date.count).drop { $0 == " " || $0 == "t" }
        let clock = rest.prefix { digit($0) != nil || ":.,".contains($0) }
        let zone = rest.dropFirst(clock.count).split(separator: " ")
        guard let time = rest.isEmpty ? Time() : Time(clock), let (day, month, year) = calendarDay(date) else {
            return nil
        }
        let offset = zone.lazy.compactMap(offset).first
        if offset == nil, let first = zone.first?.first, first == "+" || first == "-" { return nil }
        return seconds(day, month, year, time, offset ?? 0)
    }

    /// Returns the day that a numeric date names. A day of the year is returned as a day in January, up to January 366.
    private static func calendarDay(_ date: Substring) -> (day: Int, month: Int, year: Int)? {
        var parts = date.split { $0 == "-" || $0 == "/" }
        if parts.count == 1, parts[0].count > 4 {
            let rest = parts[0].dropFirst(4)
            parts = [parts[0].prefix(4)] + (rest.count == 3 ? [rest] : [rest.prefix(2), rest.dropFirst(2)])
        }
        let numbers = parts.compactMap(number)
        guard let first = parts.first?.count, numbers.count == parts.count, first == 4 || first == 2 else { return nil }
        let year = numbers[0] + (first == 2 ? 2000 : 0)
        switch numbers.count {
        case 1: return (1, 1, year)
        case 2: return parts[1].count == 3 ? (numbers[1], 1, year) : (1, numbers[1], year)
        case 3: return (numbers[2], numbers[1], year)
        default: return nil
        }
    }

    // MARK: Parts

    /// A time of day.
    private struct Time {
        var (hour, minute, second) = (0, 0, 0)

        init() {}

        /// Parses `1:02`, `01:02:03.5`, `0102`.
        init?(_ text: Substring) {
            let whole = text.prefix { $0 != "." && $0 != "," }
            var parts = whole.split(separator: ":")
            if parts.count == 1, whole.count == 4 || whole.count == 6 {
                parts = stride(from: 0, to: whole.count, by: 2).map { whole.dropFirst($0).prefix(2) }
            }
            let numbers = parts.compactMap { $0.count <= 2 ? number($0) : nil }
            guard (1...3).contains(numbers.count), numbers.count == parts.count else { return nil }
            (hour, minute, second) = (numbers[0], numbers.dropFirst().first ?? 0, numbers.dropFirst(2).first ?? 0)
            guard minute < 60, second <= 60, hour < 24 || hour == 24 && minute == 0 && second == 0 else { return nil }
        }

        /// Returns the time on the 24-hour clock.
        ///
        /// - Parameter isAfternoon: whether `pm` rather than `am` was given; nil if neither was given.
        func of(halfDay isAfternoon: Bool?) -> Time {
            guard let isAfternoon, (1...12).contains(hour) else { return self }
            var time = self
            time.hour = hour % 12 + (isAfternoon ? 12 : 0)
            return time
        }
    }

    private static func seconds(_ day: Int, _ month: Int, _ year: Int, _ time: Time, _ offset: Int) -> Int64? {
        let isOfYear = month == 1 && (32...366).contains(day)
        guard (1...9999).contains(year), (1...12).contains(month),
            let first = HTTPDate.seconds(
                day: isOfYear ? 1 : day, month: month, year: year, time: Array("00:00:00".utf8)[...])
        else { return nil }
        let days = isOfYear ? day - 1 : 0
        // A leap second is treated as the second before it.
        return first + Int64(days * 86_400 + time.hour * 3600 + time.minute * 60 + min(time.second, 59) - offset)
    }

    /// Returns how far, in seconds, a time zone is ahead of UTC; nil if the zone is unknown.
    private static func offset(_ zone: Substring) -> Int? {
        if let minutes = zones[zone] { return minutes * 60 }
        let digits = zone.dropFirst().filter { $0 != ":" }
        guard let sign = zone.first, sign == "+" || sign == "-", (1...4).contains(digits.count),
            let written = number(digits[...])
        else { return nil }
        let (hours, minutes) = digits.count > 2 ? (written / 100, written % 100) : (written, 0)
        guard hours <= 24, minutes < 60 else { return nil }
        return (hours * 3600 + minutes * 60) * (sign == "-" ? -1 : 1)
    }

    private static func month(_ word: Substring) -> Int? {
        months.firstIndex(of: word.prefix(3)).map { $0 + 1 }
    }

    private static func digits(_ word: Substring) -> Substring { word.prefix { digit($0) != nil } }

    private static func digit(_ character: Character) -> Int? { character.isASCII ? character.wholeNumberValue : nil }

    private static func number(_ digits: Substring) -> Int? {
        (1...4).contains(digits.utf8.count) ? HTTPDate.number(Array(digits.utf8)[...]) : nil
    }

    private static let months: [Substring] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
    private static let weekdays: Set<Substring> = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    /// The offsets of the named time zones, in minutes ahead of UTC.
    private static let zones: [Substring: Int] = [
        "ut": 0, "utc": 0, "gmt": 0, "wet": 0, "ast": -240, "adt": -180, "at": -240, "est": -300, "edt": -240,
        "et": -300, "cst": -360, "cdt": -300, "ct": -360, "mst": -420, "mdt": -360, "mt": -420, "pst": -480,
        "pdt": -420, "pt": -480, "akst": -540, "akdt": -480, "hst": -600, "bst": 60, "west": 60, "cet": 60, "met": 60,
        "cest": 120, "mest": 120, "mesz": 120, "mez": 60, "eet": 120, "eest": 180, "msk": 180, "jst": 540, "kst": 540,
        "aest": 600, "aedt": 660, "nzst": 720, "nzdt": 780, "z": 0, "a": -60, "n": 60, "m": -720, "y": 720,
    ]
}
