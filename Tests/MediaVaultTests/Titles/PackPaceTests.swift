import Testing

@testable import MediaVault

@Suite("When a pack is made durable")
struct PackPaceTests {
    private static let start = ContinuousClock.now

    @Test(
        "A second after the first file that was not recorded",
        arguments: [
            ([], 10_000, .wait), ([0], 0, .wait), ([0], 999, .wait), ([0], 1000, .checkpoint),
            ([0, 900], 1000, .checkpoint), ([500, 900], 1000, .wait),
        ] as [([Int], Int, PackPace.Step)])
    func step(written: [Int], at now: Int, expected: PackPace.Step) {
        var pace = PackPace()
        for time in written { pace.note(now: Self.start + .milliseconds(time)) }
        #expect(pace.step(now: Self.start + .milliseconds(now)) == expected)
    }

    @Test(
        "After a commit nothing is due, unless a file waits for its last block: then the segment is closed",
        arguments: [true, false])
    func committed(isWaiting: Bool) {
        var pace = PackPace()
        pace.note(now: Self.start)
        pace.committed(isWaiting: isWaiting, now: Self.start)
        #expect(pace.step(now: Self.start + .milliseconds(999)) == .wait)
        #expect(pace.step(now: Self.start + .seconds(1)) == (isWaiting ? .close : .wait))
        pace.note(now: Self.start + .milliseconds(500))
        #expect(pace.step(now: Self.start + .milliseconds(1500)) == .checkpoint)
    }
}
