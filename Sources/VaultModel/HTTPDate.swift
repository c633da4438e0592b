/// A point in time, to the second, as HTTP writes it (RFC 9110 §5.6.7).
///
/// Dates are parsed by hand, because Foundation's formats would accept more than HTTP's three forms, and would load
/// locale data.
public struct HTTPDate: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The seconds since the beginning of 1970, not counting leap seconds.
    public let seconds: Int64

    /// The range of ``seconds`` whose years have at most four digits: the years 0 to 9999.
    static let writable = dayNumber(1, 1, 0) * 86_400..<dayNumber(1, 1, 10_000) * 86_400

    /// Creates a date from seconds since the beginning of 1970; nil if its year cannot be written with four digits.
    public init?(seconds: Int64) {
        guard Self.writable.contains(seconds) else { return nil }
        self.seconds = seconds
    }

    /// Parses a date in the preferred form or one of the two obsolete forms; nil for any other text.
    ///
    /// - Parameter now: the current time in seconds since 1970, from which a two-digit year's century is derived.
    public init?(_ text: String, now: Int64) {
        let bytes = Array(text.utf8)
        guard let seconds = Self.fixdate(bytes) ?? Self.dashed(bytes, now: now) ?? Self.asctime(bytes) else {
            return nil
        }
        self.seconds = seconds
    }

    /// Returns whether one date is before the other.
    public static func < (one: HTTPDate, other: HTTPDate) -> Bool { one.seconds < other.seconds }

    /// The date in the preferred form: `Sun, 06 Nov 1994 08:49:37 GMT`.
    public var description: String {
        let day = seconds.floored(by: 86_400)
        let (year, month, dayOfMonth) = Self.date(day)
        // January 1, 1970 was a Thursday.
        let weekday = Self.weekdays[Int((day + 4).remainder(by: 7))].prefix(3)
        return "\(weekday), \(Self.padded(dayOfMonth, 2)) \(Self.months[month - 1]) \(Self.padded(year, 4)) "
            + "\(Self.time(seconds)) GMT"
    }

    /// Returns the time of day, such as `08:49:37`.
    static func time(_ seconds: Int64) -> String {
        let second = seconds.remainder(by: 86_400)
        return [second / 3600, second / 60 % 60, second % 60].map { padded($0, 2) }.joined(separator: ":")
    }

    private static let weekdays = [
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
    ]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    static func padded(_ number: some BinaryInteger, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: width - digits.count) + digits
    }
}

// MARK: The three forms

extension HTTPDate {
    /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func fixdate(_ text: [UInt8]) -> Int64? {
        guard text.count == 29, isWeekday(text[0..<3], short: true), hasText(", ", text, at: 3),
            hasText(" ", text, at: 7), hasText(" ", text, at: 11), hasText(" ", text, at: 16),
            hasText(" GMT", text, at: 25)
        else { return nil }
        return seconds(
            day: number(text[5..<7]), month: month(text[8..<11]), year: number(text[12..<16]), time: text[17..<25])
    }

    /// Parses `Sunday, 06-Nov-94 08:49:37 GMT`.
    ///
    /// A year that would be more than fifty years in the future is taken to be in the previous century.
    private static func dashed(_ text: [UInt8], now: Int64) -> Int64? {
        guard text.count >= 24 else { return nil }
        let date = Array(text.suffix(22))
        guard isWeekday(text.dropLast(24), short: false), hasText(", ", text, at: text.count - 24),
            hasText("-", date, at: 2), hasText("-", date, at: 6), hasText(" ", date, at: 9),
            hasText(" GMT", date, at: 18), let twoDigits = number(date[7..<9])
        else { return nil }
        let (day, month, time) = (number(date[0..<2]), month(date[3..<6]), date[10..<18])
        let (year, century) = (self.date(now.floored(by: 86_400)).year, 100)
        let first = year - year % century + twoDigits
        // The limit is fifty average Gregorian years from now.
        let limit = now + 50 * 31_556_952
        let possible = [first + century, first, first - century].lazy.compactMap {
            seconds(day: day, month: month, year: $0, time: time)
        }
        return possible.first { $0 <= limit }
    }

    /// Parses `Sun Nov  6 08:49:37 1994`.
    private static func asctime(_ text: [UInt8]) -> Int64? {
        guard text.count == 24, isWeekday(text[0..<3], short: true), hasText(" ", text, at: 3),
            hasText(" ", text, at: 7), hasText(" ", text, at: 10), hasText(" ", text, at: 19)
        else { return nil }
        let day = text[8] == UInt8(ascii: " ") ? number(text[9..<10]) : number(text[8..<10])
        return seconds(day: day, month: month(text[4..<7]), year: number(text[20..<24]), time: text[11..<19])
    }

    private static func isWeekday(_ text: ArraySlice<UInt8>, short: Bool) -> Bool {
        weekdays.contains { text.elementsEqual((short ? $0.prefix(3) : $0[...]).utf8) }
    }

    private static func hasText(_ expected: String, _ text: [UInt8], at index: Int) -> Bool {
        text[index...].starts(with: expected.utf8)
    }

    private static func month(_ text: ArraySlice<UInt8>) -> Int? {
        months.firstIndex { text.elementsEqual($0.utf8) }.map { $0 + 1 }
    }

    static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        var value = 0
        for digit in digits {
            guard digit >= 0x30, digit <= 0x39 else { return nil }
            value = value * 10 + Int(digit - 0x30)
        }
        return value
    }

    static func seconds(day: Int?, month: Int?, year: Int?, time: ArraySlice<UInt8>) -> Int64? {
        let parts = time.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard let day, let month, let year, parts.count == 3, parts.allSatisfy({ $0.count == 2 }),
            let hour = number(parts[0]), let minute = number(parts[1]), let second = number(parts[2]),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        let dayNumber = dayNumber(day, month, year)
        // A day that does not exist in the month converts back to a day in another month.
        guard day >= 1, date(dayNumber) == (year, month, day) else { return nil }
        // A leap second is treated as the second before it.
        return dayNumber * 86_400 + Int64(hour * 3600 + minute * 60 + min(second, 59))
    }
}

// MARK: Days of the Gregorian calendar, counted from January 1, 1970

extension HTTPDate {
    /// Returns a date's day number. Years start in March here, so that the leap day is the last day of a year.
    private static func dayNumber(_ day: Int, _ month: Int, _ year: Int) -> Int64 {
        let (months, years) = ((month + 9) % 12, Int64(year - (month <= 2 ? 1 : 0)))
        let leaps = years.floored(by: 4) - years.floored(by: 100) + years.floored(by: 400)
        return years * 365 + leaps + Int64((months * 306 + 5) / 10 + day - 1) - 719_468
    }

    static func date(_ day: Int64) -> (year: Int, month: Int, day: Int) {
        let days = day + 719_468
        let (era, dayOfEra) = (days.floored(by: 146_097), days.remainder(by: 146_097))
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100)
        let months = (5 * dayOfYear + 2) / 153
        let month = Int(months < 10 ? months + 3 : months - 9)
        let year = Int(era * 400 + yearOfEra) + (month <= 2 ? 1 : 0)
        return (year, month, Int(dayOfYear - (153 * months + 2) / 5 + 1))
    }
}

extension Int64 {
    /// Returns the quotient, rounded down even if it is negative.
    func floored(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }

    /// Returns the remainder that belongs to ``floored(by:)``, which is never negative.
    func remainder(by divisor: Int64) -> Int64 { self - floored(by: divisor) * divisor }
}
