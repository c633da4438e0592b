import SeededRandom
import Testing
import VaultModel

@Suite("Freshness (RFC 9111 §4.2)")
struct FreshnessTests {
    /// Sat, 21 Nov 2026 12:00:00 GMT.
    private static let now: Int64 = 1_795_262_400
    private static let hour: Int64 = 3600
    private static let week: Int64 = 604_800

    /// An answer, and its lifetime in seconds.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let fields: HeaderFields
        let lifetime: Int64

        init(_ name: String, _ fields: KeyValuePairs<String, String>, _ lifetime: Int64) {
            (testDescription, self.fields, self.lifetime) = (name, HeaderFields(fields), lifetime)
        }
    }

    private static let rows = [
        Row("max-age", ["Cache-Control": "max-age=60"], 60),
        Row("max-age counts before Expires", ["Cache-Control": "max-age=60", "Expires": "0"], 60),
        Row("Age is taken off", ["Cache-Control": "max-age=60", "Age": "20"], 40),
        Row("an Age beyond it leaves nothing", ["Cache-Control": "max-age=60", "Age": "99999999999999999999"], 0),
        Row("of two ages the first counts", ["Cache-Control": "max-age=9000", "Age": "7200, 0"], 1800),
        Row("of two fields as well", ["Cache-Control": "max-age=9000", "Age": "7200", "age": "0"], 1800),
        Row("an Age that is no number is none", ["Cache-Control": "max-age=60", "Age": "old"], 60),
        Row(
            "the way here counts where both clocks agree",
            ["Cache-Control": "max-age=60", "Date": "Sat, 21 Nov 2026 11:59:45 GMT"], 45),
        Row(
            "the larger age counts",
            ["Cache-Control": "max-age=60", "Age": "30", "Date": "Sat, 21 Nov 2026 11:59:45 GMT"], 30),
        Row("a max-age larger than any", ["Cache-Control": "max-age=99999999999999999999"], 1 << 31),
        Row(
            "Expires less Date",
            ["Expires": "Sat, 21 Nov 2026 12:10:00 GMT", "Date": "Sat, 21 Nov 2026 12:00:00 GMT"], 600),
        Row("Expires alone is compared with our clock", ["Expires": "Sat, 21 Nov 2026 12:10:00 GMT"], 600),
        Row("Expires that is over", ["Expires": "Sat, 21 Nov 2026 11:10:00 GMT"], 0),
        Row("Expires: 0", ["Expires": "0"], 0), Row("Expires: -1", ["Expires": "-1"], 0),
        Row("Expires that is no date", ["Expires": "tomorrow"], 0),
        Row("Expires far off", ["Expires": "Fri, 31 Dec 9999 23:59:59 GMT"], 1 << 31),
        Row("Expires after 2038", ["Expires": "Fri, 22 Jan 2038 00:00:00 GMT"], 352_468_800),
        Row("no-cache", ["Cache-Control": "no-cache"], 0),
        Row("no-cache counts before max-age", ["Cache-Control": "max-age=60, no-cache"], 0),
        Row("no-store is obeyed as no-cache", ["Cache-Control": "no-store"], 0),
        Row("nothing said", [:], hour),
        Row("a tenth of the time since the change", ["Last-Modified": "Thu, 19 Nov 2026 12:00:00 GMT"], 17_280),
        Row("at least an hour", ["Last-Modified": "Sat, 21 Nov 2026 11:59:00 GMT"], hour),
        Row("at most a week", ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"], week),
        Row("changed in the future", ["Last-Modified": "Tue, 01 Jan 2030 00:00:00 GMT"], hour),
        Row("a change that is no date", ["Last-Modified": "x"], hour),
        Row("a guess that has aged", ["Last-Modified": "Thu, 19 Nov 2026 12:00:00 GMT", "Age": "99999"], hour),
        Row("immutable without a time", ["Cache-Control": "immutable"], week),
        Row("immutable with one", ["Cache-Control": "max-age=31536000, immutable"], 31_536_000),
        Row("must-revalidate alone says no time", ["Cache-Control": "must-revalidate"], hour),
    ]

    @Test("An answer is fresh for its lifetime", arguments: rows)
    func lifetime(_ row: Row) {
        let freshness = Freshness(row.fields, asked: Self.now)
        #expect(freshness.lifetime == row.lifetime && freshness.checked == Self.now)
        #expect(freshness.isFresh(now: Self.now + row.lifetime - 1) == (row.lifetime > 0))
        #expect(!freshness.isFresh(now: Self.now + row.lifetime))
    }

    @Test(
        "An origin's clock that is years off changes nothing: its times are compared with its own Date",
        arguments: ["1994", "2016", "2036", "2098"])
    func foreignClock(year: String) throws {
        let date = try #require(HTTPDate("\(Self.weekday(year)), 21 Nov \(year) 12:00:00 GMT", now: Self.now))
        let expires = try #require(HTTPDate(seconds: date.seconds + 600)).description
        let changed = try #require(HTTPDate(seconds: date.seconds - 864_000)).description
        let stated = Freshness(HeaderFields(["Date": date.description, "Expires": expires]), asked: Self.now)
        #expect(stated.lifetime == 600)
        let guessed = Freshness(HeaderFields(["Date": date.description, "Last-Modified": changed]), asked: Self.now)
        #expect(guessed.lifetime == 86_400)
        let aged = Freshness(
            HeaderFields(["Date": date.description, "Cache-Control": "max-age=60"]), asked: Self.now)
        #expect(aged.lifetime == 60)
    }

    private static func weekday(_ year: String) -> String {
        ["1994": "Mon", "2016": "Mon", "2036": "Fri", "2098": "Fri"][year] ?? ""
    }

    @Test("A clock that is set back gives no age, so one revalidation follows")
    func setBack() {
        let freshness = Freshness(checked: Self.now, lifetime: 60)
        #expect(freshness.isFresh(now: Self.now - 60), "a step of one minute is tolerated")
        #expect(!freshness.isFresh(now: Self.now - 61))
        let tenYears: Int64 = 315_360_000
        #expect(!freshness.isFresh(now: Self.now - tenYears))
        #expect(freshness.renewed(at: Self.now - tenYears).isFresh(now: Self.now - tenYears))
        #expect(!freshness.isFresh(now: Self.now + tenYears))
        #expect(!freshness.isFresh(now: .min) && !freshness.isFresh(now: .max))
    }

    @Test("With any fields and clocks, a lifetime is neither negative nor endless")
    func nonsense() {
        let seed = UInt64.random(in: 0 ... .max)
        print("FreshnessTests: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let values = [
            "0", "-1", "99999999999999999999", "Sat, 21 Nov 2026 12:00:00 GMT", "Sat, 01 Jan 0000 00:00:00 GMT",
            "Fri, 31 Dec 9999 23:59:59 GMT", "Friday, 31-Dec-99 23:59:59 GMT", "max-age=9", "no-cache", "",
        ]
        for _ in 0..<5000 {
            var fields = HeaderFields()
            for name in ["Date", "Expires", "Age", "Last-Modified", "Cache-Control"] where Bool.random(using: &random) {
                fields.append(name: name, value: values.randomElement(using: &random) ?? "")
            }
            let clock = [Int64.min, -1, 0, Self.now, .max].randomElement(using: &random) ?? 0
            let freshness = Freshness(fields, asked: clock)
            #expect((0...Freshness.maxLifetime).contains(freshness.lifetime) && freshness.checked >= 0)
            _ =
                freshness.isFresh(now: .min) || freshness.isFresh(now: .max)
                || freshness.isWorthStoring(after: freshness)
        }
    }

    @Test("A 304 sets a new lifetime from now on, or keeps the old one (RFC 9111 §4.3.4)")
    func confirmed() {
        let known = Freshness(HeaderFields(["Cache-Control": "max-age=60, must-revalidate"]), asked: Self.now)
        let later = Self.now + 500
        let same = known.confirmed(by: HeaderFields(["ETag": "\"v1\""]), asked: later)
        #expect(same == Freshness(checked: later, lifetime: 60, isStrict: true))
        let other = known.confirmed(by: HeaderFields(["Cache-Control": "max-age=5"]), asked: later)
        #expect(other == Freshness(checked: later, lifetime: 5))
    }

    @Test("Only no-cache and must-revalidate make the origin's refusal count")
    func strict() {
        for line in ["no-cache", "no-store", "max-age=60, must-revalidate"] {
            #expect(Freshness(HeaderFields(["Cache-Control": line]), asked: Self.now).isStrict, "\(line)")
        }
        #expect(!Freshness(HeaderFields(["Cache-Control": "max-age=60, immutable"]), asked: Self.now).isStrict)
    }

    @Test("Freshness that is almost equal to the stored one is not stored again")
    func news() {
        let written = Freshness(checked: Self.now, lifetime: 6000)
        #expect(written.isWorthStoring(after: nil))
        #expect(!written.renewed(at: Self.now + 599).isWorthStoring(after: written))
        #expect(written.renewed(at: Self.now + 600).isWorthStoring(after: written))
        #expect(Freshness(checked: Self.now, lifetime: 10).isWorthStoring(after: written), "shorter is stored")
        #expect(Freshness(checked: Self.now, lifetime: 6000, isStrict: true).isWorthStoring(after: written))
        let brief = Freshness(checked: Self.now, lifetime: 0)
        #expect(!brief.renewed(at: Self.now + 59).isWorthStoring(after: brief))
    }
}
