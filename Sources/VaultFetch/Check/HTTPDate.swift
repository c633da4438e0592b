import VaultModel

/// A moment as HTTP spells it: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
///
/// The two obsolete spellings are not read: no server in use sends them.
struct HTTPDate: Hashable {
    let secondsSince1970: Int

    init?(_ text: String) {
        let words = text.split(separator: " ")
        guard words.count == 6, words[0].hasSuffix(","), words[5] == "GMT",
            let day = Self.number(words[1], digits: 2, in: 1...31),
            let month = Self.months.firstIndex(of: words[2]),
            let year = Self.number(words[3], digits: 4, in: 1970...9999)
        else { return nil }
        let time = words[4].split(separator: ":")
        guard time.count == 3,
            let hour = Self.number(time[0], digits: 2, in: 0...23),
            let minute = Self.number(time[1], digits: 2, in: 0...59),
            let second = Self.number(time[2], digits: 2, in: 0...60)
        else { return nil }
        let days = Self.daysSince1970(year: year, month: month + 1, day: day)
        secondsSince1970 = ((days * 24 + hour) * 60 + minute) * 60 + second
    }

    private static let months: [Substring] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func number(_ text: Substring, digits: Int, in range: ClosedRange<Int>) -> Int? {
        guard text.utf8.count == digits, let number = DecimalNumber.exact(text) else { return nil }
        return range.contains(Int(number)) ? Int(number) : nil
    }

    /// Days of the Gregorian calendar, counted in years that begin in March so that the leap day comes last.
    private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    }
}
