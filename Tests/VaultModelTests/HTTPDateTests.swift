import Foundation
import SeededRandom
import Testing
import VaultModel

@Suite("HTTP date")
struct HTTPDateTests {
    /// The first second of 2026.
    private static let now: Int64 = 1_767_225_600

    @Test(
        "The three forms name the same second, and the preferred one is printed (RFC 9110 §5.6.7)",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        ])
    func forms(text: String) throws {
        let date = try #require(HTTPDate(text, now: Self.now))
        #expect(date.seconds == 784_111_777)
        #expect(date.description == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test(
        "Days and seconds follow the calendar",
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000), ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648),
            ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ] as [(String, Int64)])
    func calendar(text: String, seconds: Int64) throws {
        #expect(HTTPDate(text, now: Self.now)?.seconds == seconds)
        #expect(HTTPDate(seconds: seconds)?.description == text)
    }

    @Test("A leap second equals the second before it")
    func leapSecond() {
        #expect(HTTPDate("Sat, 31 Dec 2016 23:59:60 GMT", now: Self.now)?.seconds == 1_483_228_799)
    }

    @Test(
        "A two-digit year is at most fifty years ahead (RFC 9110 §5.6.7)",
        arguments: [
            ("Wednesday, 31-Dec-25 23:59:59 GMT", 2025), ("Friday, 31-Dec-99 23:59:59 GMT", 1999),
            ("Tuesday, 01-Jan-75 00:00:00 GMT", 2075), ("Saturday, 01-Jan-77 00:00:00 GMT", 1977),
        ])
    func century(text: String, year: Int) throws {
        let date = try #require(HTTPDate(text, now: Self.now))
        #expect(date.description.contains(" \(year) "))
    }

    @Test(
        "Any other text is not a date",
        arguments: [
            "", "0", "-1", "yesterday", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 +0000",
            "Sun, 06 Nov 1994 08:49:37 UTC", "sun, 06 nov 1994 08:49:37 gmt", "Son, 06 Nov 1994 08:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
            "Wed, 29 Feb 2023 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ",
            "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06 Nov 94 08:49:37 GMT",
            "Sun Nov 6 08:49:37 1994", "Sun Nov  6 08:49:37 94", "Sun, 06 Nov 1994 08:49:37 GM\u{301}T",
            "\"Sun, 06 Nov 1994 08:49:37 GMT\"",
        ])
    func refused(text: String) {
        #expect(HTTPDate(text, now: Self.now) == nil)
    }

    @Test("Years that do not fit four digits are refused", arguments: [.min, .max, -62_167_219_201, 253_402_300_800])
    func unwritable(seconds: Int64) {
        #expect(HTTPDate(seconds: seconds) == nil)
    }

    @Test("Each second is printed as another calendar prints it, and read back")
    func roundTrip() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("HTTPDateTests: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let other = DateFormatter()
        other.locale = Locale(identifier: "en_US_POSIX")
        other.timeZone = TimeZone(secondsFromGMT: 0)
        other.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        for _ in 0..<2000 {
            // Since 1600, because the other calendar is Gregorian from then on.
            let seconds = Int64.random(in: -11_676_096_000...253_402_300_799, using: &random)
            let date = try #require(HTTPDate(seconds: seconds))
            #expect(date.description == other.string(from: Date(timeIntervalSince1970: TimeInterval(seconds))))
            #expect(HTTPDate(date.description, now: Self.now) == date)
        }
    }

    @Test("Invalid text of any kind is refused without a trap")
    func nonsense() {
        let seed = UInt64.random(in: 0 ... .max)
        print("HTTPDateTests: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let alphabet = Array("SunNov ,:-0123456789GMT\u{0}é")
        for _ in 0..<5000 {
            let count = Int.random(in: 0...32, using: &random)
            let text = String((0..<count).compactMap { _ in alphabet.randomElement(using: &random) })
            if let date = HTTPDate(text, now: Self.now) { #expect(HTTPDate(date.description, now: Self.now) == date) }
        }
    }

    @Test("Dates are ordered by time")
    func order() throws {
        let (one, other) = (try #require(HTTPDate(seconds: -5)), try #require(HTTPDate(seconds: 7)))
        #expect(one < other && !(other < one))
    }
}
