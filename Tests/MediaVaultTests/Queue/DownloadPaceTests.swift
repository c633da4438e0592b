import Testing
import VaultModel

@testable import MediaVault

@Suite("How fast a download of the queue gets on")
struct DownloadPaceTests {
    /// Measures a download: the number of seconds since it began, and the number of held bytes.
    typealias Look = (time: Int64, held: Int64)

    private static let cases: [(name: String, looks: [Look], isSlow: Bool)] = [
        ("before a period is over nothing is known", [(59, 0)], false),
        ("a byte every nine seconds is slow", [(60, 1006)], true),
        ("the least rate is not slow", [(60, 1000 + 60 * 100)], false),
        ("a byte less is", [(60, 999 + 60 * 100)], true),
        ("it stays slow until the next period is over", [(60, 1000), (61, 90_000), (119, 90_000)], true),
        ("the last period counts", [(60, 1000), (120, 90_000)], false),
        ("a period is not cut short by a look within it", [(30, 1000), (60, 90_000)], false),
        ("a time that nobody looked at says nothing", [(180, 1000)], false),
        ("a look just before the period is over is followed by one a period later", [(59, 1001), (119, 1001)], true),
        ("bytes that are held may come again first", [(60, 7000), (120, 7000)], false),
        ("but only for as long as the least rate takes for them", [(60, 7000), (120, 7000), (180, 7000)], true),
        ("nor does a clock that was set back", [(-1, 1000), (58, 1000)], false),
        ("then it is measured anew", [(3600, 1000), (3660, 1000)], true),
        ("bytes that were given up say nothing", [(60, 500)], false),
    ]

    @Test("It is slow if it got less than the least rate over a whole period", arguments: cases.indices)
    func slow(index: Int) {
        let row = Self.cases[index]
        let start: Int64 = 1_700_000_000
        var pace = DownloadPace(held: 1000, at: start)
        for look in row.looks { pace.measure(held: look.held, leastRate: 100, at: start + look.time) }
        #expect(pace.isSlow == row.isSlow, "\(row.name)")
    }

    @Test("A limit that leaves less to each download lowers the least rate to half of that")
    func limited() throws {
        var settings = DownloadSettings()
        #expect(settings.leastRateOfEach == 4000)
        try settings.setRate(100_000)
        #expect(settings.leastRateOfEach == 4000)
        try settings.setRate(6000)
        #expect(settings.leastRateOfEach == 1000)
    }
}
